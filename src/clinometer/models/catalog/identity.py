"""Which weights a name stands for: a hub commit, or the content of a folder.

The revision of a folder is a digest of every byte that loading it may read: weights, also those
that an index names in subfolders, configuration, tokenizer, chat templates, code; of an adapter its
base model as well. Names, sizes and modification times prove nothing: `cp -p` and `rsync -t` put
other weights under the same ones.

A file is read once; the cache remembers its digest.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clinometer.errors import ModelError
from clinometer.models.catalog.pretrained import ADAPTER, adapter_base
from clinometer.models.catalog.spec import ModelSource, ModelSpec
from clinometer.models.catalog.weights import converted_folder, gguf_file
from clinometer.models.options import LoadOptions
from clinometer.storage.untrusted import read_json

#: Endings of files beside a model that neither transformers nor peft reads.
_UNREAD = (".md", ".gguf", ".h5", ".msgpack", ".onnx", ".ot", ".pt", ".pth", ".png", ".jpg", ".log")
#: Folders of chat templates that a tokenizer reads.
_TEMPLATES = "additional_chat_templates"


def revision_of(spec: ModelSpec, load: LoadOptions) -> str | None:
    """The revision of the model that would be opened; None if only opening it would tell."""
    if (file := gguf_file(spec)) is not None:
        return _pinned(converted_folder(file), load)
    if spec.place in (ModelSource.FOLDER, ModelSource.HUB):
        return _pinned(spec.target, load)
    return None


def _pinned(source: str | Path, load: LoadOptions) -> str | None:
    folder = Path(source)
    if not folder.is_dir():
        return None if isinstance(source, Path) else _hub_revision(source, load.revision)
    if not (folder / ADAPTER).is_file():
        return folder_revision(folder) if (folder / "config.json").is_file() else None
    base = _pinned(adapter_base(folder), load)
    return None if base is None else f"{folder_revision(folder)} on {base}"


def folder_revision(folder: Path) -> str:
    """A digest of the names and contents of a model folder's files."""
    from clinometer.storage.cache import Cache

    digest, cache = hashlib.sha256(), Cache()
    for name, file in _files(folder):
        digest.update(b"%d:%s" % (len(name), name) + bytes.fromhex(cache.digest_of(file)))
    return f"folder-{digest.hexdigest()[:32]}"


@contextmanager
def unchanged(name: str, sources: Iterable[str]) -> Iterator[None]:
    """Refuse a model of which a file was written while it was read: it would be half another."""
    folders = [folder for folder in map(Path, sources) if folder.is_dir()]
    before = [_state(folder) for folder in folders]
    yield
    if [_state(folder) for folder in folders] != before:
        raise ModelError(f"model {name!r}: its files were changed while they were read: try again")


def _state(folder: Path) -> list[tuple[bytes, list[int]]]:
    from clinometer.storage.cache import file_state

    return [(name, file_state(file.stat())) for name, file in _files(folder)]


def _files(folder: Path) -> list[tuple[bytes, Path]]:
    """The files that loading may read, by their names in the folder, in order."""
    found = {
        file.relative_to(folder)
        for pattern in ("*", f"{_TEMPLATES}/*")
        for file in folder.glob(pattern)
        if file.is_file() and file.suffix not in _UNREAD and not file.name.startswith(".")
    }
    for index in folder.glob("*.index.json"):
        try:
            shards = {Path(name) for name in read_json(index)["weight_map"].values()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # loading will say what is wrong with it; its own bytes are in the digest
        for shard in shards:
            if shard.is_absolute() or ".." in shard.parts:
                raise ModelError(
                    f"{index}: expected weights inside the model's folder, found {str(shard)!r}"
                )
        found |= {shard for shard in shards if (folder / shard).is_file()}
    return sorted((os.fsencode(name), folder / name) for name in found)


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
