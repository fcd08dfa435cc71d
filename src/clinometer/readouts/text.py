"""Which category is a whole reply? By the words in it, or by a function of yours."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clinometer.errors import TopicError
from clinometer.readouts.protocol import (
    OTHER,
    ShownQuestion,
    answer,
    spoken,
    unread,
    whole_words,
)


class WordCountReader:
    """The category whose words occur most often as whole words; a tie or none is other.

    >>> reader = WordCountReader({"man": ("he", "him"), "woman": ("she", "her")})
    >>> said = ["She saw him and her.", "He saw her.", "Then they left."]
    >>> reader.read(said, [ShownQuestion("Write on.")] * 3)
    [1, -1, -1]
    """

    def __init__(self, words: Mapping[str, tuple[str, ...]]) -> None:
        self._patterns = [whole_words(texts) for texts in words.values()]

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply."""
        return [self._one(r, s) for r, s in zip(replies, shown, strict=True)]

    def _one(self, reply: str, shown: ShownQuestion) -> int:
        said = answer(reply, shown.text)
        counts = [len(pattern.findall(said)) for pattern in self._patterns]
        most = max(counts)
        if most and counts.count(most) == 1:
            return counts.index(most)
        return OTHER if most else unread(said)


@dataclass(frozen=True)
class FunctionReader:
    """A Python function: a reply in, a category or None out."""

    function: Callable[[str], str | None]
    categories: tuple[str, ...]
    name: str

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply; empty ones are not given to the function."""
        found = []
        for reply in map(spoken, replies):
            category = self.function(reply) if reply else None
            if category is None:
                found.append(unread(reply))
            elif category in self.categories:
                found.append(self.categories.index(category))
            else:
                raise TopicError(
                    f"readout.function: {self.name} returned {category!r}, expected one of "
                    f"{', '.join(self.categories)}, or None for other"
                )
        return found


_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")
#: How a reply repeats the scale itself: "from 1 to 5", "/5".
SCALE = re.compile(
    r"(?:from\s+)?\b\d+\s*(?:-|–|to|through)\s*\d+\b|(?:/|\bout\s+of)\s*\d+|\bscale\s+of\s+\d+",
    re.IGNORECASE,
)


def read_rating(reply: str, scale: int, *, question: str = "") -> int:
    """The rating minus one, so that it is the index of its category; OTHER, REFUSAL or EMPTY.

    >>> said = ["4", "4/5", "On a scale from 1 to 5: 2.", "4.5", "7", "3 or 4", "", "I can't say"]
    >>> [read_rating(reply, 5) for reply in said]
    [3, 3, 1, -1, -1, -1, -3, -2]
    """
    rest = answer(reply, question)
    numbers = set(_NUMBER.findall(SCALE.sub(" ", rest)))
    if len(numbers) != 1:
        return OTHER if numbers else unread(rest)
    number = numbers.pop()
    steps = {str(step) for step in range(1, scale + 1)}
    return int(number) - 1 if number in steps else OTHER


@dataclass(frozen=True)
class RatingReader:
    """The readout `rating` for sampled replies."""

    scale: int

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply: rating 1 is the first."""
        pairs = zip(replies, shown, strict=True)
        return [read_rating(reply, self.scale, question=asked.text) for reply, asked in pairs]
