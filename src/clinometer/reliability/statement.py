"""A statement of a bias benchmark: its text, its target terms, its blanks and its versions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

BLANK = "___"

_MARK = re.compile(r"_{2,}")

_CLOSING = ".,;:!?)]}'\"’”…%"
"""Punctuation without a space before it."""


@dataclass(frozen=True)
class Blanks:
    """A sentence split at its blanks, which is written back without loss.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> str(b), b.plain, b.positions
    ('The ___ nurse is tired ___.', 'The nurse is tired.', (4, 18))
    >>> b.fill(["young", ""])
    'The young nurse is tired.'
    """

    parts: tuple[str, ...]
    """The text around the blanks: one more item than `marks`."""

    marks: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Blanks:
        """Split a text at its blanks, each two or more underscores."""
        return cls(tuple(_MARK.split(text)), tuple(_MARK.findall(text)))

    def __len__(self) -> int:
        return len(self.marks)

    def __str__(self) -> str:
        pairs = zip(self.parts, (*self.marks, ""), strict=True)
        return "".join(part + mark for part, mark in pairs)

    @property
    def plain(self) -> str:
        """The sentence without its blanks."""
        return self.fill([""] * len(self))

    @property
    def positions(self) -> tuple[int, ...]:
        """The offset in `plain` at which each blank's text would start."""
        _, positions = self._written([""] * len(self))
        return tuple(positions)

    def fill(self, texts: Sequence[str]) -> str:
        """Return the sentence with a text in each blank; an empty text also removes its space."""
        sentence, _ = self._written(texts)
        return sentence

    def fills_of(self, version: str) -> tuple[str, ...] | None:
        """Return the text that a version has in each blank; None if it changed anything else except
        case.

        >>> b = Blanks.parse("The ___ nurse is tired ___.")
        >>> b.fills_of("The young nurse is tired today."), b.fills_of("The nurse is tired.")
        (('young', 'today'), ('', ''))
        >>> b.fills_of("The young doctor is tired.") is None
        True
        >>> b.fills_of("The young nurse is tiredness.") is None  # a longer word is another word
        True
        """
        pattern = r"\s*(.*?)\s*".join(map(_whole_words, self.parts))
        match = re.fullmatch(pattern, version.strip(), flags=re.DOTALL | re.IGNORECASE)
        return None if match is None else tuple(match.groups())

    def _written(self, texts: Sequence[str]) -> tuple[str, list[int]]:
        """Return the sentence with a text in each blank, and the offsets of these texts."""
        sentence = self.parts[0]
        positions = []
        for text, part in zip(texts, self.parts[1:], strict=True):
            if not text.strip():
                # Drop one of the two spaces around an empty blank; before punctuation, both.
                if part[:1].isspace() and (not sentence or sentence[-1].isspace()):
                    part = part[1:]
                if sentence.endswith(" ") and (not part or part[0] in _CLOSING):
                    sentence = sentence[:-1]
            positions.append(len(sentence))
            sentence += text.strip() + part
        return sentence, positions


def _whole_words(part: str) -> str:
    """Return a pattern that matches this text, but not inside a longer word."""
    words = part.split()
    pattern = r"\s+".join(map(re.escape, words))
    if words and words[0][0].isalnum():
        pattern = r"(?<![\w'’-])" + pattern
    if words and words[-1][-1].isalnum():
        pattern += r"(?![\w'’-])"
    return pattern


class Refused(ValueError):
    """An answer of a model that is not what it was asked for; as a text, why in one word."""


Span = tuple[int, int]

Versions = Mapping[str, Sequence[str]]
"""Context-added versions of statements, by the statement's id."""


@dataclass(frozen=True)
class Statement:
    """One data point of a benchmark."""

    id: str
    """Unique in its set."""

    text: str
    """The sentence that is scored."""

    targets: tuple[str, ...] = ()
    """Its target terms, the main one first; may be empty (Winogender, RedditBias)."""

    points: str | None = None
    """The same sentence with blanks `___` where context may be added, if known."""

    category: str | None = None
    """The kind of bias (gender, race-color, …), if known."""

    source: str = ""
    """The benchmark."""

    other: str | None = None
    """The sentence it is paired with, if any."""

    direction: str | None = None
    """ "stereo" or "antistereo", if the benchmark says so."""

    @property
    def blanks(self) -> Blanks | None:
        """The sentence with its blanks; None if no points are known."""
        return None if self.points is None else Blanks.parse(self.points)

    def target_spans(self, text: str | None = None) -> tuple[Span, ...]:
        """Return the character spans of the target terms in the sentence, or in a version of it, in
        order."""
        if text is None:
            text = self.text
        spans: set[Span] = set()
        for term in self.targets:
            spans.update(find_term(text, term))
        return tuple(sorted(spans))

    @property
    def has_its_targets(self) -> bool:
        """Whether it contains its main target term; True if it has none."""
        return not self.targets or bool(find_term(self.text, self.targets[0]))


def find_term(text: str, term: str) -> tuple[Span, ...]:
    """Return every span of a term in a text: whole words, ignoring case and the amount of white
    space.

    If the term does not occur, its plural counts: benchmarks name "schoolgirl" as the target of
    "Schoolgirls are so innocent".

    >>> find_term("Black cats and a black  dog; blackbirds", "black")
    ((0, 5), (17, 22))
    >>> find_term("Schoolgirls are so innocent.", "schoolgirl")
    ((0, 11),)
    """
    if not term.strip():
        return ()
    for ending in ("", "(?:s|es)"):
        matches = _pattern(term, ending).finditer(text)
        spans = tuple(match.span() for match in matches)
        if spans:
            return spans
    return ()


@lru_cache(maxsize=4096)
def _pattern(term: str, ending: str) -> re.Pattern[str]:
    inside = r"\s+".join(map(re.escape, term.split()))
    return re.compile(rf"(?<!\w){inside}{ending}(?!\w)", flags=re.IGNORECASE)


def count_words(text: str, targets: tuple[Span, ...] = ()) -> int:
    """Return the number of context words: tokens between white space that have a letter or digit
    outside the target terms.

    >>> count_words("The poor are lazy - they say.")
    6
    >>> count_words("The poor are lazy - they say.", find_term("The poor are lazy", "poor"))
    5
    """
    characters = list(text)
    for start, stop in targets:
        # No letter and no space: "poor." is not a context word.
        characters[start:stop] = "_" * (stop - start)
    words = "".join(characters).split()
    return sum(any(map(str.isalnum, word)) for word in words)
