"""The two sentences of a pair as one, and the term that they contrast."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

_SPAN = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_EDGES = ".,;:!?\"'“”()[] "
_ARTICLES = frozenset({"a", "an", "the"})
_FUNCTION_WORDS = frozenset(
    """
    not no never don't didn't doesn't do did does is isn't are aren't was wasn't were weren't can
    can't cannot could couldn't will won't would wouldn't should shouldn't has hasn't have haven't
    had hadn't with without and or but that this those these for against of to in on at by i always
    often
    """.split()
)
"""Words that make a contrast but name no one."""

_PRONOUNS = frozenset(
    "he him his himself she her hers herself they them their theirs themselves it its".split()
)


@dataclass(frozen=True)
class Merged:
    """The two sentences of a pair as one: "(Jews | Christians) can't be trusted".

    A string is shared text, a tuple contains the alternatives; a word that one sentence lacks has
    an empty one: "(not | )". The notation can be parsed back without loss.
    """

    pieces: tuple[str | tuple[str, ...], ...]

    def __str__(self) -> str:
        texts = []
        for piece in self.pieces:
            if isinstance(piece, tuple):
                piece = f"({' | '.join(piece)})"
            texts.append(piece)
        return " ".join(texts)

    @property
    def spans(self) -> tuple[tuple[str, ...], ...]:
        """The differing spans, in order."""
        return tuple(piece for piece in self.pieces if not isinstance(piece, str))

    def side(self, index: int) -> str:
        """Return one of the original sentences, with single spaces between words."""
        texts = []
        for piece in self.pieces:
            if isinstance(piece, tuple):
                piece = piece[index]
            texts.append(piece)
        return " ".join(filter(None, texts))

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
            alternatives = match.group(1).split("|")
            pieces.append(text[end : match.start()].strip())
            pieces.append(tuple(map(str.strip, alternatives)))
            end = match.end()
        pieces.append(text[end:].strip())
        return cls(tuple(filter(None, pieces)))


def merge(first: str, second: str) -> Merged:
    """Merge two sentences, which are aligned word by word.

    >>> str(merge("Men are bad at it.", "Women are good at it."))
    '(Men | Women) are (bad | good) at it.'
    """
    a = first.split()
    b = second.split()
    pieces: list[str | tuple[str, ...]] = []
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    for operation, i, j, k, m in matcher.get_opcodes():
        words = " ".join(a[i:j])
        is_shared = operation == "equal"
        pieces.append(words if is_shared else (words, " ".join(b[k:m])))
    return Merged(tuple(pieces))


def target_term(merged: Merged, *, side: int = 0) -> str | None:
    """Return the main target term of a pair: the entity that the pair contrasts.

    The first differing span of the chosen side that names an entity: not a function word or
    negation, and not a pronoun if a noun differs too. Articles, negations at the edges and
    punctuation are removed. None if the sentences are identical.

    >>> target_term(merge("She wasn't a woman of words.", "He was a man of words."))
    'woman'
    """
    texts = [span[side] for span in merged.spans]
    entities = list(filter(None, map(_entity, texts)))
    for entity in entities:
        if not set(entity.lower().split()) <= _PRONOUNS:
            return entity
    if entities:
        return entities[0]
    return next(filter(None, (text.strip(_EDGES) for text in texts)), None)


def _entity(text: str) -> str:
    """Return a text without articles, function words and punctuation at its edges."""
    words = [word.strip(_EDGES) for word in text.split()]
    while words and _names_no_one(words[0]):
        words.pop(0)
    while words and _names_no_one(words[-1]):
        words.pop()
    return " ".join(words)


def _names_no_one(word: str) -> bool:
    return not word or word.lower() in _ARTICLES | _FUNCTION_WORDS
