"""A task: the items of a dataset, and what is asked of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clinometer.errors import SettingsError, TableError
from clinometer.storage.rows import Row, need_columns, need_unique_ids, read_rows
from clinometer.web.annotation.questions import (
    OTHER,
    QUESTIONS,
    SKIP,
    Answer,
    Mode,
    Question,
)

MOST_CATEGORIES = 8
"""Categories have the keys 1 to 9, and one of them is `other`."""

_SOURCES = (("sentence_merged",), ("sentence_1", "sentence_2"), ("sentence", "other"))
"""Columns of the pair that an item came from; the first that a row has are shown."""


@dataclass(frozen=True)
class Item:
    """A statement to judge and its source: one or two sentences, or a merged pair."""

    id: str
    text: str
    pair: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """Items and a mode; `digest` shows whether judgements belong to these items."""

    mode: Mode
    items: tuple[Item, ...]
    categories: tuple[str, ...] = ()

    @property
    def question(self) -> Question:
        """Return what is asked, with the categories of a task that has them, and `other`."""
        question = QUESTIONS[self.mode]
        if not self.categories:
            return question
        names = enumerate([*self.categories, OTHER], start=1)
        answers = [Answer(name, name, str(number)) for number, name in names]
        return replace(question, answers=(*answers, *question.answers))

    @property
    def digest(self) -> str:
        items = [[item.id, item.text, list(item.pair)] for item in self.items]
        content: list[object] = [self.mode, items]
        if self.categories:
            content.append(list(self.categories))
        text = json.dumps(content, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def read_task(
    dataset: Path,
    *,
    mode: str | None = None,
    column: str | None = None,
    categories: Sequence[str] = (),
) -> Task:
    """Read the items of a table (csv, tsv, jsonl, parquet), one per row.

    Without a mode it is blanks, or rating for a table that has sentences and no blanks. The column
    shown is `context_points`, `sentence` or `reply`, by the mode, or `column`. The pair an item
    came from is shown from `sentence_merged`, from `sentence_1` and `sentence_2`, or from
    `sentence` and `other`; beside a reply its `question`. Mode category needs `categories`. Items
    are known by `id`, otherwise by the number of their row from 0.
    """
    rows: list[Row] | None = None
    if mode is None:
        rows = list(read_rows(dataset))
        is_rating = column is None and not categories and _has_only_sentences(rows)
        mode = "rating" if is_rating else "blanks"
    if mode not in QUESTIONS:
        raise SettingsError(f"--mode: expected {', '.join(QUESTIONS)}; found {mode!r}")
    _check_categories(mode, categories)
    if rows is None:
        rows = list(read_rows(dataset))
    text_column = column or QUESTIONS[mode].column
    need_columns(dataset, rows, (text_column,))
    items: list[Item] = []
    for number, row in enumerate(rows):
        text = _text(row, text_column)
        if not text:
            raise TableError(
                f"{dataset}: row {number + 2}: expected text in {text_column!r}, found none"
            )
        pair = _texts(row, ("question",)) if mode == "category" else _pair(row, text)
        items.append(Item(_text(row, "id") or str(number), text, pair))
    need_unique_ids(dataset, [item.id for item in items])
    return Task(mode, tuple(items), tuple(categories))  # type: ignore[arg-type]


def _has_only_sentences(rows: Sequence[Row]) -> bool:
    """Return whether a table has sentences, and no blanks."""
    if any(_text(row, "context_points") for row in rows):
        return False
    return any(_text(row, "sentence") for row in rows)


def _check_categories(mode: str, categories: Sequence[str]) -> None:
    """Refuse categories without their mode, too many, and names that mean something else."""
    if (mode == "category") != bool(categories):
        raise SettingsError(
            "--categories: expected with --mode category, and only there"
        )
    different = set(categories) - {OTHER, SKIP}
    if len(different) < len(categories) or len(categories) > MOST_CATEGORIES:
        raise SettingsError(
            f"--categories: expected up to {MOST_CATEGORIES} different names, none of them {OTHER} "
            f"or {SKIP}, found {', '.join(categories)}"
        )


def _pair(row: Row, text: str) -> tuple[str, ...]:
    """Return the texts that an item came from, without its own."""
    for columns in _SOURCES:
        texts = tuple(source for source in _texts(row, columns) if source != text)
        if texts:
            return texts
    return ()


def _texts(row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of columns, without empty ones."""
    return tuple(filter(None, [_text(row, column) for column in columns]))


def _text(row: Row, column: str) -> str:
    value = row.get(column)
    return "" if value is None else str(value).strip()
