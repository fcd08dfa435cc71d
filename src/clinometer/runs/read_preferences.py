"""The table of `clinometer import table`: csv or parquet with group, context, attribute, p."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import SettingsError, TableError
from clinometer.measure import Preferences
from clinometer.measure.correction import Sampling
from clinometer.storage.untrusted import open_text, read_parquet

if TYPE_CHECKING:
    import pandas as pd


# --- A csv file as a frame; errors name the line, as spreadsheets often write csv differently ----


_SEPARATORS = {";": "semicolons", "\t": "tabs"}


def read_csv(path: Path, *, texts: Sequence[str], number: str) -> pd.DataFrame:
    """The frame of a file with commas between columns and points in numbers.

    The columns `texts` stay text ("007", "NA"); an empty `number` is missing.
    """
    import pandas as pd  # loads slowly, and the command line imports this module

    _check_separator(path)
    try:
        with open_text(path) as stream:
            frame = pd.read_csv(
                stream,
                dtype=dict.fromkeys(texts, str),
                keep_default_na=False,
                na_values={number: [""]},
            )
    except pd.errors.ParserError as damaged:
        raise _too_wide(path, number) or damaged from damaged
    # pandas treats extra leading columns as row names.
    if not isinstance(frame.index, pd.RangeIndex) and (problem := _too_wide(path, number)):
        raise problem
    return frame


def _check_separator(path: Path) -> None:
    line, header = next(_rows(path), (1, []))
    for separator, name in _SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise TableError(
                f"{path}: line {line}: expected commas between columns, found {name}; save it with "
                "commas, and with a point in numbers (0.5)"
            )


def line_of(path: Path, row: int) -> int | None:
    """The line on which a row of the frame begins; rows are counted from 0, lines from 1."""
    for number, (line, _) in enumerate(_rows(path), start=-1):
        if number == row:
            return line
    return None


def _too_wide(path: Path, number: str) -> TableError | None:
    """The error for the first row with more fields than the header."""
    rows = _rows(path)
    _, header = next(rows, (1, []))
    for line, row in rows:
        if len(row) <= len(header):
            continue
        where = f"{path}: line {line}"
        at = header.index(number) if number in header else len(header)
        split = row[at : at + 2]
        if len(split) == 2 and all(re.fullmatch(r"\s*-?\d+\s*", part) for part in split):
            return TableError(
                f'{where}: "{split[0]},{split[1]}" is not a number; write it with a point, '
                f"{split[0].strip()}.{split[1].strip()}"
            )
        return TableError(
            f"{where}: expected {len(header)} fields ({', '.join(header)}), found {len(row)}; put "
            'text that contains a comma in "quotes"'
        )
    return None


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, the header first, with the line it begins on."""
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


# --- The table of `clinometer import table`: csv or parquet with group, context, attribute, p ----


REQUIRED = ("group", "context", "attribute", "p")
OPTIONAL = ("context_weight", "group_weight", "reference")
#: Values of a whole grid, 8 bytes each: a table of distinct labels has few rows and a huge grid.
MOST_VALUES = 100_000_000


def read_table(path: str | Path, *, labels: Sequence[str] = ()) -> Preferences:
    """Read a preferences table; a combination without a row is a missing cell.

    `context_weight` may differ between groups, `reference` between groups and contexts; two values
    for one unit are an error that names the unit. `labels` are further columns with one label per
    context (predicate, source).
    """
    return from_frame(_read_frame(Path(path)), labels=labels, name=Path(path))


