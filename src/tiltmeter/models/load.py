"""Open a transformers model from a folder or the Hugging Face hub and say which kind it is."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiltmeter.errors import MissingExtra, ModelError, ModelNotFound, SettingsError
from tiltmeter.models.base import ModelInfo, Scorer
from tiltmeter.models.options import LoadOptions, WordOptions
from tiltmeter.models.spec import ModelSpec

_EDGE = 1 << 20


def load_transformer(
    spec: ModelSpec, source: str, *, load: LoadOptions, words: WordOptions
) -> Scorer:
    """Load the model at `source` (a folder or hub id) and wrap it by kind."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra("asking a language model", "transformers", extra="models") from error
    from tiltmeter.models.kinds import SCORERS, detect_kind

    common: dict[str, Any] = {
        "trust_remote_code": load.trust_remote_code,
        "revision": load.revision,
    }
    device = choose_device(load.device)
    dtype = choose_dtype(load.dtype, device)
    with _quiet(transformers), _clear_errors(spec.name, load):
        config = transformers.AutoConfig.from_pretrained(source, **common)
        kind = detect_kind(config, spec.name, load.kind)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **common)
        scorer_class = SCORERS[kind]
        model = scorer_class.auto_class(transformers).from_pretrained(
            source,
            config=config,
            dtype=getattr(torch, dtype),
            use_safetensors=None if load.allow_pickle else True,
            **common,
        )
        model = model.to(device)
    _check_vocabulary(spec.name, model, tokenizer)
    info = ModelInfo(
        name=spec.name,
        kind=kind,
        revision=_revision(source, config),
        dtype=dtype,
        device=str(device),
        parameters=sum(p.numel() for p in model.parameters()),
    )
    return scorer_class(model, tokenizer, info, options=words, batch_tokens=load.batch_tokens)


def choose_device(wanted: str) -> Any:
    """The device to run on; `auto` takes a GPU when there is one."""
    import torch

    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    kind = wanted.split(":")[0]
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(kind, False):
        raise SettingsError(f"device {wanted!r}: none on this machine; use --device cpu or auto")
    return torch.device(wanted)


def choose_dtype(wanted: str, device: Any) -> str:
    """float32 on a CPU, where it is exact and as fast; bfloat16 on a GPU; unless asked otherwise."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if device.type == "cuda" else "float32"


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """No progress bars of the library while loading; put back as it was."""
    logging = transformers.utils.logging
    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()


@contextlib.contextmanager
def _clear_errors(name: str, load: LoadOptions) -> Iterator[None]:
    """Map the library's errors to one line that says what to do."""
    try:
        yield
    except (ModelError, SettingsError):
        raise
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        text = " ".join(str(error).split())
        if "trust_remote_code" in text:
            raise ModelError(
                f"model {name!r} brings its own code, which is not run unless you ask for it: "
                "--trust-remote-code"
            ) from error
        if "safetensors" in text and not load.allow_pickle and isinstance(error, OSError):
            raise ModelError(
                f"model {name!r} has no safetensors weights; pickled weights can run code and are "
                "read only with --allow-pickle"
            ) from error
        if isinstance(error, OSError):
            raise ModelNotFound(
                f"model {name!r}: not found here, and the Hugging Face hub did not give it: {text[:160]}"
            ) from error
        raise ModelError(f"model {name!r} cannot be loaded: {text[:200]}") from error


def _check_vocabulary(name: str, model: Any, tokenizer: Any) -> None:
    size = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > size:
        raise ModelError(
            f"model {name!r}: its tokenizer has {len(tokenizer)} tokens, its embeddings only {size}: "
            "tokenizer and weights do not belong together"
        )


def _revision(source: str, config: Any) -> str:
    """A hub commit, or a fingerprint of a folder: names, sizes, and both ends of each file."""
    folder = Path(source)
    if not folder.is_dir():
        return str(getattr(config, "_commit_hash", None) or "unknown")
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix not in {".json", ".safetensors", ".bin", ".model", ".txt", ".jinja", ".py"}:
            continue
        size = file.stat().st_size
        digest.update(f"{file.name}:{size}\n".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(_EDGE))
            if size > 2 * _EDGE:
                stream.seek(-_EDGE, 2)
                digest.update(stream.read(_EDGE))
    return f"folder-{digest.hexdigest()[:16]}"
