"""Blanks in a sentence: `The ___ nurse is tired ___.` read and written back without loss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

BLANK = "___"
_MARK = re.compile(r"_{2,}")
#: Punctuation without a space before it.
_CLOSING = ".,;:!?)]}'\"’”…%"


@dataclass(frozen=True)
class Blanks:
    """A sentence split at its blanks: `parts` has one more item than `marks`.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> str(b), b.plain, b.positions
    ('The ___ nurse is tired ___.', 'The nurse is tired.', (4, 18))
    >>> b.fill(["young", ""])
    'The young nurse is tired.'
    """

    parts: tuple[str, ...]
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
        return tuple(self._written([""] * len(self))[1])

    def fill(self, texts: Sequence[str]) -> str:
        """The sentence with a text in each blank; an empty text also removes its space."""
        return self._written(texts)[0]

    def _written(self, texts: Sequence[str]) -> tuple[str, list[int]]:
        done, positions = self.parts[0], []
        for text, part in zip(texts, self.parts[1:], strict=True):
            if not text.strip():
                # Drop one of the two spaces around an empty blank; before punctuation, both.
                if part[:1].isspace() and (not done or done[-1].isspace()):
                    part = part[1:]
                if done.endswith(" ") and (not part or part[0] in _CLOSING):
                    done = done[:-1]
            positions.append(len(done))
            done += text.strip() + part
        return done, positions