def from_frame(
    frame: pd.DataFrame, *, labels: Sequence[str] = (), name: str | Path = "table"
) -> Preferences:
    """The same from a pandas frame; errors call the table `name`."""
    import pandas as pd

    missing = [c for c in (*REQUIRED, *labels) if c not in frame.columns]
    if missing:
        raise TableError(
            f"{name}: expected the columns {', '.join((*REQUIRED, *labels))}; found no "
            f"{', '.join(missing)} among "
            f"{', '.join(map(str, frame.columns)) or 'no columns at all'}"
        )
    if frame.empty:
        raise TableError(f"{name}: expected at least one row, found none")
    unknown = [str(c) for c in frame.columns if c not in (*REQUIRED, *OPTIONAL, *labels)]
    if unknown:
        raise TableError(
            f"{name}: unknown columns {', '.join(unknown)}; expected {', '.join(REQUIRED)} and, if "
            f"wanted, {', '.join(OPTIONAL)} and the column of --clusters"
        )
    for column in ("group", "context", "attribute"):
        if frame[column].isna().any():
            row = int(np.flatnonzero(frame[column].isna())[0])
            raise TableError(f"{name}: {_row(name, row)}: expected a {column}, found none")
    codes = {c: pd.factorize(frame[c].astype(str), sort=False) for c in REQUIRED[:3]}
    (x, groups), (c, contexts), (y, categories) = (
        codes["group"],
        codes["context"],
        codes["attribute"],
    )
    if len(categories) < 2:
        raise TableError(
            f"{name}: expected two attributes or more, found only {categories[0]!r}; give every "
            "attribute a row with its p"
        )
    shape = (len(groups), len(contexts), len(categories))
    if math.prod(shape) > MOST_VALUES:
        raise TableError(
            f"{name}: expected at most {MOST_VALUES:,} combinations of group, context and "
            f"attribute, found {shape[0]:,} × {shape[1]:,} × {shape[2]:,}; is a column full of ids?"
        )
    flat = np.ravel_multi_index((x, c, y), shape)
    _check_repeats(flat, frame, name=name)
    values = np.full(shape, np.nan)
    values.reshape(-1)[flat] = _numbers(frame, "p", name=name)
    _check_whole_cells(values, groups, contexts, categories, name=name)
    weights = _context_weights(frame, x, c, shape, name=name)
    try:
        return Preferences(
            values=values,
            groups=tuple(groups),
            contexts=tuple(contexts),
            categories=tuple(categories),
            context_weights=weights,
            sampling=Sampling.of_counts(weights),
            group_weights=_group_weights(frame, x, shape, name=name),
            reference=_reference(frame, flat, shape, name=name),
            labels={label: _labels(frame, label, c, len(contexts), name=name) for label in labels},
        )
    except SettingsError as error:  # what is wrong is in the table
        raise TableError(f"{name}: {error}") from error


