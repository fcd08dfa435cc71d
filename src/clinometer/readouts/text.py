"""Which category is a whole reply? By the words in it, or by a function of yours."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from clinometer.errors import TopicError
from clinometer.readouts.protocol import ShownQuestion
from clinometer.readouts.replies import OTHER, spoken, unread, without_question


@dataclass(frozen=True)
class WordCountReader:
    """The category whose words occur most often as whole words; a tie or none is other.

    >>> reader = WordCountReader({"man": ("he", "him"), "woman": ("she", "her")})
    >>> said = ["She saw him and her.", "He saw her.", "Then they left."]
    >>> reader.read(said, [ShownQuestion("Write on.")] * 3)
    [1, -1, -1]
    """

    words: Mapping[str, tuple[str, ...]]
    kind: str = "text"
    exact: bool = False
    _patterns: list[re.Pattern[str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        patterns = []
        for words in self.words.values():
            listed = sorted((" ".join(w.split()) for w in words), key=len, reverse=True)
            each = [r"\s+".join(map(re.escape, word.split())) for word in listed]
            patterns.append(re.compile(rf"(?<!\w)(?:{'|'.join(each)})(?!\w)", re.IGNORECASE))
        object.__setattr__(self, "_patterns", patterns)

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply."""
        return [self._one(r, s) for r, s in zip(replies, shown, strict=True)]

    def _one(self, reply: str, shown: ShownQuestion) -> int:
        said = without_question(spoken(reply), shown.text)
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
    kind: str = "text"
    exact: bool = False

    @classmethod
    def of(cls, path: str, categories: Sequence[str]) -> FunctionReader:
        """The function "module:name"; a module of the current folder is found too."""
        module, _, name = path.partition(":")
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as exc:
            raise TopicError(
                f"readout.function: {path!r} cannot be imported ({exc}); install the "
                "module, or put it on PYTHONPATH"
            ) from exc
        if not callable(function):
            raise TopicError(f"readout.function: expected a function, found {path!r}")
        return cls(function, tuple(categories), path)

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
