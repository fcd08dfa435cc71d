"""The English indefinite article before a group: "a nurse", "an engineer".

Few rules, tried in this order:

1. the prefixes of the topic file (`[articles] a = […], an = […]`), the longest match first;
2. capitals of one to four letters are spelt out: "an MP", "a UN envoy";
3. the English exceptions below ("an heir", "a university lecturer"), the longest match first;
4. a vowel letter takes "an", anything else "a".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from clinometer.errors import TopicError

ENGLISH_AN = (
    *("heir", "hour", "honest", "honor", "honour"),  # silent h
    *("unid", "unim", "unin"),  # un-identified, un-important, un-insured
    *("8", "11-", "18-"),
)
ENGLISH_A = (
    *("uni", "use", "usu", "ute", "uti", "ubiq", "uga", "ukr", "uru"),  # begin like "you"
    *("eu", "ewe"),
    "one",  # begins like "won"
)
_SPELT_WITH_A_VOWEL = frozenset("AEFHILMNORSX")
_CAPITALS = re.compile(r"[A-Z]{1,4}(?![A-Za-z])")
_NOT_A_LETTER = re.compile(r"^\W+")


@dataclass(frozen=True)
class Articles:
    """Prefixes that take "a" or "an" as exceptions to the rule, ignoring case.

    >>> Articles().choose("engineer"), Articles().choose("university lecturer")
    ('an', 'a')
    >>> Articles().choose("NASA engineer"), Articles(a=("NASA",)).choose("NASA engineer")
    ('an', 'a')
    """

    a: tuple[str, ...] = ()
    an: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for article in ("a", "an"):
            prefixes = getattr(self, article)
            if isinstance(prefixes, str) or not all(isinstance(p, str) and p for p in prefixes):
                raise TopicError(
                    f"articles.{article}: expected a list of prefixes, each of at least one "
                    f'letter, found {prefixes!r}; write for example {article} = ["uni"]'
                )
            object.__setattr__(self, article, tuple(prefixes))
        both = sorted({p.lower() for p in self.a} & {p.lower() for p in self.an})
        if both:
            raise TopicError(
                f"articles: the prefix {both[0]!r} is listed under both a and an; keep one of them"
            )

    def choose(self, text: str) -> str:
        """The article, "a" or "an", that `text` takes."""
        return _choose(self, text)


@lru_cache(maxsize=65_536)
def _choose(rules: Articles, text: str) -> str:
    text = _NOT_A_LETTER.sub("", unicodedata.normalize("NFD", text))
    lower = text.lower()
    if own := _by_prefix(lower, a=rules.a, an=rules.an):
        return own
    if _CAPITALS.match(text):
        return "an" if text[0] in _SPELT_WITH_A_VOWEL else "a"
    if exception := _by_prefix(lower, a=ENGLISH_A, an=ENGLISH_AN):
        return exception
    return "an" if lower[:1] in tuple("aeiou") else "a"


def _by_prefix(lower: str, *, a: Iterable[str], an: Iterable[str]) -> str | None:
    """The article of the longest prefix that `lower` begins with, if there is one."""
    found = [(len(p), "a") for p in a if lower.startswith(p.lower())]
    found += [(len(p), "an") for p in an if lower.startswith(p.lower())]
    return max(found)[1] if found else None
