"""A csv file as a frame; errors name the line, as spreadsheets often write csv differently."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clinometer.errors import TableError
from clinometer.storage.untrusted import open_text

if TYPE_CHECKING:
    import pandas as pd

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
