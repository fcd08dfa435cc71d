"""Which category is a whole reply? By the words in it, or by a function of yours."""

from __future__ import annotations

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
