"""What is judged: the items of a dataset, and the question that a mode asks of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from clinometer.errors import SettingsError, TableError
from clinometer.storage.rows import Row, need_columns, need_unique_ids, read_rows

Mode = Literal["blanks", "rating", "category"]
SKIP = "skip"


@dataclass(frozen=True)
class Answer:
    """A button: the value it stores, its label, and its key."""

    value: str
    label: str
    key: str


@dataclass(frozen=True)
class Question:
    """The question of a mode, the column that it shows, the answers, and what a high one says of
    the context of a statement, where it says something."""

    text: str
    column: str
    answers: tuple[Answer, ...]
    high: str = ""

    @property
    def values(self) -> frozenset[str]:
        return frozenset(a.value for a in self.answers)


_SKIP = Answer(SKIP, "Skip", "s")
OTHER = "other"
#: Categories have the keys 1 to 9.
MOST_CATEGORIES = 8
QUESTIONS: dict[str, Question] = {
    "blanks": Question(
        text="Does every blank stand where information could be added?",
        column="context_points",
        answers=(Answer("yes", "Yes", "y"), Answer("no", "No", "n"), _SKIP),
    ),
    "rating": Question(
        text="Is there enough context to judge this statement as it stands?",
        column="sentence",
        high="enough",
        answers=(
            Answer("1", "1 far too little", "1"),
            Answer("2", "2 too little", "2"),
            Answer("3", "3 in between", "3"),
            Answer("4", "4 nearly enough", "4"),
            Answer("5", "5 enough", "5"),
            _SKIP,
        ),
    ),
    "category": Question(
        text="Which of these does the reply say?", column="reply", answers=(_SKIP,)
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
    categories: tuple[str, ...] = ()

    @property
    def question(self) -> Question:
        """What is asked, with the categories of a task that has them, and `other`."""
        asked = QUESTIONS[self.mode]
        names = (*self.categories, OTHER) if self.categories else ()
        answers = tuple(Answer(name, name, str(i)) for i, name in enumerate(names, start=1))
        return replace(asked, answers=(*answers, *asked.answers))

    @property
    def digest(self) -> str:
        content: list[object] = [self.mode, [[i.id, i.text, list(i.pair)] for i in self.items]]
        if self.categories:
            content.append(list(self.categories))
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def read_task(
    dataset: Path,
    *,
    mode: str | None = None,
    name: str | None = None,
    column: str | None = None,
    categories: Sequence[str] = (),
) -> Task:
    """Items of a table (csv, tsv, jsonl, parquet), one per row.

    Without a mode it is blanks, or rating for a table that has sentences and no blanks. The column
    shown is `context_points`, `sentence` or `reply`, by the mode, or `column`. The pair an item
    came from is shown from `sentence_merged`, from `sentence_1` and `sentence_2`, or from
    `sentence` and `other`; beside a reply its `question`. Mode category needs `categories`. Items
    are known by `id`, otherwise by the number of their row from 0.
    """
    rows: list[Row] | None = None
    if mode is None:
        rows = list(read_rows(dataset))
        blank = any(_text(row, "context_points") for row in rows)
        unmarked = any(_text(row, "sentence") for row in rows) and not blank and column is None
        mode = "rating" if unmarked and not categories else "blanks"
    if mode not in QUESTIONS:
        raise SettingsError(f"--mode: expected {', '.join(QUESTIONS)}; found {mode!r}")
    if (mode == "category") != bool(categories):
        raise SettingsError("--categories: expected with --mode category, and only there")
    if len(set(categories) - {OTHER, SKIP}) < len(categories) or len(categories) > MOST_CATEGORIES:
        raise SettingsError(
            f"--categories: expected up to {MOST_CATEGORIES} different names, none of them {OTHER} "
            f"or {SKIP}, found {', '.join(categories)}"
        )
    rows = list(read_rows(dataset)) if rows is None else rows
    shown = column or QUESTIONS[mode].column
    need_columns(dataset, rows, (shown,))
    items: list[Item] = []
    for number, row in enumerate(rows):
        text = _text(row, shown)
        if not text:
            raise TableError(f"{dataset}: row {number + 2}: expected text in {shown!r}, found none")
        source = (_text(row, "question"),) if mode == "category" else _pair(row, text)
        items.append(Item(_text(row, "id") or str(number), text, tuple(filter(None, source))))
    need_unique_ids(dataset, [item.id for item in items])
    stem = dataset.name.split(".")[0]
    return Task(name or f"{stem}-{mode}", mode, tuple(items), tuple(categories))  # type: ignore[arg-type]


def _pair(row: Row, text: str) -> tuple[str, ...]:
    for columns in (("sentence_merged",), ("sentence_1", "sentence_2"), ("sentence", "other")):
        found = tuple(t for c in columns if (t := _text(row, c)) and t != text)
        if found:
            return found
    return ()


def _text(row: Row, column: str) -> str:
    value = row.get(column)
    return "" if value is None else str(value).strip()
