"""A template with its group filled in, "a" or "an" before it: the text around the scored word."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache

from clinometer.errors import ContextError
from clinometer.readouts.question import ShownQuestion

X = "[X]"
Y = "[Y]"

ENGLISH_AN = (
    *("heir", "hour", "honest", "honor", "honour"),  # silent h
    *("unid", "unim", "unin"),  # un-identified, un-important, un-insured
    *("8", "11-", "18-"),
)
"""Beginnings of words that take "an", though their first letter says otherwise."""

_LIKE_YOU = ("uni", "use", "usu", "ute", "uti", "ubiq", "uga", "ukr", "uru")
_LIKE_WON = ("one",)
ENGLISH_A = (*_LIKE_YOU, "eu", "ewe", *_LIKE_WON)
"""Beginnings of words that take "a", though their first letter says otherwise."""

_ARTICLE_BEFORE_X = re.compile(r"(?<![\w'’-])[Aa]n? $")
_SENTENCE_END = re.compile(r"[.?!] $")
_THE_BEFORE_X = re.compile(r"(?<![\w'’-])[Tt]he $")
_SPELT_WITH_A_VOWEL = frozenset("AEFHILMNORSX")
_CAPITALS = re.compile(r"[A-Z]{1,4}(?![A-Za-z])")
_NOT_A_LETTER = re.compile(r"^\W+")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text around [Y].

    >>> Prompt("The nurse said that", " was late", space=True).fill("she")
    'The nurse said that she was late'
    """

    before: str
    """The text before [Y]; it never ends with a space."""

    after: str

    space: bool
    """Whether there is a space before [Y].

    The word is then written with it, as the tokenizers of causal models expect. There is none in
    Chinese, or with [Y] at the very start.
    """

    shown: ShownQuestion | None = field(default=None, repr=False)
    """The question, where the slot is for a reply to one."""

    def fill(self, word: str) -> str:
        """Return the whole text with `word` at [Y]."""
        space = " " if self.space else ""
        return f"{self.before}{space}{word}{self.after}"


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
    parsed = _parse(template)
    head = parsed.before_x(article)
    if not head or (sentences and _SENTENCE_END.search(head)):
        text = text[:1].upper() + text[1:]
    before, _, after = f"{head}{text}{parsed.after}".partition(Y)
    stripped = before.rstrip()
    return Prompt(stripped, after, space=len(stripped) < len(before))


@dataclass(frozen=True, slots=True)
class _ParsedTemplate:
    """A template around [X]."""

    before: str
    """What stands before the article of [X]."""

    article: str
    """"a " or "an ", if there is one."""

    after: str

    def before_x(self, article: str | None) -> str:
        """Return what stands before [X] with the article of a group; None: the template's own."""
        if article == "":
            return _THE_BEFORE_X.sub("", self.before)
        if self.article and article is not None:
            return f"{self.before}{self.article[0]}{article[1:]} "
        return self.before + self.article


@lru_cache(maxsize=65_536)
def _parse(template: str) -> _ParsedTemplate:
    """Return a template around [X], once for all groups."""
    for slot in (X, Y):
        times = template.count(slot)
        if times != 1:
            raise ContextError(
                f"template {template!r}: expected {slot} once, found {times} times"
            )
    head, _, after = " ".join(template.split()).partition(X)
    match = _ARTICLE_BEFORE_X.search(head)
    end = match.start() if match else len(head)
    return _ParsedTemplate(head[:end], head[end:], after)


@lru_cache(maxsize=65_536)
def english_article(text: str) -> str:
    """Return the article, "a" or "an", that a text takes.

    >>> english_article("engineer"), english_article("university lecturer")
    ('an', 'a')
    >>> english_article("NASA engineer")
    'an'
    """
    text = _NOT_A_LETTER.sub("", unicodedata.normalize("NFD", text))
    if _CAPITALS.match(text):
        return "an" if text[0] in _SPELT_WITH_A_VOWEL else "a"
    lower = text.lower()
    with_a = _longest_beginning(lower, ENGLISH_A)
    with_an = _longest_beginning(lower, ENGLISH_AN)
    if with_a != with_an:
        return "an" if with_an > with_a else "a"
    return "an" if lower.startswith(tuple("aeiou")) else "a"


def _longest_beginning(text: str, beginnings: tuple[str, ...]) -> int:
    """Return the length of the longest of these beginnings that a text has; 0 for none."""
    return max((len(b) for b in beginnings if text.startswith(b)), default=0)
