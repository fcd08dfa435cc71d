"""Rows of tables that others wrote (.csv, .tsv, .jsonl, .parquet), files as one-line errors, and
texts in csv files that a spreadsheet shows and does not run."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.errors import InputError, TableError, closest
from clinometer.storage.untrusted import (
    MOST_TABLE,
    MOST_TEXT,
    check_columns,
    open_text,
    parquet_parts,
    parse_json,
    read_parquet,
)

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

#: Of a larger Parquet file only so many rows are held at once.
_BATCH, _WHOLE = 10_000, 64 << 20
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


@contextmanager
def reading(path: Path | str, error: type[InputError]) -> Iterator[None]:
    """What goes wrong with a file, as one line that names it; errors of ours pass as they are."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError as exc:
        raise error(f"{path}: no such file; check the path") from exc
    except UnicodeDecodeError as exc:
        raise error(
            f"{path}: expected UTF-8, found other bytes; save the file as UTF-8"
        ) from exc
    except (OSError, EOFError, ValueError, csv.Error) as exc:
        why = " ".join(str(getattr(exc, "strerror", None) or exc).split())
        raise error(f"{path}: cannot be read: {why[:160]}") from exc


def read_rows(
    path: Path, *, most: int = MOST_TEXT, loose: bool = False
) -> Iterator[Row]:
    """Every row of a table, also packed as .gz or .zst; the end of its name decides its format.

    most    bytes of a text, unpacked
    loose   whether JSON may hold NaN, as other tools write it
    """
    name = path.name.removesuffix(".gz").removesuffix(".zst").lower()
    if name.endswith((".jsonl", ".ndjson")):
        for _, row in json_lines(path, most=most, loose=loose):
            yield row
        return
    with reading(path, TableError):
        if name.endswith(".parquet") and path.stat().st_size < _WHOLE:
            yield from read_parquet(path, most=min(most, MOST_TABLE)).to_pylist()
            return
        if name.endswith(".parquet"):
            for part in parquet_parts(path, _BATCH):
                yield from part.to_pylist()
            return
        with open_text(path, most=most) as stream:
            dialect = "excel-tab" if name.endswith(".tsv") else "excel"
            reader = csv.DictReader(stream, dialect=dialect)
            header = reader.fieldnames or ()
            check_header(path, reader.line_num, header)
            for row in reader:
                yield {
                    c: without_quote(v) if isinstance(v, str) else v
                    for c, v in row.items()
                }


def check_header(path: Path, line: int, header: Sequence[str]) -> None:
    """Raise for names that no table has, or that something else than a comma separates."""
    check_columns(header)
    for separator, name in _SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise TableError(
                f"{path}: line {line}: expected commas between columns, found {name}; save it with "
                "commas, and with a point in numbers (0.5)"
            )


def need_columns(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Raise if a column is missing, and name it."""
    if not rows:
        raise TableError(f"{path}: expected at least one row, found none")
    missing = [c for c in columns if c not in rows[0]]
    if missing:
        found = [str(c) for c in rows[0]]
        raise TableError(
            f"{path}: expected a column {missing[0]!r}, found {', '.join(found)}"
            f"{closest(missing[0], found)}"
        )


def need_unique_ids(path: Path, ids: Sequence[str]) -> None:
    """Raise if two rows have the same id, and name them; the first row is 2, after the heading."""
    rows: dict[str, int] = {}
    for number, id in enumerate(ids, start=2):
        if id in rows:
            raise TableError(
                f"{path}: expected every id once, found {id!r} in rows {rows[id]} and {number}"
            )
        rows[id] = number


def json_lines(
    path: Path, *, most: int = MOST_TEXT, loose: bool = False
) -> Iterator[tuple[str, Row]]:
    """The object on each line of a file that is not blank, after the name of its place for
    errors."""
    with reading(path, TableError), open_text(path, most=most) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            where = f"{path}: line {number}"
            try:
                row = parse_json(line, loose=loose)
            except ValueError as exc:
                raise TableError(f"{where}: not valid JSON: {exc}") from exc
            if not isinstance(row, dict):
                found = line.strip()[:40]
                raise TableError(f"{where}: expected a JSON object, found {found!r}")
            yield where, row


# --- For spreadsheets ---------------------------------------------------------------------------


#: How a cell begins that a spreadsheet takes for a formula.
_FORMULA = re.compile("'*[=+\\-@\t\r]")


def no_formula(value: object) -> object:
    """A text that a spreadsheet would run as a formula gets a quote before it.

    >>> no_formula("=1+1"), no_formula("-1.5"), no_formula("")
    ("'=1+1", '-1.5', '')
    """
    if isinstance(value, str) and _FORMULA.match(value) and not is_number(value):
        return "'" + value
    return value


def csv_text(frame: pd.DataFrame) -> str:
    """A table as csv, with nothing in its cells or its head that a spreadsheet would run.

    >>> import pandas as pd
    >>> csv_text(pd.DataFrame({"=1+1": ["@SUM(A1)", "-1.5"]}))
    "'=1+1\\n'@SUM(A1)\\n-1.5\\n"
    """
    guarded = frame.map(no_formula).set_axis(list(map(no_formula, frame)), axis=1)
    # A carriage return is between quotes only where lines end with one; alone it begins a row.
    return str(guarded.to_csv(index=False, lineterminator="\r\n")).replace("\r\n", "\n")


def without_quote(text: str) -> str:
    """What `no_formula` was given.

    >>> without_quote("'=1+1"), without_quote("'tis"), without_quote("''=")
    ('=1+1', "'tis", "'=")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
