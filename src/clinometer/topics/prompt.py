"""A template with its group filled in: the text before and after the scored word."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from clinometer.errors import ContextError
from clinometer.readouts.protocol import ShownQuestion

X, Y = "[X]", "[Y]"
_ARTICLE_BEFORE_X = re.compile(r"(?<![\w'’-])([Aa])n? $")
_SENTENCE_END = re.compile(r"[.?!] $")
_THE_BEFORE_X = re.compile(r"(?<![\w'’-])[Tt]he $")


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
    parts = _parse(template)
    head = parts.head
    if article == "":
        head = _THE_BEFORE_X.sub("", head)
    elif parts.letter and article is not None:
        head = f"{head}{parts.letter}{article[1:]} "
    elif parts.letter:
        head += parts.article
    if not head or (sentences and _SENTENCE_END.search(head)):
        text = text[:1].upper() + text[1:]
    before, _, after = f"{head}{text}{parts.tail}".partition(Y)
    stripped = before.rstrip()
    return Prompt(stripped, after, space=len(stripped) < len(before))


@dataclass(frozen=True, slots=True)
class _Parts:
    head: str  # before the article of [X]
    letter: str  # "a" or "A", empty where no article stands before [X]
    article: str  # the article as the template writes it, with its space
    tail: str


@lru_cache(maxsize=65_536)
def _parse(template: str) -> _Parts:
    """Split a template at [X] once, for all groups."""
    for slot in (X, Y):
        if (found := template.count(slot)) != 1:
            raise ContextError(f"template {template!r}: expected {slot} once, found {found} times")
    head, _, tail = " ".join(template.split()).partition(X)
    match = _ARTICLE_BEFORE_X.search(head)
    if match is None:
        return _Parts(head, "", "", tail)
    return _Parts(head[: match.start()], match[1], match[0], tail)
