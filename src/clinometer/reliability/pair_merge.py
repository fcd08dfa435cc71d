"""The two sentences of a pair merged into one: "(Jews | Christians) can't be trusted".

Sentences are aligned word by word; what differs becomes a span of alternatives, and a word that one
sentence lacks has an empty alternative: "(not | )". The notation can be parsed back without loss.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

_SPAN = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_EDGES = ".,;:!?\"'“”()[] "
_ARTICLES = frozenset({"a", "an", "the"})
#: Words that make a contrast but name no one.
_PLAIN = frozenset(
    """
    not no never don't didn't doesn't do did does is isn't are aren't was wasn't were weren't can
    can't cannot could couldn't will won't would wouldn't should shouldn't has hasn't have haven't
    had hadn't with without and or but that this those these for against of to in on at by i always
    often
    """.split()
)
_PRONOUNS = frozenset(
    "he him his himself she her hers herself they them their theirs themselves it its".split()
)


@dataclass(frozen=True)
class Merged:
    """A sentence in pieces: a string is shared text, a tuple contains the alternatives."""

    pieces: tuple[str | tuple[str, ...], ...]

    def __str__(self) -> str:
        return " ".join(p if isinstance(p, str) else f"({' | '.join(p)})" for p in self.pieces)

    @property
    def spans(self) -> tuple[tuple[str, ...], ...]:
        """The differing spans, in order."""
        return tuple(p for p in self.pieces if not isinstance(p, str))

    def side(self, index: int) -> str:
        """One of the original sentences, with single spaces between words."""
        words = (p if isinstance(p, str) else p[index] for p in self.pieces)
        return " ".join(w for w in words if w)

    @classmethod
    def parse(cls, text: str) -> Merged:
        """Parse the notation.

        >>> merged = Merged.parse("(Black | white) people might (not | ) be able to")
        >>> merged.spans, merged.side(1)
        ((('Black', 'white'), ('not', '')), 'white people might be able to')
        """
        pieces: list[str | tuple[str, ...]] = []
        end = 0
        for match in _SPAN.finditer(text):
            if common := text[end : match.start()].strip():
                pieces.append(common)
            pieces.append(tuple(part.strip() for part in match.group(1).split("|")))
            end = match.end()
        if rest := text[end:].strip():
            pieces.append(rest)
        return cls(tuple(pieces))


def merge(first: str, second: str) -> Merged:
    """Merge two sentences.

    >>> str(merge("Men are bad at it.", "Women are good at it."))
    '(Men | Women) are (bad | good) at it.'
    """
    one, other = first.split(), second.split()
    pieces: list[str | tuple[str, ...]] = []
    for op, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        own, others = " ".join(one[i:j]), " ".join(other[k:m])
        pieces.append(own if op == "equal" else (own, others))
    return Merged(tuple(pieces))


def target_term(merged: Merged, *, side: int = 0) -> str | None:
    """The main target term of a pair: the entity that the pair contrasts.

    The first differing span of the chosen side that names an entity: not a function word or
    negation, and not a pronoun if a noun differs too. Articles, negations at the edges and
    punctuation are removed. None if the sentences are identical.

    >>> target_term(merge("She wasn't a woman of words.", "He was a man of words."))
    'woman'
    """
    named = [term for span in merged.spans if (term := _named(span[side]))]
    nouns = [term for term in named if not set(term.lower().split()) <= _PRONOUNS]
    if nouns or named:
        return (nouns or named)[0]
    return next((t for span in merged.spans if (t := span[side].strip(_EDGES))), None)


def _named(text: str) -> str:
    words = [word.strip(_EDGES) for word in text.split()]
    idle = _ARTICLES | _PLAIN
    while words and (not words[0] or words[0].lower() in idle):
        words.pop(0)
    while words and (not words[-1] or words[-1].lower() in idle):
        words.pop()
    return " ".join(words)
