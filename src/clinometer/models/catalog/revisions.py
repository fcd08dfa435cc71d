"""Which weights a model has: its revision.

A revision is a hub commit, or a digest of every byte that loading a folder may read: weights, also
those that an index names in subfolders, configuration, tokenizer, chat templates, code; of an
adapter its base model as well. Names, sizes and modification times prove nothing: `cp -p` and
`rsync -t` put other weights under the same ones. A file is read once; the cache remembers its
digest.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from clinometer.errors import ModelError
from clinometer.models.catalog.pretrained import ADAPTER, adapter_base, hub_reachable
from clinometer.models.catalog.spec import ModelSource, ModelSpec
from clinometer.models.catalog.weights import converted_folder, gguf_file
from clinometer.models.options import LoadOptions
from clinometer.storage.untrusted import read_bytes, read_json

_UNREAD = (
    ".md",
    ".gguf",
    ".h5",
    ".msgpack",
    ".onnx",
    ".ot",
    ".pt",
    ".pth",
    ".png",
    ".jpg",
    ".log",
)
"""Endings of files beside a model that neither transformers nor peft reads."""

_TEMPLATES = "additional_chat_templates"
"""Folder of chat templates that a tokenizer reads."""


def revision_of(spec: ModelSpec, load: LoadOptions) -> str | None:
    """Return the revision of the model that would be opened; None if only opening it would tell."""
    load = spec.load(load)
    file = gguf_file(spec)
    if file is not None:
        return _pinned(converted_folder(file), load)
    if spec.place in (ModelSource.FOLDER, ModelSource.HUB):
        return _pinned(spec.target, load)
    if spec.place is ModelSource.HTTP:
        with contextlib.suppress(OSError):  # which opening it will say
            return _digest_of("file", [Path(spec.target)])
    if spec.place is ModelSource.APP:
        module = spec.target.partition(":")[0]
        return _digest_of("source", own_sources(module))
    return None


def own_sources(module: str) -> list[Path]:
    """Return the files of a module and of what it imports from its own folder.

    Nothing is run to find out. A module that is installed imports only from its own package.
    """
    package = module.partition(".")[0]
    roots = [Path.cwd(), *(Path(entry or ".") for entry in sys.path)]
    root = next((root for root in roots if _module_files(root, module)), None)
    if root is None:
        return []
    is_installed = "site-packages" in root.parts or "dist-packages" in root.parts
    sources: dict[Path, None] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        is_foreign = is_installed and name.partition(".")[0] != package
        if not name or is_foreign:
            continue
        for file in _module_files(root, name):
            if file not in sources:
                sources[file] = None
                waiting += _imported(file, list(file.relative_to(root).parent.parts))
    return sorted(sources)


def _module_files(root: Path, module: str) -> list[Path]:
    """Return the file of a module, and those of the packages that it is in; [] if it is not
    there."""
    names = module.split(".")
    candidates = [root.joinpath(*names).with_suffix(".py")]
    for depth in range(1, len(names) + 1):
        candidates.append(root.joinpath(*names[:depth], "__init__.py"))
    return [file for file in candidates if file.is_file()]


def _imported(file: Path, package: list[str]) -> Iterator[str]:
    """Yield the modules that a file names in its imports; a name that is imported may be one."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # importing it will say
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = package[: len(package) + 1 - node.level] if node.level else []
            if node.module:
                names = [*names, node.module]
            base = ".".join(names)
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)
            yield base


def _digest_of(kind: str, files: Sequence[Path]) -> str | None:
    """Return a digest of the files' contents; None without files."""
    if not files:
        return None
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(read_bytes(file)).digest())
    return f"{kind}-{digest.hexdigest()[:16]}"


def _pinned(source: str | Path, load: LoadOptions) -> str | None:
    """Return the revision of a folder or a hub id; a converted folder (a Path) may not be there
    yet."""
    folder = Path(source)
    if not folder.is_dir():
        if isinstance(source, Path):
            return None
        return _hub_revision(source, load.revision)
    if not (folder / ADAPTER).is_file():
        return folder_revision(folder) if (folder / "config.json").is_file() else None
    base = _pinned(adapter_base(folder), load)
    return None if base is None else f"{folder_revision(folder)} on {base}"


def folder_revision(folder: Path) -> str:
    """Return a digest of the names and contents of a model folder's files."""
    from clinometer.storage.cache import Cache

    cache = Cache()
    digest = hashlib.sha256()
    for name, file in _files(folder):
        digest.update(b"%d:%s" % (len(name), name))
        digest.update(bytes.fromhex(cache.digest_of(file)))
    return f"folder-{digest.hexdigest()[:32]}"


@contextlib.contextmanager
def unchanged(name: str, sources: Iterable[str]) -> Iterator[None]:
    """Refuse a model of which a file was written while it was read: it would be half another."""
    folders = [folder for folder in map(Path, sources) if folder.is_dir()]
    before = [_state(folder) for folder in folders]
    yield
    if [_state(folder) for folder in folders] != before:
        raise ModelError(
            f"model {name!r}: its files were changed while they were read: try again"
        )


def _state(folder: Path) -> list[tuple[bytes, list[int]]]:
    from clinometer.storage.cache import file_state

    return [(name, file_state(file.stat())) for name, file in _files(folder)]


def _files(folder: Path) -> list[tuple[bytes, Path]]:
    """Return the files that loading may read, by their names in the folder, in order."""
    names = set()
    for pattern in ("*", f"{_TEMPLATES}/*"):
        for file in folder.glob(pattern):
            is_read = file.suffix not in _UNREAD and not file.name.startswith(".")
            if is_read and file.is_file():
                names.add(file.relative_to(folder))
    for index in folder.glob("*.index.json"):
        names |= {shard for shard in _shards(index) if (folder / shard).is_file()}
    return sorted((os.fsencode(name), folder / name) for name in names)


def _shards(index: Path) -> set[Path]:
    """Return the files of weights that an index names, all of them inside the model's folder."""
    try:
        shards = {Path(name) for name in read_json(index)["weight_map"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return (
            set()
        )  # loading will say what is wrong with it; its own bytes are in the digest
    for shard in shards:
        if shard.is_absolute() or ".." in shard.parts:
            raise ModelError(
                f"{index}: expected weights inside the model's folder, found {str(shard)!r}"
            )
    return shards


def _hub_revision(model: str, revision: str | None) -> str | None:
    """Return the commit in the local cache, or on the hub itself if it can be reached, because a
    branch may have moved."""
    try:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError:
        return None
    config = try_to_load_from_cache(model, "config.json", revision=revision)
    if not isinstance(config, str):
        return None
    try:
        file = hf_hub_download(
            model,
            "config.json",
            revision=revision,
            local_files_only=not hub_reachable(),
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError):
        return None
    return Path(file).parent.name
