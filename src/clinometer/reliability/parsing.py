"""Parse English, for the rules that place blanks and the questions about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.english.grammar import DEFAULT_PARSER, open_parser

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["DEFAULT_PARSER", "parse"]


def parse(texts: Iterable[str], *, parser: str = DEFAULT_PARSER) -> Iterator[Doc]:
    """Parsed texts in order, without named entities and lemmas."""
    nlp = open_parser(parser).nlp
    unused = [p for p in nlp.pipe_names if p in ("ner", "lemmatizer")]
    return nlp.pipe(texts, batch_size=64, disable=unused)
