"""Judgements as a table: one column per annotator, or one row per judgement, without names."""

from __future__ import annotations

from pathlib import Path

from clinometer.errors import TableError
from clinometer.storage.atomic import replacing
from clinometer.storage.spreadsheet import no_formula
from clinometer.web.annotation.store import Store
from clinometer.web.annotation.task import SKIP


def export_table(store: Store, *, long: bool = False) -> list[dict[str, str]]:
    """Wide: id, the text, annotator_1, …; a skipped item is an empty cell.

    Long: id, annotator, value, comment; what was skipped has the value "skip".
    """
    column = store.task.question.column
    judgements = store.judgements()
    if long:
        return [
            {
                "id": store.item(j.place).id,
                column: store.item(j.place).text,
                "annotator": f"annotator_{j.annotator}",
                "value": j.value,
                "comment": j.comment,
            }
            for j in judgements
        ]
    numbers = [a.number for a in store.annotators()]
    values = {(j.place, j.annotator): j.value for j in judgements if j.value != SKIP}
    return [
        {
            "id": item.id,
            column: item.text,
            **{f"annotator_{n}": values.get((place, n), "") for n in numbers},
        }
        for place, item in enumerate(store.task.items)
    ]


def write_export(store: Store, path: Path, *, long: bool = False) -> int:
    """Write the table as csv, with nothing in it that a spreadsheet would run; returns the number
    of judgements."""
    import csv

    if path.suffix != ".csv":
        raise TableError(f"{path}: expected a file name that ends in .csv")
    rows = export_table(store, long=long)
    head = ["id", store.task.question.column, "annotator", "value", "comment"]
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]) if rows else head)
        writer.writeheader()
        writer.writerows({name: no_formula(v) for name, v in row.items()} for row in rows)
    return len(store.judgements())
