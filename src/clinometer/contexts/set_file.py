"""The file of a context set: a table of templates and counts, and a sidecar .json beside it.

A set is stored as a .csv (or .csv.gz) file with the columns template and count, and a sidecar .json
that says where the set comes from. Your own may be simpler: a .csv file without counts, or a .txt
file with one sentence per line; its sentences weigh the same.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinometer.contexts.metadata import Sidecar
from clinometer.errors import ContextError
from clinometer.storage.atomic import output_file
from clinometer.storage.rows import is_number, no_formula, reading, without_quote
from clinometer.storage.untrusted import (
    MOST_RECORD,
    check_columns,
    read_bytes,
    read_text,
)

COLUMNS = ("template", "count")

WRITTEN = (".csv", ".csv.gz")
"""Endings of files that are written."""

READ = (*WRITTEN, ".txt")
"""Endings of files that are read."""

_AS_COUNT = ("proportion", "frequency")
"""What the BVF authors' files call the count."""


@dataclass(frozen=True)
class StoredTable:
    """The content of a .csv or .txt file."""

    templates: list[str]
    counts: list[float]

    extra: dict[str, list[str]]
    """Further columns of text."""

    lines: list[int]
    """The line of the file on which each template begins."""


def write_count(count: float) -> str:
    """Return a count as text that reads back as the same number: 2142, 0.5.

    >>> write_count(2142.0), write_count(0.1)
    ('2142', '0.1')
    """
    return str(int(count)) if count.is_integer() and count < 2**53 else repr(count)


def sidecar_of(path: Path, *, label: str, endings: Sequence[str] = WRITTEN) -> Path:
    """Return the path of the sidecar; a file with another ending is refused."""
    for ending in endings:
        if path.name.endswith(ending) and path.name != ending:
            return path.with_name(path.name.removesuffix(ending) + ".json")
    raise ContextError(f"{label}: expected a file that ends in {' or '.join(endings)}")


def write_set(
    path: Path,
    sidecar: Path,
    *,
    columns: Mapping[str, Sequence[str]],
    about: Mapping[str, Any],
) -> None:
    """Write a .csv or .csv.gz file with these columns, then its sidecar, each atomically."""
    content = _csv_bytes(columns)
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)  # the same content, the same file
    try:
        text = json.dumps(about, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    except (TypeError, ValueError) as exc:
        raise ContextError(
            f"{sidecar}: the metadata cannot be written as JSON: {exc}"
        ) from exc
    for file, data in ((path, content), (sidecar, text.encode())):
        with output_file(file, error=ContextError) as draft:
            draft.write_bytes(data)


def _csv_bytes(columns: Mapping[str, Sequence[str]]) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([no_formula(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        writer.writerow([no_formula(value) for value in row])
    return buffer.getvalue().encode()


def read_sidecar(sidecar: Path) -> Sidecar:
    """Read a sidecar; one that says nothing if there is none."""
    if not sidecar.exists():
        return Sidecar()
    with reading(sidecar, ContextError):
        data = read_bytes(sidecar, most=MOST_RECORD)
    return Sidecar.from_json(data, sidecar, error=ContextError)


def read_table(path: Path, *, label: str) -> StoredTable:
    """Read a .csv, .csv.gz or .txt file; `label` begins every error message."""
    content = read_text(path, shown=label, kind=".csv or .txt", error=ContextError)
    is_txt = path.suffix == ".txt"
    rows = _sentences(content) if is_txt else _rows(content, label=label)
    _, header = next(rows)
    columns: dict[str, list[str]] = {column: [] for column in header}
    table = StoredTable(columns["template"], [], _extra(columns), [])
    for line, row in rows:
        for column, text in zip(columns.values(), row, strict=True):
            column.append(without_quote(text))
        count = columns["count"][-1] if "count" in columns else "1"
        table.counts.append(_checked_count(count, place=f"{label}: line {line}"))
        table.lines.append(line)
    if not table.templates:
        raise ContextError(f"{label}: expected at least one template, found none")
    if "count" not in columns:
        _check_no_numbers(table, label)
    return table


def _extra(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: cells for name, cells in columns.items() if name not in COLUMNS}


def _check_no_numbers(table: StoredTable, label: str) -> None:
    """Refuse a column of numbers where none is the count: it may be the count."""
    for column, cells in table.extra.items():
        if all(_count(cell) is not None for cell in cells):
            raise ContextError(
                f"{label}: expected a column count beside numbers, found {column}; rename it to "
                "count, or add a column count of 1 if it is something else"
            )


def _sentences(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield a header, then each line that is not blank, as `_rows` would."""
    yield 0, ["template"]
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, [line]


def _rows(text: str, *, label: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the header, then every row that is not blank, each with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    next_line = 1
    try:
        for cells in reader:
            line = next_line
            next_line = reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = _header(cells, place=f"{label}: line {line}")
                yield line, header
                continue
            if len(cells) != len(header):
                raise ContextError(
                    f"{label}: line {line}: expected {len(header)} fields ({', '.join(header)}), "
                    f'found {len(cells)}; put a template that contains a comma in "quotes"'
                )
            yield line, cells
    except csv.Error as exc:
        raise ContextError(f"{label}: line {next_line}: not valid CSV: {exc}") from exc
    if not header:
        raise ContextError(f"{label}: expected a column template, found an empty file")


def _header(cells: Sequence[str], *, place: str) -> list[str]:
    """Return the names of the columns; without a column template they are refused."""
    header = [without_quote(cell.strip()) for cell in cells]
    if "count" not in header:
        header = ["count" if name in _AS_COUNT else name for name in header]
    try:
        check_columns(header)
    except ValueError as error:
        raise ContextError(f"{place}: {error}") from error
    if "template" not in header:
        raise ContextError(
            f"{place}: expected the columns template and (if known) count, found "
            f"{', '.join(header)}; rename the column that holds the template to template, or put "
            "one sentence on each line of a .txt file"
        )
    if "" in header:
        raise ContextError(
            f"{place}: expected a name for every column, found none for one"
        )
    return header


def _checked_count(text: str, *, place: str) -> float:
    count = _count(text)
    if count is None:
        raise ContextError(
            f"{place}: count: expected a number above 0, found {text[:40]!r}"
        )
    return count


def _count(text: str) -> float | None:
    """Return the number, or None if it is not a finite number above 0."""
    count = float(text) if is_number(text) and "_" not in text else 0.0
    return count if count > 0 else None
