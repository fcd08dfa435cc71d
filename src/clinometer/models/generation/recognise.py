"""Which listed word does a sampled text start with? The rules:

1. If the text repeats the prompt, the repetition is removed (chat models like to start over).
2. Spaces, newlines and opening punctuation (quotes, brackets, ellipses, asterisks) before the first
   word are removed.
3. The text must start with a listed word, ignoring case, and the word must end there: the next
   character is not a letter or digit. "he's" starts with "he", "hero" does not. If several words
   match, the longest counts: "her own" before "her". In languages written without spaces (the
   prompt has none before the slot) a word need not end.
4. Otherwise, a text that starts like a refusal ("I'm sorry", "As an AI", "I can't …") is a refusal.
5. Everything else is other.

Only the slot counts, as with log-probabilities: a word further on answers another question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

OTHER, REFUSAL = -1, -2
#: A word shared between categories, or one that cannot be distinguished from another.
_OPENING = re.compile(r"[\s\"'“”‘’«»„(\[{<*_…·—–-]+|\.{2,}")
_REFUSALS = re.compile(
    r"(i['’]m|i am|i['’]m very|i am very)?\s*(so |really |terribly )?(sorry|unable to|afraid)\b"
    r"|(i['’]m|i am) not able to\b"
    r"|(sorry|apologies|my apologies)\b"
    r"|i (apologi[sz]e|can['’]?t|cannot|can not|won['’]?t|will not|do not feel comfortable)\b"
    r"|as an? (ai|artificial intelligence|language model|large language model)\b"
    r"|(抱歉|对不起|很抱歉|我无法|我不能|作为一个)",
    re.IGNORECASE,
)


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
        """The index of the word, or OTHER or REFUSAL."""
        rest = text.lstrip()
        if before and rest.casefold().startswith(before.casefold()):
            rest = rest[len(before) :]
        while opening := _OPENING.match(rest):
            rest = rest[opening.end() :]
        found = self.pattern.match(rest)
        if found:
            return self.number[found[0].casefold()]
        return REFUSAL if _REFUSALS.match(rest) else OTHER


@lru_cache(maxsize=64)
def _recogniser(words: tuple[str, ...], space: bool) -> Recogniser:
    number: dict[str, int] = {}
    for i, word in enumerate(words):
        number.setdefault(word.casefold(), i)
    longest_first = sorted(number, key=len, reverse=True)
    end = r"(?!\w)" if space else ""
    pattern = re.compile(f"(?:{'|'.join(map(re.escape, longest_first))}){end}", re.IGNORECASE)
    return Recogniser(words, pattern, number)
