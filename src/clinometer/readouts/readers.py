"""Readers of whole replies: which category a reply is, and nothing dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from clinometer.errors import TopicError
from clinometer.readouts.question import ShownQuestion
from clinometer.readouts.reply import OTHER, answer, spoken, unread, whole_words


class Readout(Protocol):
    """k(y | t): which category a reply t to a question is."""

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """Return the category of each reply to its question, by index; OTHER, REFUSAL or EMPTY for
        one that is none of them."""


class WordCountReader:
    """A reader that takes the category whose words occur most often as whole words; a tie or none
    is other.

    >>> reader = WordCountReader({"man": ("he", "him"), "woman": ("she", "her")})
    >>> replies = ["She saw him and her.", "He saw her.", "Then they left."]
    >>> reader.read(replies, [ShownQuestion("Write on.")] * 3)
    [1, -1, -1]
    """

    def __init__(self, words: Mapping[str, tuple[str, ...]]) -> None:
        self._patterns = [whole_words(texts) for texts in words.values()]

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """Return the category of each reply."""
        return [
            self._category(answer(reply, question.text))
            for reply, question in zip(replies, shown, strict=True)
        ]

    def _category(self, text: str) -> int:
        counts = [len(pattern.findall(text)) for pattern in self._patterns]
        most = max(counts)
        if most == 0:
            return unread(text)
        return counts.index(most) if counts.count(most) == 1 else OTHER


@dataclass(frozen=True)
class FunctionReader:
    """A Python function: a reply in, a category or None out."""

    function: Callable[[str], str | None]
    categories: tuple[str, ...]
    name: str

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """Return the category of each reply; empty ones are not given to the function."""
        return [self._category(spoken(reply)) for reply in replies]

    def _category(self, reply: str) -> int:
        category = self.function(reply) if reply else None
        if category is None:
            return unread(reply)
        if category not in self.categories:
            raise TopicError(
                f"readout.function: {self.name} returned {category!r}, expected one of "
                f"{', '.join(self.categories)}, or None for other"
            )
        return self.categories.index(category)
