"""Split sentences without a parser: cheap enough for every article."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

_END = re.compile(
    r"[.!?…](?:\s?»|[\"”’')\]])*\s+(?=(?:[\"“‘'(\[]|[«–—]\s?)?[A-Z0-9À-ÖØ-Þ])|\n\s*\n|\n(?=\S)"
)


def split_sentences(text: str, abbreviations: Set[str]) -> Iterator[tuple[int, int]]:
    """Start and end of every sentence in a text; a full stop after an abbreviation ends none.

    >>> text = "Dr. Smith left. He said no."
    >>> [text[a:b] for a, b in split_sentences(text, {"dr"})]
    ['Dr. Smith left.', 'He said no.']
    """
    begin = 0
    for match in _END.finditer(text):
        if text[match.start()] == "." and _is_short(text, match.start(), abbreviations):
            continue
        end = match.end() if text[match.start()] != "\n" else match.start()
        if text[begin:end].strip():
            yield begin, begin + len(text[begin:end].rstrip())
        begin = match.end()
    if text[begin:].strip():
        yield begin, begin + len(text[begin:].rstrip())


def _is_short(text: str, dot: int, abbreviations: Set[str]) -> bool:
    start = dot
    while start and (text[start - 1].isalnum() or text[start - 1] == "."):
        start -= 1
    word = text[start:dot]
    return word.lower() in abbreviations or (len(word) == 1 and word.isupper())