def _read_frame(path: Path) -> pd.DataFrame:

    if not path.exists():
        raise TableError(f"{path}: no such file")
    if path.is_dir():
        raise TableError(f"{path}: expected a csv or parquet file, found a folder")
    try:
        if path.suffix == ".parquet":
            frame: pd.DataFrame = read_parquet(path).to_pandas()
            return frame
        if path.name.endswith((".csv", ".csv.gz")):
            return read_csv(path, texts=REQUIRED[:3], number="p")
    except TableError:
        raise
    except (ValueError, OSError, UnicodeDecodeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise TableError(f"{path}: cannot be read as a table: {first}") from error
    raise TableError(f"{path}: expected a file named .csv, .csv.gz or .parquet")


def _numbers(frame: pd.DataFrame, column: str, *, name: str | Path) -> NDArray[np.float64]:
    import pandas as pd

    numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.isnan(numbers) & ~frame[column].isna().to_numpy()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        found = frame[column].iloc[row]
        hint = "; write it with a point" if re.fullmatch(r"-?\d+,\d+", str(found)) else ""
        raise TableError(
            f"{name}: {_row(name, row)}: expected a number in {column}, found {found!r}{hint}"
        )
    return numbers


def _row(name: str | Path, row: int) -> str:
    """The line of a csv file, which is what an editor shows; else the number of the row."""
    text = isinstance(name, Path) and name.suffix != ".parquet"
    line = line_of(Path(name), row) if text else None
    return f"row {row + 1}" if line is None else f"line {line}"


def _check_repeats(flat: NDArray[np.intp], frame: pd.DataFrame, *, name: str | Path) -> None:
    import pandas as pd

    seen = pd.Series(flat).duplicated()
    if seen.any():
        row = frame.iloc[int(np.flatnonzero(seen)[0])]
        raise TableError(
            f"{name}: group {row['group']!r}, context {row['context']!r}, attribute "
            f"{row['attribute']!r} occurs twice; keep one of the rows"
        )


def _check_whole_cells(
    values: NDArray[np.float64],
    groups: pd.Index,
    contexts: pd.Index,
    categories: pd.Index,
    *,
    name: str | Path,
) -> None:
    """A cell has all its categories or none; part of a distribution is useless."""
    there = ~np.isnan(values)
    partial = there.any(axis=2) & ~there.all(axis=2)
    if partial.any():
        x, c = (int(i[0]) for i in np.nonzero(partial))
        lacking = ", ".join(str(categories[int(k)]) for k in np.flatnonzero(~there[x, c]))
        raise TableError(
            f"{name}: group {groups[x]!r}, context {contexts[c]!r} has no p for {lacking}; give "
            "every category of a cell, or leave the whole cell out"
        )


def _per_unit(
    frame: pd.DataFrame,
    column: str,
    unit: NDArray[np.intp],
    size: int,
    *,
    what: str,
    name: str | Path,
) -> NDArray[np.float64]:
    """One number for each unit, from rows that must agree."""
    numbers = _numbers(frame, column, name=name)
    if np.isnan(numbers).any():
        row = int(np.flatnonzero(np.isnan(numbers))[0])
        raise TableError(f"{name}: {_row(name, row)} has no {column}; give one in every row")
    out = np.full(size, np.nan)
    out[unit] = numbers
    differs = out[unit] != numbers
    if differs.any():
        where = frame.iloc[int(np.flatnonzero(differs)[0])]
        raise TableError(
            f"{name}: {column}: expected one value per {what}, found two "
            f"(group {where['group']!r}, context {where['context']!r})"
        )
    return out


def _context_weights(
    frame: pd.DataFrame,
    x: NDArray[np.intp],
    c: NDArray[np.intp],
    shape: tuple[int, int, int],
    *,
    name: str | Path,
) -> NDArray[np.float64]:
    X, C, _ = shape
    if "context_weight" not in frame.columns:
        return np.ones(C)
    cell = _per_unit(frame, "context_weight", x * C + c, X * C, what="cell", name=name)
    table = cell.reshape(X, C)
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    return low if np.array_equal(low, high) else np.nan_to_num(table, nan=0.0)


def _labels(
    frame: pd.DataFrame, column: str, c: NDArray[np.intp], size: int, *, name: str | Path
) -> tuple[str, ...]:
    """One text for each context, from rows that must agree."""
    if frame[column].isna().any():
        row = int(np.flatnonzero(frame[column].isna())[0])
        raise TableError(f"{name}: {_row(name, row)} has no {column}; give one in every row")
    texts = frame[column].astype(str).to_numpy()
    out = np.empty(size, dtype=object)
    out[c] = texts
    differs = np.flatnonzero(out[c] != texts)
    if differs.size:
        where = frame.iloc[int(differs[0])]
        raise TableError(
            f"{name}: {column}: expected one value per context, found two for {where['context']!r}"
        )
    return tuple(out)


def _group_weights(
    frame: pd.DataFrame, x: NDArray[np.intp], shape: tuple[int, int, int], *, name: str | Path
) -> NDArray[np.float64]:
    if "group_weight" not in frame.columns:
        return np.ones(shape[0])
    return _per_unit(frame, "group_weight", x, shape[0], what="group", name=name)


def _reference(
    frame: pd.DataFrame, flat: NDArray[np.intp], shape: tuple[int, int, int], *, name: str | Path
) -> NDArray[np.float64] | None:
    if "reference" not in frame.columns:
        return None
    cells = _per_unit(frame, "reference", flat, int(np.prod(shape)), what="row", name=name)
    table = cells.reshape(shape)
    rows = table[~np.isnan(table).any(axis=2)]
    if (rows == rows[0]).all():
        return np.asarray(rows[0])
    # Missing cells have no p* and no weight; any valid row may fill them, as it is never read.
    return np.where(np.isnan(table), 1.0 / shape[2], table)
