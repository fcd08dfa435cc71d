"""Identify the weights behind a name without loading them: no torch, no transformers.

A run whose cells are all cached needs no model, only proof that it would be the same one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from clinometer.models.catalog.gguf import converted_folder
from clinometer.models.catalog.resolve import gguf_file
from clinometer.models.catalog.spec import ModelSource, ModelSpec
from clinometer.models.options import LoadOptions

#: Of large files one block in every stretch is read: no tensor of a model is as small as a stretch
#: and at the same time worth training.
_STRETCH, _BLOCK = 1 << 20, 1 << 16
_READ = {".json", ".safetensors", ".bin", ".model", ".txt", ".jinja", ".py"}


@dataclass(frozen=True)
class Identity:
    """Which weights a name stands for.

    revision  a hub commit, or the fingerprint of a folder; what ModelInfo says after opening
    stamp     changes whenever a file of the folder is written, also where the fingerprint does not
              look; empty for a commit, which cannot change
    """

    revision: str
    stamp: str = ""


def identity_of(spec: ModelSpec, load: LoadOptions) -> Identity | None:
    """The identity of the model that would be opened; None if only opening it would tell."""
    if (file := gguf_file(spec)) is not None:
        return _folder_identity(converted_folder(file))
    if spec.place is ModelSource.FOLDER or (
        spec.place is ModelSource.VLLM and Path(spec.target).is_dir()
    ):
        return _folder_identity(Path(spec.target))
    if spec.place in (ModelSource.HUB, ModelSource.VLLM):
        commit = _hub_revision(spec.target, load.revision)
        return None if commit is None else Identity(commit)
    return None


def _folder_identity(folder: Path) -> Identity | None:
    # An adapter has no config.json; its answers depend on its base model as well.
    if not (folder / "config.json").is_file():
        return None
    digest = hashlib.sha256()
    for file in _files(folder):
        digest.update(f"{file.name}:{file.stat().st_mtime_ns}\n".encode())
    return Identity(folder_revision(folder), digest.hexdigest()[:16])


def folder_revision(folder: Path) -> str:
    """A fingerprint of a model folder: names, sizes, and blocks of each file."""
    digest = hashlib.sha256()
    for file in _files(folder):
        size = file.stat().st_size
        digest.update(f"{file.name}:{size}\n".encode())
        with file.open("rb") as stream:
            if size <= 2 * _STRETCH:
                digest.update(stream.read())
                continue
            for start in (*range(0, size - _BLOCK, _STRETCH), size - _BLOCK):
                stream.seek(start)
                digest.update(stream.read(_BLOCK))
    return f"folder-{digest.hexdigest()[:16]}"


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.iterdir()) if file.suffix in _READ]


def _hub_revision(model: str, revision: str | None) -> str | None:
    """The commit in the local cache, or on the hub itself if it can be reached, because a branch
    may have moved."""
    try:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError:
        return None
    from clinometer.models.catalog.hub import hub_reachable

    if not isinstance(try_to_load_from_cache(model, "config.json", revision=revision), str):
        return None
    try:
        file = hf_hub_download(
            model, "config.json", revision=revision, local_files_only=not hub_reachable()
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError):
        return None
    return Path(file).parent.name
