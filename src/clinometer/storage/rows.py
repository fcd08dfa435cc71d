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

MOST_WHOLE = 64 << 20
"""Bytes of a Parquet file that is read whole."""

BATCH_ROWS = 10_000
"""Rows of a larger Parquet file that are held at once."""

WRONG_SEPARATORS = {";": "semicolons", "\t": "tabs"}
"""What stands between columns instead of commas -> its name."""

FORMULA = re.compile("'*[=+\\-@\t\r]")
"""How a cell begins that a spreadsheet takes for a formula."""


@contextmanager
def reading(path: Path | str, error: type[InputError]) -> Iterator[None]:
    """Raise one line that names the file for what goes wrong with it; errors of ours pass."""
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
        message = str(getattr(exc, "strerror", None) or exc)
        reason = " ".join(message.split())[:160]
        raise error(f"{path}: cannot be read: {reason}") from exc


def read_rows(
    path: Path, *, most: int = MOST_TEXT, loose: bool = False
) -> Iterator[Row]:
    """Yield every row of a table, also packed as .gz or .zst; the end of its name decides its
    format.

    Args:
        path: the file.
        most: bytes of a text, unpacked.
        loose: whether JSON may hold NaN, as other tools write it.
    """
    name = path.name.removesuffix(".gz").removesuffix(".zst").lower()
    if name.endswith((".jsonl", ".ndjson")):
        for _, row in json_lines(path, most=most, loose=loose):
            yield row
        return
    with reading(path, TableError):
        if name.endswith(".parquet") and path.stat().st_size < MOST_WHOLE:
            yield from read_parquet(path, most=min(most, MOST_TABLE)).to_pylist()
            return
        if name.endswith(".parquet"):
            for part in parquet_parts(path, BATCH_ROWS):
                yield from part.to_pylist()
            return
        with open_text(path, most=most) as stream:
            dialect = "excel-tab" if name.endswith(".tsv") else "excel"
            reader = csv.DictReader(stream, dialect=dialect)
            header = reader.fieldnames or ()
            check_header(path, reader.line_num, header)
            for row in reader:
                yield {name: _unquoted(value) for name, value in row.items()}


def _unquoted(value: Any) -> Any:
    """Return a cell without the quote of `no_formula`; a row may also have lists or no value."""
    return without_quote(value) if isinstance(value, str) else value


def check_header(path: Path, line: int, header: Sequence[str]) -> None:
    """Raise for names that no table has, or that something else than a comma separates."""
    check_columns(header)
    for separator, name in WRONG_SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise TableError(
                f"{path}: line {line}: expected commas between columns, found {name}; save it with "
                "commas, and with a point in numbers (0.5)"
            )


def need_columns(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Raise if a column is missing, and name it."""
    if not rows:
        raise TableError(f"{path}: expected at least one row, found none")
    missing = [name for name in columns if name not in rows[0]]
    if missing:
        present = [str(name) for name in rows[0]]
        raise TableError(
            f"{path}: expected a column {missing[0]!r}, found {', '.join(present)}"
            f"{closest(missing[0], present)}"
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
    """Yield (place, object) of each line of a file that is not blank; errors name the place."""
    with reading(path, TableError), open_text(path, most=most) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            place = f"{path}: line {number}"
            try:
                row = parse_json(line, loose=loose)
            except ValueError as exc:
                raise TableError(f"{place}: not valid JSON: {exc}") from exc
            if not isinstance(row, dict):
                start = line.strip()[:40]
                raise TableError(f"{place}: expected a JSON object, found {start!r}")
            yield place, row


def no_formula(value: object) -> object:
    """Return a cell with a quote before it if a spreadsheet would run it as a formula.

    >>> no_formula("=1+1"), no_formula("-1.5"), no_formula("")
    ("'=1+1", '-1.5', '')
    """
    if isinstance(value, str) and FORMULA.match(value) and not is_number(value):
        return "'" + value
    return value


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as csv, with nothing in its cells or its head that a spreadsheet would run.

    >>> import pandas as pd
    >>> csv_text(pd.DataFrame({"=1+1": ["@SUM(A1)", "-1.5"]}))
    "'=1+1\\n'@SUM(A1)\\n-1.5\\n"
    """
    headings = [no_formula(heading) for heading in frame]
    guarded = frame.map(no_formula).set_axis(headings, axis=1)
    # A carriage return is between quotes only where lines end with one; alone it begins a row.
    text = str(guarded.to_csv(index=False, lineterminator="\r\n"))
    return text.replace("\r\n", "\n")


def without_quote(text: str) -> str:
    """Return the text that `no_formula` was given.

    >>> without_quote("'=1+1"), without_quote("'tis"), without_quote("''=")
    ('=1+1', "'tis", "'=")
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def is_number(text: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
