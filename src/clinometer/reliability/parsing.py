"""Parse English: for the rules that place blanks, the phrases that fill them, and questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.english.grammar import open_parser

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


def parse(texts: Iterable[str]) -> Iterator[Doc]:
    """Parsed texts in order, without named entities and lemmas."""
    nlp = open_parser().nlp
    unused = [p for p in nlp.pipe_names if p in ("ner", "lemmatizer")]
    return nlp.pipe(texts, batch_size=64, disable=unused)


def neighbouring_words(doc: Doc, place: int) -> tuple[Token | None, Token | None]:
    """The words before and after an offset, such as that of a blank."""
    after = next((t for t in doc if t.idx >= place and not t.is_space), None)
    before = next((t for t in reversed(doc) if t.idx < place and not t.is_space), None)
    return before, after
