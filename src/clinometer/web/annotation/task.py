"""What is judged: the items of a dataset, and the question that a mode asks of each."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clinometer.errors import SettingsError, TableError
from clinometer.reliability.benchmarks.files import Row, need_columns, read_rows

Mode = Literal["blanks", "rating"]
SKIP = "skip"


@dataclass(frozen=True)
class Answer:
    """A button: the value it stores, its label, and its key."""

    value: str
    label: str
    key: str


@dataclass(frozen=True)
class Question:
    """The question of a mode, the column that it shows, and the answers."""

    text: str
    column: str
    answers: tuple[Answer, ...]

    @property
    def values(self) -> frozenset[str]:
        return frozenset(a.value for a in self.answers)


_SKIP = Answer(SKIP, "Skip", "s")
QUESTIONS: dict[str, Question] = {
    "blanks": Question(
        text="Does every blank stand where information could be added?",
        column="context_points",
        answers=(Answer("yes", "Yes", "y"), Answer("no", "No", "n"), _SKIP),
    ),
    "rating": Question(
        text="Is there enough context to judge this statement as it stands?",
        column="sentence",
        answers=(
            Answer("1", "1 far too little", "1"),
            Answer("2", "2 too little", "2"),
            Answer("3", "3 in between", "3"),
            Answer("4", "4 nearly enough", "4"),
            Answer("5", "5 enough", "5"),
            _SKIP,
        ),
    ),
}


@dataclass(frozen=True)
class Item:
    """A statement to judge and its source: one or two sentences, or a merged pair."""

    id: str
    text: str
    pair: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """Items and a mode; `digest` shows whether judgements belong to these items."""

    name: str
    mode: Mode
    items: tuple[Item, ...]

    @property
    def question(self) -> Question:
        return QUESTIONS[self.mode]

    @property
    def digest(self) -> str:
        content = [self.mode, [[i.id, i.text, list(i.pair)] for i in self.items]]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def read_task(
    dataset: Path, *, mode: str = "blanks", name: str | None = None, column: str | None = None
) -> Task:
    """Items of a table (csv, tsv, jsonl, parquet), one per row.

    The column shown is `context_points` or `sentence`, by the mode, or `column`. The pair an item
    came from is shown from `sentence_merged`, from `sentence_1` and `sentence_2`, or from
    `sentence` and `other`. Items are known by `id`, otherwise by the number of their row from 0.
    """
    if mode not in QUESTIONS:
        raise SettingsError(f"--mode: expected {' or '.join(QUESTIONS)}, found {mode!r}")
    rows = read_rows(dataset)
    shown = column or QUESTIONS[mode].column
    need_columns(dataset, rows, (shown,))
    items: list[Item] = []
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=2):
        text = _text(row, shown)
        if not text:
            raise TableError(f"{dataset}: row {number}: expected text in {shown!r}, found none")
        id_ = _text(row, "id") or str(number - 2)
        if id_ in seen:
            raise TableError(
                f"{dataset}: expected every id once, found {id_!r} in rows {seen[id_]} and {number}"
            )
        seen[id_] = number
        items.append(Item(id_, text, _pair(row, text)))
    stem = dataset.name.split(".")[0]
    return Task(name or f"{stem}-{mode}", mode, tuple(items))  # type: ignore[arg-type]


def _pair(row: Row, text: str) -> tuple[str, ...]:
    for columns in (("sentence_merged",), ("sentence_1", "sentence_2"), ("sentence", "other")):
        found = tuple(t for c in columns if (t := _text(row, c)) and t != text)
        if found:
            return found
    return ()


def _text(row: Row, column: str) -> str:
    value = row.get(column)
    return "" if value is None else str(value).strip()
