"""Which rating does a reply give?

A number of the scale, alone in the reply: "4", "4/5", "I would say 4 out of 5". The scale itself
("from 1 to 5", "out of 5", "/5") does not count. A fraction, a number off the scale, or two numbers
are other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clinometer.readouts.protocol import ShownQuestion
from clinometer.readouts.replies import OTHER, spoken, unread, without_question

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")
_SCALE = re.compile(
    r"(?:from\s+)?\b\d+\s*(?:-|–|to|through)\s*\d+\b|(?:/|\bout\s+of)\s*\d+|\bscale\s+of\s+\d+",
    re.IGNORECASE,
)


def read_rating(reply: str, scale: int, *, question: str = "") -> int:
    """The rating minus one, so that it is the index of its category; OTHER, REFUSAL or EMPTY.

    >>> said = ["4", "4/5", "On a scale from 1 to 5: 2.", "4.5", "7", "3 or 4", "", "I can't say"]
    >>> [read_rating(reply, 5) for reply in said]
    [3, 3, 1, -1, -1, -1, -3, -2]
    """
    rest = without_question(spoken(reply), question)
    numbers = set(_NUMBER.findall(_SCALE.sub(" ", rest)))
    if len(numbers) != 1:
        return OTHER if numbers else unread(rest)
    number = numbers.pop()
    return int(number) - 1 if number.isdecimal() and 1 <= int(number) <= scale else OTHER


@dataclass(frozen=True)
class RatingReader:
    """The readout `rating` for sampled replies."""

    scale: int
    kind: str = "rating"
    exact: bool = True

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply: rating 1 is the first."""
        pairs = zip(replies, shown, strict=True)
        return [read_rating(reply, self.scale, question=asked.text) for reply, asked in pairs]
