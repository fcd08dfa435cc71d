"""Which category is a whole reply? By its words, by a function of yours, or by a number or a word
in it: in a JSON field, by a regular expression, or as it stands."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clinometer.errors import TopicError
from clinometer.readouts.protocol import (
    OTHER,
    ShownQuestion,
    answer,
    spoken,
    unread,
    whole_words,
)
from clinometer.readouts.tables import JsonTable, RatingTable, RegexTable, ScoreTable
from clinometer.storage.untrusted import found_by


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


#: Objects that are looked for in a reply.
_MOST_OBJECTS = 1000
#: How a reply repeats the scale itself: "from 1 to 5", "/5".
_SCALE = re.compile(
    r"(?:from\s+)?\b\d+\s*(?:-|–|to|through)\s*\d+\b|(?:/|\bout\s+of)\s*\d+|\bscale\s+of\s+\d+",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?![\w])")


class ScoreReader:
    """The readouts `json`, `regex`, `number` and `rating`, of which a reply says one of the steps.

    >>> reader = ScoreReader(JsonTable(kind="json", field="score", scale=(0, 100)), {})
    >>> said = ['{"score": 72.5}', '```json\\n{"score": "60"}\\n```', '{"score": 700}', "70", ""]
    >>> reader.numbers(said)
    [72.5, 60.0, None, None, None]
    """

    def __init__(
        self, table: ScoreTable | RatingTable, attributes: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.table = table
        numbers = table if isinstance(table, ScoreTable) else None
        self._scale = None if numbers is None else numbers.scale
        self._step = 1.0 if numbers is None else numbers.interval
        self._category = {
            word.casefold(): i for i, words in enumerate(attributes.values()) for word in words
        }

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply; on a scale, the step that it is nearest to."""
        if self._scale is not None:
            low = self._scale[0]
            return [
                unread(spoken(reply)) if n is None else math.floor((n - low) / self._step + 0.5)
                for reply, n in zip(replies, self.numbers(replies, shown), strict=True)
            ]
        found = []
        for reply, values in zip(replies, self._found(replies, shown), strict=True):
            known = {self._category.get(_plain(value), OTHER) for value in values}
            number = known.pop() if len(known) == 1 else OTHER
            found.append(unread(spoken(reply)) if number == OTHER else number)
        return found

    def numbers(
        self, replies: Sequence[str], shown: Sequence[ShownQuestion] = ()
    ) -> list[float | None]:
        """The number of each reply; None where there is none, several, or one off the scale."""
        low, high = self._scale or (-math.inf, math.inf)
        said = []
        for values in self._found(replies, shown):
            numbers = {_number(value) for value in values}
            number = numbers.pop() if len(numbers) == 1 else None
            said.append(number if number is not None and low <= number <= high else None)
        return said

    def _found(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[list[Any]]:
        """What may be the answer in each reply."""
        questions = [question.text for question in shown] or [""] * len(replies)
        said = [answer(reply, asked) for reply, asked in zip(replies, questions, strict=True)]
        if isinstance(self.table, JsonTable):
            return [fields(reply, self.table.field) for reply in said]
        if isinstance(self.table, RegexTable):
            try:
                return found_by(self.table.pattern, said)
            except ValueError as exc:
                raise TopicError(
                    f"readout.pattern: {self.table.pattern!r}: {exc}; write it without repeats "
                    "inside of repeats"
                ) from exc
        return [_NUMBER.findall(_SCALE.sub(" ", reply)) for reply in said]


def fields(reply: str, path: str) -> list[Any]:
    """The values of a field in the JSON objects of a reply, in order.

    >>> fields('Sure! {"result": {"score": 7}} or {"note": 1}', "result.score")
    [7]
    """
    decoder, found, at = json.JSONDecoder(), [], reply.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            for name in path.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                found.append(value)
        at = reply.find("{", end)
    return found


def _plain(value: Any) -> str:
    """A value as it is compared with the words of the categories."""
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split()).casefold()


def _number(value: Any) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip().removesuffix("%").strip())
        value = None if match is None else float(match[0].replace(",", "").replace("−", "-"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
