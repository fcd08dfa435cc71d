"""Tables as rows of strings (csv, tsv, jsonl, parquet), with one-line errors."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from clinometer.errors import TableError

Row = dict[str, Any]
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".csv.gz", ".jsonl.gz")


def read_rows(path: Path) -> list[Row]:
    """Every row of a table; the file's suffix decides its format."""
    name = path.name.removesuffix(".gz")
    try:
        if name.endswith(".parquet"):
            import pyarrow.parquet as pq

            return list(pq.read_table(path).to_pylist())
        with open_text(path) as stream:
            if name.endswith((".jsonl", ".ndjson")):
                return list(_json_lines(stream, path))
            return list(csv.DictReader(stream, dialect="excel-tab" if ".tsv" in name else "excel"))
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error


def open_text(path: Path) -> TextIO:
    """A text file, compressed or not; a byte order mark is dropped."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _json_lines(stream: TextIO, path: Path) -> Iterator[Row]:
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise TableError(f"{path}: line {number} is not a JSON object: {error.msg}") from error
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
