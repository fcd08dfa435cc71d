"""A template with its group filled in, "a" or "an" before it: the text around the scored word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from clinometer.errors import ContextError, TopicError
from clinometer.readouts.protocol import ShownQuestion

X, Y = "[X]", "[Y]"
_ARTICLE_BEFORE_X = re.compile(r"(?<![\w'’-])[Aa]n? $")
_SENTENCE_END = re.compile(r"[.?!] $")
_THE_BEFORE_X = re.compile(r"(?<![\w'’-])[Tt]he $")
#: Beginnings of words that take "an", or "a", though their first letter says otherwise.
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


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text around [Y].

    `before` never ends with a space: if there is one before [Y], `space` is true and the word is
    written with it, as the tokenizers of causal models expect. Without a space (Chinese, or [Y] at
    the very start) `space` is false. `shown` is the question, where the slot is for a reply to one.

    >>> Prompt("The nurse said that", " was late", space=True).fill("she")
    'The nurse said that she was late'
    """

    before: str
    after: str
    space: bool
    shown: ShownQuestion | None = field(default=None, repr=False)

    def fill(self, word: str) -> str:
        """The whole text with `word` at [Y]."""
        return f"{self.before}{' ' if self.space else ''}{word}{self.after}"


def render(
    template: str, text: str, *, article: str | None = None, sentences: bool = False
) -> Prompt:
    """Fill [X] with `text` and split around [Y].

    Whitespace is collapsed. An "a" or "an" directly before [X] becomes `article` (kept when
    `article` is None), with the capital it had; the article before [Y] is never touched. The empty
    article is that of names and pronouns: "a", "an" and "the" before [X] are left out. If [X]
    starts the text, the first letter of `text` is capitalised; with `sentences`, wherever it
    starts a sentence.

    >>> render("A [X] said that [Y]", "engineer", article="an")
    Prompt(before='An engineer said that', after='', space=True)
    >>> render("The [X] said that [Y]", "someone", article="")
    Prompt(before='Someone said that', after='', space=True)
    >>> render("[X] said that [Y] left", "nurses")
    Prompt(before='Nurses said that', after=' left', space=True)
    >>> render("A job is open. [X] applied. [Y]", "a man", sentences=True).before
    'A job is open. A man applied.'
    >>> render("[X]说[Y]", "医生")
    Prompt(before='医生说', after='', space=False)
    """
    head, article_before, tail = _parse(template)
    if article == "":
        head = _THE_BEFORE_X.sub("", head)
    elif article_before and article is not None:
        head = f"{head}{article_before[0]}{article[1:]} "
    else:
        head += article_before
    if not head or (sentences and _SENTENCE_END.search(head)):
        text = text[:1].upper() + text[1:]
    before, _, after = f"{head}{text}{tail}".partition(Y)
    stripped = before.rstrip()
    return Prompt(stripped, after, space=len(stripped) < len(before))


@lru_cache(maxsize=65_536)
def _parse(template: str) -> tuple[str, str, str]:
    """What stands before the article of [X], "a " or "an " if there is one, and what follows [X];
    once for all groups."""
    for slot in (X, Y):
        if (times := template.count(slot)) != 1:
            raise ContextError(f"template {template!r}: expected {slot} once, found {times} times")
    head, _, tail = " ".join(template.split()).partition(X)
    match = _ARTICLE_BEFORE_X.search(head)
    at = match.start() if match else len(head)
    return head[:at], head[at:], tail


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
    if by_topic := _by_prefix(lower, a=rules.a, an=rules.an):
        return by_topic
    if _CAPITALS.match(text):
        return "an" if text[0] in _SPELT_WITH_A_VOWEL else "a"
    if exception := _by_prefix(lower, a=ENGLISH_A, an=ENGLISH_AN):
        return exception
    return "an" if lower[:1] in tuple("aeiou") else "a"


def _by_prefix(lower: str, *, a: Iterable[str], an: Iterable[str]) -> str | None:
    """The article of the longest prefix that `lower` begins with, if there is one."""
    prefixes = [(len(p), "a") for p in a if lower.startswith(p.lower())]
    prefixes += [(len(p), "an") for p in an if lower.startswith(p.lower())]
    return max(prefixes)[1] if prefixes else None
