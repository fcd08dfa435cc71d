"""How different the versions of a statement are: by their words, and by their meaning (Eq. 1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clinometer.reliability.variants.filling import FUNCTION_WORDS, Fills


@dataclass(frozen=True)
class WordDiversity:
    """near_copies: versions that add the same content words as an earlier one, or none at all;
    distinct: distinct content words over all added ones (1: no word twice), None if none.
    """

    near_copies: int
    distinct: float | None


def word_diversity(fills: Sequence[Fills]) -> WordDiversity:
    """Diversity of the fills of one statement's versions.

    >>> word_diversity([("young", ""), ("the young", ""), ("old", "today")])
    WordDiversity(near_copies=1, distinct=0.75)
    """
    added = [_content(" ".join(some)) for some in fills]
    seen: set[frozenset[str]] = set()
    near = 0
    for words in added:
        key = frozenset(words)
        near += not key or key in seen
        seen.add(key)
    every = [word for words in added for word in words]
    return WordDiversity(near, len(set(every)) / len(every) if every else None)


def _content(text: str) -> list[str]:
    return [w for w in re.findall(r"[\w'’-]+", text.casefold()) if w not in FUNCTION_WORDS]
