"""Tokenizers on this machine: which folders have one, and loading it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clinometer.errors import ModelError, ModelNotFound
from clinometer.extras import require
from clinometer.models.catalog.pretrained import pretrained
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.catalog.weights import weights_source
from clinometer.models.options import LoadOptions
from clinometer.storage.untrusted import limited

_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.txt",
    "vocab.json",
)
"""Files of which a folder with a tokenizer has at least one."""

_PROBE = "The nurse said that he " + "a" * 60 + " " * 60 + "1" * 60 + "." * 60 + "\n!"
"""What patterns stumble over that backtrack: runs of one sign, and an end that does not fit."""


def has_tokenizer(source: str) -> bool:
    """Return whether a folder has a tokenizer; anything that is not a folder is assumed to have
    one."""
    folder = Path(source)
    return not folder.is_dir() or any((folder / name).is_file() for name in _FILES)


def load_tokenizer(name: str, source: str, **options: Any) -> Any:
    """Load the tokenizer of a folder or a hub id.

    Without one transformers would make one up that knows no word, also from settings
    (tokenizer_config.json) without a vocabulary; and a pattern of one may take for ever.
    """
    from transformers import AutoTokenizer

    tokenizer = None
    if has_tokenizer(source):
        tokenizer = pretrained(AutoTokenizer, source, **options)
    if tokenizer is None or len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise ModelNotFound(
            f"model {name!r}: no tokenizer in its folder; expected tokenizer.json, vocab.txt, "
            "vocab.json with merges.txt, tokenizer.model or spiece.model: copy what the weights "
            "came with, or write it with the tokenizer's save_pretrained"
        )
    try:
        limited(lambda: str(len(tokenizer.encode(_PROBE))))
    except ValueError as error:
        raise ModelError(
            f"model {name!r}: its tokenizer cannot split a short text: {error}; use another"
        ) from error
    return tokenizer


def local_tokenizer(name: str, load: LoadOptions) -> Any:
    """Load the tokenizer of a folder, a .gguf file, an embedded or packaged model, or a hub id."""
    require("a local tokenizer", "transformers")
    source = weights_source(ModelSpec.parse(name))
    if source is None:
        raise ModelError(
            f"tokenizer {name!r}: expected a folder, a .gguf file or a hub id"
        )
    code = load.allowed.remote_code
    try:
        return load_tokenizer(
            name, source, trust_remote_code=code, revision=load.revision
        )
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise ModelError(
            f"tokenizer {name!r} cannot be loaded: {text[:160]}"
        ) from error
