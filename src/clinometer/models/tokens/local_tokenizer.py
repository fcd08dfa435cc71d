"""A tokenizer without its model, for servers that do not offer one."""

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

#: Files of which a folder with a tokenizer has at least one.
_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.txt",
    "vocab.json",
)


#: What patterns stumble over that backtrack: runs of one sign, and an end that does not fit.
_PROBE = "The nurse said that he " + "a" * 60 + " " * 60 + "1" * 60 + "." * 60 + "\n!"


def has_tokenizer(source: str) -> bool:
    """Whether a folder has a tokenizer; anything that is not a folder is assumed to have one."""
    folder = Path(source)
    return not folder.is_dir() or any((folder / name).is_file() for name in _FILES)


def check_tokenizer_files(name: str, source: str) -> None:
    """Refuse a folder without a tokenizer: transformers would make one up that knows no word."""
    if not has_tokenizer(source):
        raise _no_tokenizer(name)


def check_tokenizer_words(name: str, tokenizer: Any) -> None:
    """The same for a folder with the settings (tokenizer_config.json) but no vocabulary, and for a
    tokenizer that does not come to an end."""
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise _no_tokenizer(name)
    try:  # a pattern of its may take for ever
        limited(lambda: str(len(tokenizer.encode(_PROBE))))
    except ValueError as error:
        raise ModelError(
            f"model {name!r}: its tokenizer cannot split a short text: {error}; use another"
        ) from error


def _no_tokenizer(name: str) -> ModelNotFound:
    return ModelNotFound(
        f"model {name!r}: no tokenizer in its folder; expected tokenizer.json, vocab.txt, "
        "vocab.json with merges.txt, tokenizer.model or spiece.model: copy what the weights came "
        "with, or write it with the tokenizer's save_pretrained"
    )


def local_tokenizer(name: str, load: LoadOptions) -> Any:
    """The tokenizer of a folder, a .gguf file, an embedded or packaged model, or a hub id."""
    require("a local tokenizer", "transformers")
    import transformers

    source = weights_source(ModelSpec.parse(name))
    if source is None:
        raise ModelError(f"tokenizer {name!r}: expected a folder, a .gguf file or a hub id")
    check_tokenizer_files(name, source)
    try:
        tokenizer = pretrained(
            transformers.AutoTokenizer,
            source,
            trust_remote_code=load.trust_remote_code,
            revision=load.revision,
        )
        check_tokenizer_words(name, tokenizer)
        return tokenizer
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise ModelError(f"tokenizer {name!r} cannot be loaded: {text[:160]}") from error
