"""Decisions about people as they came: rates and means by group, and nothing about their cause.

Each person was seen once, as who they are, so there is no same case with another person: no swing,
no dice, and no telling the group from all that differs with it. What can be said is how often each
group was selected, against the group that was selected most often (impact ratio), with intervals.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import numpy as np

from clinometer.bridges.breakdown import Breakdown, break_down
from clinometer.bridges.imported import file_digest
from clinometer.bridges.reply_files import MOST_BYTES, Row
from clinometer.bridges.reply_table import LARGEST_SCORE
from clinometer.display.text import Plain, visible
from clinometer.errors import SettingsError, TableError
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.rows import need_columns, read_rows
from clinometer.tables import Table

MOST_CATEGORIES = 200
"""Different values of a column of groups: more are ids."""

_UNKNOWN = {
    "",
    "unknown",
    "n/a",
    "na",
    "nan",
    "none",
    "null",
    "not specified",
    "not stated",
    "undisclosed",
    "prefer not to say",
}
"""How tables write that a group is not known."""

NO_CAUSE = (
    "No swing and no cause can be read from this: each person was seen once, with all that differs "
    "between groups. 'clinometer audit' asks about the same case with another person."
)


@dataclass(frozen=True)
class Decisions(Plain):
    """Decisions by each of the columns, and by all of them together."""

    outcome: str
    """What was looked at: "decision = yes", or the column of scores."""

    median: float | None
    """The median of all scores; None where decisions are yes or no."""

    breakdowns: tuple[Breakdown, ...]

    people: int
    """The number of rows of the file."""

    file: str
    sha256: str
    date: str
    level: float

    test_data: str = ""
    """Why the people were made up; "" where that is not said."""

    @property
    def note(self) -> str:
        """Return what a table of these decisions rests on, and what it is not."""
        rate = self.outcome
        if self.median is not None:
            rate = f"{self.outcome} above {self.median:g}"
        data = "as the file has them"
        if self.test_data:
            data = f"test data: {self.test_data}"
        return (
            f"Rate: {rate}, of {self.people:,} people ({data}); impact ratio: rate over the "
            f"highest. Source: {self.file} (sha256 {self.sha256[:12]}), computed on {self.date}; "
            f"{100 * self.level:g} % intervals (Wilson, Newcombe, Donner-Zou). 6 RCNY § 5-300 (New "
            f"York City) defines rate and ratio so, and sets no limit. {NO_CAUSE}"
        )

    def tables(self) -> list[Table]:
        """Return one table for each breakdown."""
        return [
            breakdown.table(" ".join([*breakdown.remarks(), self.note]))
            for breakdown in self.breakdowns
        ]

    def sentences(self) -> list[str]:
        """Return one sentence for each breakdown, and what cannot be said."""
        return [*(breakdown.sentence() for breakdown in self.breakdowns), NO_CAUSE]


def import_decisions(
    path: str | Path,
    *,
    by: Sequence[str],
    selected: str | None = None,
    score: str | None = None,
    test_data: str = "",
    level: float = 0.95,
) -> Decisions:
    """Return rates, or means, of a table with one row per person.

    Args:
        path: .csv, .tsv, .jsonl or .parquet (also .gz).
        by: the columns of groups, such as sex and race.
        selected: the decision that counts: "COLUMN=VALUE", or a value that only one column has.
        score: instead, the column of a number; its rate is the share above the median.
        test_data: if the people were made up, why.
        level: of the intervals.
    """
    if (selected is None) == (score is None):
        raise SettingsError(
            "expected --selected VALUE or --score COLUMN, one of the two"
        )
    if not by or len(set(by)) < len(by):
        raise SettingsError(
            "--by: expected the columns of groups, each once, such as sex,race"
        )
    file = Path(path)
    rows = list(read_rows(file, most=MOST_BYTES, loose=True))
    need_columns(file, rows, [*by, *([score] if score else [])])
    if score:
        outcome = score
        values = _scores(file, rows, score)
    else:
        column, value = _selection(file, rows, selected or "", by)
        outcome = f"{column} = {value}"
        values = _selections(file, rows, column, value)
    decided = values[~np.isnan(values)]
    if not decided.size:
        raise TableError(f"{file}: expected decisions in {outcome}, found none")
    median = float(np.median(decided)) if score else None
    breakdowns = []
    for size in range(1, len(by) + 1):
        for columns in combinations(by, size):
            groups, unknown = _by_group(file, rows, values, columns)
            breakdown = break_down(
                groups,
                columns,
                median=median,
                level=level,
                unknown=unknown,
                breakdowns=2 ** len(by) - 1,
            )
            breakdowns.append(breakdown)
    return Decisions(
        outcome=outcome,
        median=median,
        breakdowns=tuple(breakdowns),
        people=len(rows),
        file=visible(file.name),
        sha256=file_digest(file),
        date=datetime.now(UTC).date().isoformat(),
        level=level,
        test_data=test_data,
    )


def _selection(
    file: Path, rows: Sequence[Row], selected: str, by: Sequence[str]
) -> tuple[str, str]:
    """Return the column of decisions and the decision that counts."""
    column, sign, value = selected.partition("=")
    if sign and column in rows[0]:
        return column, value
    columns = [
        column
        for column in rows[0]
        if column not in by and any(_text(row.get(column)) == selected for row in rows)
    ]
    if len(columns) != 1:
        where = f"in {', '.join(columns)}" if columns else "in no column"
        raise TableError(
            f"{file}: --selected: expected a value that one column has, found {selected!r} "
            f"{where}; write COLUMN=VALUE; the columns are {', '.join(_most_common(rows[0]))}"
        )
    return columns[0], selected


def _selections(file: Path, rows: Sequence[Row], column: str, value: str) -> FloatArray:
    """Return 1 where the decision is the selected one, 0 where it is another, NaN where there is
    none."""
    texts = [_text(row.get(column)) for row in rows]
    if value not in texts:
        raise TableError(
            f"{file}: expected {value!r} in {column}, found {', '.join(_most_common(texts))}"
        )
    return np.array([float(text == value) if text else math.nan for text in texts])


def _scores(file: Path, rows: Sequence[Row], column: str) -> FloatArray:
    """Return the numbers; NaN where the column is empty."""
    numbers = []
    for number, row in enumerate(rows, start=1):
        text = _text(row.get(column))
        try:
            value = float(text) if text else math.nan
        except ValueError:
            value = math.inf
        if abs(value) > LARGEST_SCORE:
            raise TableError(
                f"{file}: row {number}: expected a number in {column}, found {text[:40]!r}"
            )
        numbers.append(value)
    return np.array(numbers)


def _by_group(
    file: Path, rows: Sequence[Row], values: FloatArray, columns: Sequence[str]
) -> tuple[dict[str, FloatArray], int]:
    """Return the values of each group in the order of their names, and how many people are in
    none."""
    groups: dict[str, list[float]] = defaultdict(list)
    unknown = 0
    for row, value in zip(rows, values.tolist(), strict=True):
        texts = [_text(row.get(column)) for column in columns]
        if any(text.casefold() in _UNKNOWN for text in texts):
            unknown += 1
        else:
            groups[" · ".join(texts)].append(value)
        if len(groups) > MOST_CATEGORIES:
            raise TableError(
                f"{file}: expected at most {MOST_CATEGORIES} groups by {' and '.join(columns)}, "
                "found more; is a column full of ids?"
            )
    return {name: np.array(groups[name]) for name in sorted(groups)}, unknown


def _text(value: object) -> str:
    return "" if value is None or value != value else str(value).strip()


def _most_common(texts: Iterable[str]) -> list[str]:
    return [text[:20] or "nothing" for text, _ in Counter(texts).most_common(5)]
