"""Your own table (csv, tsv, jsonl, parquet), or the COBIAS dataset, which has the same columns.

Columns: `sentence` (or `text`); optionally `id`, `target_term` (several are separated by `;`),
`context_points` (the sentence with blanks), `category` (or `bias_type`), `other` and `direction`.
A sentence in the notation "(a | b) …" is a merged pair: its first side is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clinometer.errors import TableError
from clinometer.reliability.benchmarks.files import Row, need_columns, read_rows
from clinometer.reliability.blank_notation import Blanks
from clinometer.reliability.pair_merge import Merged, merge, target_term
from clinometer.reliability.statement import Statement

COBIAS_COLUMNS = ("id", "sentence", "target_term", "context_points")


def read_table_of_statements(path: Path) -> list[Statement]:
    """One statement per row."""
    rows = read_rows(path)
    if rows and "sentence" not in rows[0] and "context_points" in rows[0]:
        rows = [{**row, "sentence": Blanks.parse(str(row["context_points"])).plain} for row in rows]
    if not (rows and "text" in rows[0]):
        need_columns(path, rows, ("sentence",))
    name = path.name.split(".")[0]
    source = "cobias" if set(COBIAS_COLUMNS) <= set(rows[0]) else name
    found = [_statement(i, row, source) for i, row in enumerate(rows)]
    seen: dict[str, int] = {}
    for number, statement in enumerate(found, start=2):
        if not any(c.isalnum() for c in statement.text):
            raise TableError(
                f"{path}: row {number}: expected a sentence with words, found {statement.text!r}; "
                "correct the row or remove it"
            )
        if statement.id in seen:
            raise TableError(
                f"{path}: expected every id once, found {statement.id!r} in rows "
                f"{seen[statement.id]} and {number}"
            )
        seen[statement.id] = number
    return found


def statement_row(statement: Statement) -> Row:
    """A statement as a row that `load` reads back, with its pair merged for people to read."""
    other = statement.other
    return {
        "id": statement.id,
        "sentence": statement.text,
        "target_term": "; ".join(statement.targets),
        "context_points": statement.points,
        "category": statement.category,
        "source": statement.source,
        "other": other,
        "direction": statement.direction,
        "merged": "" if other is None else str(merge(statement.text, other)),
    }


def _statement(index: int, row: Row, source: str) -> Statement:
    text = _string(row, ("sentence", "text")) or ""
    other = _string(row, ("other",))
    targets = tuple(t.strip() for t in (_string(row, ("target_term",)) or "").split(";"))
    points = _string(row, ("context_points",))
    merged = Merged.parse(text)
    if merged.spans:
        if not any(targets):
            targets = (target_term(merged) or "",)
        text, other = merged.side(0), other or merged.side(1)
        points = points if points is None else Merged.parse(points).side(0)
    return Statement(
        id=_string(row, ("id",)) or str(index),
        text=text,
        targets=tuple(t for t in targets if t),
        points=points,
        category=_string(row, ("category", "bias_type")),
        source=_string(row, ("source",)) or source,
        other=other,
        direction=_string(row, ("direction",)),
    )


def _string(row: Row, names: Sequence[str]) -> str | None:
    for name in names:
        value = row.get(name)
        if value is not None and str(value) != "":
            return str(value)
    return None
