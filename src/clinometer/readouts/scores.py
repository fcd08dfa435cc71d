"""Readers of a number, or a word, in a reply: in a JSON field, by a regular expression, or as it
stands."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from clinometer.errors import TopicError
from clinometer.readouts.question import ShownQuestion
from clinometer.readouts.reply import OTHER, answer, spoken, unread
from clinometer.readouts.tables import JsonTable, RatingTable, RegexTable, ScoreTable
from clinometer.storage.untrusted import found_by

MOST_OBJECTS = 1000
"""Objects that are looked for in a reply."""

SCALE = re.compile(
    r"(?:from\s+)?\b\d+\s*(?:-|–|to|through)\s*\d+\b|(?:/|\bout\s+of)\s*\d+|\bscale\s+of\s+\d+",
    re.IGNORECASE,
)
"""How a reply repeats the scale itself: "from 1 to 5", "/5"."""

NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?![\w])")


class ScoreReader:
    """The readouts `json`, `regex`, `number` and `rating`, of which a reply says one of the steps.

    >>> reader = ScoreReader(JsonTable(kind="json", field="score", scale=(0, 100)), {})
    >>> replies = ['{"score": 72.5}', '```json\\n{"score": "60"}\\n```', '{"score": 700}', "70", ""]
    >>> reader.numbers(replies)
    [72.5, 60.0, None, None, None]
    """

    def __init__(
        self, table: ScoreTable | RatingTable, attributes: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.table = table
        self._scale: tuple[float, float] | None = None
        self._step = 1.0
        if isinstance(table, ScoreTable):
            self._scale = table.scale
            self._step = table.interval
        self._categories: dict[str, int] = {}
        for y, words in enumerate(attributes.values()):
            for word in words:
                self._categories[word.casefold()] = y

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """Return the category of each reply; on a scale, the step that it is nearest to."""
        if self._scale is None:
            parts = self._parts(replies, shown)
            categories = [self._category(values) for values in parts]
        else:
            numbers = self.numbers(replies, shown)
            categories = [self._step_of(number) for number in numbers]
        return [
            unread(spoken(reply)) if category is None else category
            for reply, category in zip(replies, categories, strict=True)
        ]

    def _category(self, values: Sequence[Any]) -> int | None:
        """Return the one category that all values name."""
        categories = {self._categories.get(_plain(value), OTHER) for value in values}
        if len(categories) != 1 or OTHER in categories:
            return None
        return categories.pop()

    def _step_of(self, number: float | None) -> int | None:
        """Return the step of the scale that a number is nearest to."""
        if number is None or self._scale is None:
            return None
        return math.floor((number - self._scale[0]) / self._step + 0.5)

    def numbers(
        self, replies: Sequence[str], shown: Sequence[ShownQuestion] = ()
    ) -> list[float | None]:
        """Return the number of each reply; None where there is none, several, or one off the
        scale."""
        return [self._number_on_scale(values) for values in self._parts(replies, shown)]

    def _number_on_scale(self, values: Sequence[Any]) -> float | None:
        numbers = {_number(value) for value in values}
        if len(numbers) != 1:
            return None
        number = numbers.pop()
        low, high = self._scale or (-math.inf, math.inf)
        if number is None or not low <= number <= high:
            return None
        return number

    def _parts(
        self, replies: Sequence[str], shown: Sequence[ShownQuestion]
    ) -> list[list[Any]]:
        """Return what may be the answer in each reply."""
        questions = [question.text for question in shown] or [""] * len(replies)
        texts = [
            answer(reply, question)
            for reply, question in zip(replies, questions, strict=True)
        ]
        if isinstance(self.table, JsonTable):
            return [fields(text, self.table.field) for text in texts]
        if isinstance(self.table, RegexTable):
            try:
                return found_by(self.table.pattern, texts)
            except ValueError as exc:
                raise TopicError(
                    f"readout.pattern: {self.table.pattern!r}: {exc}; write it without repeats "
                    "inside of repeats"
                ) from exc
        return [NUMBER.findall(SCALE.sub(" ", text)) for text in texts]


def fields(reply: str, path: str) -> list[Any]:
    """Return the values of a field in the JSON objects of a reply, in order.

    >>> fields('Sure! {"result": {"score": 7}} or {"note": 1}', "result.score")
    [7]
    """
    decoder = json.JSONDecoder()
    values: list[Any] = []
    start = reply.find("{")
    for _ in range(MOST_OBJECTS):
        if start < 0:
            break
        try:
            content, end = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            value = _field(content, path)
            if value is not None:
                values.append(value)
        start = reply.find("{", end)
    return values


def _field(content: Any, path: str) -> Any:
    """Return the value of a field "a.b" of an object; None where there is none."""
    for name in path.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    return content


def _plain(value: Any) -> str:
    """Return a value as it is compared with the words of the categories."""
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split()).casefold()


def _number(value: Any) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, str):
        match = NUMBER.fullmatch(value.strip().removesuffix("%").strip())
        if match is None:
            return None
        return _finite(match[0].replace(",", "").replace("−", "-"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _finite(value)


def _finite(value: str | float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
