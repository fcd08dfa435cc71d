"""A template with its group filled in, "a" or "an" before it: the text around the scored word."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache

from clinometer.errors import ContextError
from clinometer.readouts.readers import ShownQuestion

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
    *(
        "uni",
        "use",
        "usu",
        "ute",
        "uti",
        "ubiq",
        "uga",
        "ukr",
        "uru",
    ),  # begin like "you"
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
            raise ContextError(
                f"template {template!r}: expected {slot} once, found {times} times"
            )
    head, _, tail = " ".join(template.split()).partition(X)
    match = _ARTICLE_BEFORE_X.search(head)
    at = match.start() if match else len(head)
    return head[:at], head[at:], tail


@lru_cache(maxsize=65_536)
def english_article(text: str) -> str:
    """The article, "a" or "an", that a text takes.

    >>> english_article("engineer"), english_article("university lecturer")
    ('an', 'a')
    >>> english_article("NASA engineer")
    'an'
    """
    text = _NOT_A_LETTER.sub("", unicodedata.normalize("NFD", text))
    lower = text.lower()
    if _CAPITALS.match(text):
        return "an" if text[0] in _SPELT_WITH_A_VOWEL else "a"
    prefixes = [(len(p), "a") for p in ENGLISH_A if lower.startswith(p)]
    prefixes += [(len(p), "an") for p in ENGLISH_AN if lower.startswith(p)]
    if prefixes:  # the longest one counts
        return max(prefixes)[1]
    return "an" if lower[:1] in tuple("aeiou") else "a"
