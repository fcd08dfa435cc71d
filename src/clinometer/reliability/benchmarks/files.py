"""Tables as rows of strings (csv, tsv, jsonl, parquet), with one-line errors."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TextIO

from clinometer.errors import TableError
from clinometer.storage.spreadsheet import without_quote
from clinometer.storage.untrusted import MOST_TEXT, open_text, parse_json, read_parquet

Row = dict[str, Any]
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".csv.gz", ".jsonl.gz")


def read_rows(path: Path) -> list[Row]:
    """Every row of a table; the file's suffix decides its format."""
    name = path.name.removesuffix(".gz")
    try:
        if name.endswith(".parquet"):
            return list(read_parquet(path, most=MOST_TEXT).to_pylist())
        with open_text(path) as stream:
            if name.endswith((".jsonl", ".ndjson")):
                return list(_json_lines(stream, path))
            rows = csv.DictReader(stream, dialect="excel-tab" if ".tsv" in name else "excel")
            return [{c: _plain(value) for c, value in row.items()} for row in rows]
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error


def _plain(value: Any) -> Any:
    return without_quote(value) if isinstance(value, str) else value


def _json_lines(stream: TextIO, path: Path) -> Iterator[Row]:
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            why = error.msg if isinstance(error, JSONDecodeError) else error
            raise TableError(f"{path}: line {number} is not a JSON object: {why}") from error
        if not isinstance(row, dict):
            raise TableError(f"{path}: line {number}: expected a JSON object, found {line[:40]!r}")
        yield row


def need_columns(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Raise if a column is missing, and name it."""
    if not rows:
        raise TableError(f"{path}: expected at least one row, found none")
    missing = [c for c in columns if c not in rows[0]]
    if missing:
        found = ", ".join(str(c) for c in rows[0])
        raise TableError(f"{path}: expected a column {missing[0]!r}, found {found}")
