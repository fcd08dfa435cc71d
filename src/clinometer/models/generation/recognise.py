"""Which listed word does a sampled text start with? The rules:

1. If the text repeats the prompt, the repetition is removed (chat models like to start over).
2. Spaces, newlines and opening punctuation (quotes, brackets, ellipses, asterisks) before the first
   word are removed.
3. The text must start with a listed word, ignoring case, and the word must end there: the next
   character is not a letter or digit. "he's" starts with "he", "hero" does not. If several words
   match, the longest counts: "her own" before "her". In languages written without spaces (the
   prompt has none before the slot) a word need not end.
4. Otherwise, a text that starts like a refusal ("I'm sorry", "As an AI", "I can't …") is a refusal.
5. Everything else is other, or empty.

Only the slot counts, as with log-probabilities: a word further on answers another question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from clinometer.readouts.replies import unread, without_opening, without_question


@dataclass(frozen=True)
class Recogniser:
    """The rules for one list of words.

    >>> rules = Recogniser.of(("he", "she", "her", "her own"))
    >>> said = (" she left", "The nurse said that He's late", "hero", " her own", "I'm sorry, but")
    >>> [rules.read(text, "The nurse said that") for text in said]
    [1, 0, -1, 3, -2]
    """

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    number: dict[str, int]

    @classmethod
    def of(cls, words: Sequence[str], *, space: bool = True) -> Recogniser:
        return _recogniser(tuple(words), space)

    def read(self, text: str, before: str) -> int:
        """The index of the word, or OTHER, REFUSAL or EMPTY."""
        rest = without_opening(without_question(text, before))
        found = self.pattern.match(rest)
        return self.number[found[0].casefold()] if found else unread(rest)


@lru_cache(maxsize=64)
def _recogniser(words: tuple[str, ...], space: bool) -> Recogniser:
    number: dict[str, int] = {}
    for i, word in enumerate(words):
        number.setdefault(word.casefold(), i)
    longest_first = sorted(number, key=len, reverse=True)
    end = r"(?!\w)" if space else ""
    pattern = re.compile(f"(?:{'|'.join(map(re.escape, longest_first))}){end}", re.IGNORECASE)
    return Recogniser(words, pattern, number)
