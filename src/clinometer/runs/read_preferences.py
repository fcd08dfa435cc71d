"""The table that `clinometer import table` reads: csv, parquet or a frame.

It has the columns group, context, attribute and p. Errors in a csv file name the line, as
spreadsheets often write csv differently.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.errors import SettingsError, TableError
from clinometer.measure import Preferences, RiskReport
from clinometer.measure.frame import REQUIRED, FrameArrays, read_frame
from clinometer.storage.rows import check_header, reading
from clinometer.storage.untrusted import open_text, read_parquet

if TYPE_CHECKING:
    import pandas as pd


def _read_csv(path: Path) -> pd.DataFrame:
    """Read a file with commas between columns and points in numbers.

    Names stay text ("007", "NA"); an empty p is missing.
    """
    import pandas as pd  # loads slowly, and the command line imports this module

    line, header = next(_rows(path), (1, []))
    check_header(path, line, header)
    try:
        with open_text(path) as stream:
            frame = pd.read_csv(
                stream,
                dtype=dict.fromkeys(REQUIRED[:3], str),
                keep_default_na=False,
                na_values={"p": [""]},
            )
    except pd.errors.ParserError as damaged:
        raise _too_wide(path) or damaged from damaged
    # pandas treats extra leading columns as row names.
    if not isinstance(frame.index, pd.RangeIndex):
        problem = _too_wide(path)
        if problem is not None:
            raise problem
    return frame


def _too_wide(path: Path) -> TableError | None:
    """Return the error for the first row with more fields than the header."""
    rows = _rows(path)
    _, header = next(rows, (1, []))
    for line, row in rows:
        if len(row) > len(header):
            return TableError(f"{path}: line {line}{_too_many_fields(header, row)}")
    return None


def _too_many_fields(header: list[str], row: list[str]) -> str:
    """Return what is wrong with a row: a decimal comma, or a text that contains a comma."""
    p = header.index("p") if "p" in header else len(header)
    fields = row[p : p + 2]
    digits = [re.fullmatch(r"\s*-?\d+\s*", field) for field in fields]
    if len(fields) == 2 and all(digits):
        whole, decimals = fields
        return (
            f': "{whole},{decimals}" is not a number; write it with a point, '
            f"{whole.strip()}.{decimals.strip()}"
        )
    return (
        f": expected {len(header)} fields ({', '.join(header)}), found {len(row)}; put "
        'text that contains a comma in "quotes"'
    )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, the header first, with the line it begins on."""
    with open_text(path, errors="replace") as stream:
        reader = csv.reader(stream)
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except (StopIteration, csv.Error):
                return
            if row:
                yield line, row


def read_table(
    table: pd.DataFrame | str | Path, *, labels: Sequence[str] = ()
) -> Preferences:
    """Read a table of preferences, a frame or a csv or parquet file.

    A combination without a row is a missing cell.
    `context_weight` may differ between groups, `reference` between groups and contexts; two values
    for one unit are an error that names the unit. `labels` are further columns with one label per
    context (predicate, source).
    """
    if not isinstance(table, str | Path):
        return _preferences(read_frame(table, labels=labels), "table")
    file = Path(table)

    def row_name(row: int) -> str:
        """Return the line of a csv file, which is what an editor shows; else the number of the
        row."""
        lines = []
        if file.suffix != ".parquet":
            lines = [line for line, _ in _rows(file)]
        if row + 1 < len(lines):  # the header is the first
            return f"line {lines[row + 1]}"
        return f"row {row + 1}"

    frame = _read_frame(file)
    return _preferences(
        read_frame(frame, labels=labels, name=str(file), row_name=row_name), file
    )


def risks(
    table: pd.DataFrame | str | Path,
    *,
    labels: Sequence[str] = (),
    criterion: str | None = None,
    **how: Any,
) -> RiskReport:
    """Return risks with intervals of a table of preferences: a frame, or a csv or parquet file.

    Args:
        table: one row per group, context and attribute with its p; see `read_table`.
        labels: further columns with one label per context.
        criterion: as for `decompose`; "ratio:2" has a norm, and "raw" is the paper's raw equations.
        how: level and clusters, as for `Preferences.estimate`.

    >>> import pandas as pd
    >>> rows = [("nurse", f"context {c}", y, p) for c in range(40)
    ...         for y, p in (("she", 0.7 + c % 4 / 10), ("he", 0.3 - c % 4 / 10))]
    >>> risks(pd.DataFrame(rows, columns=["group", "context", "attribute", "p"])).R
    0.700 (0.628 to 0.772)
    """
    return replace(read_table(table, labels=labels), criterion=criterion).estimate(
        **how
    )


def _preferences(table: FrameArrays, name: str | Path) -> Preferences:
    try:
        return Preferences(**vars(table))
    except SettingsError as error:  # what is wrong is in the table
        raise TableError(f"{name}: {error}") from error


def _read_frame(path: Path) -> pd.DataFrame:
    if path.is_dir():
        raise TableError(f"{path}: expected a csv or parquet file, found a folder")
    with reading(path, TableError):
        path.stat()  # that it is missing is said before what is wrong with its name
        if path.suffix == ".parquet":
            frame: pd.DataFrame = read_parquet(path).to_pandas()
            return frame
        if path.name.endswith((".csv", ".csv.gz")):
            return _read_csv(path)
    raise TableError(f"{path}: expected a file named .csv, .csv.gz or .parquet")
