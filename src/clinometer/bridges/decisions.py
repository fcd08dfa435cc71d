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
from typing import Any

import numpy as np

from clinometer.bridges.imported import file_digest
from clinometer.bridges.replies import MOST_BYTES, Row
from clinometer.display.numbers import between, p_relation, show
from clinometer.display.text import Plain, proper, visible
from clinometer.errors import SettingsError, TableError
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate, with_ends
from clinometer.statistics.intervals.shares import difference, ratio, share
from clinometer.statistics.intervals.student import student_mean, welch_difference
from clinometer.storage.rows import need_columns, read_rows
from clinometer.tables import Table

#: Categories with less than this share of the people are named, and compared with nothing.
SMALL = 0.02
#: Different values of a column of groups: more are ids.
MOST_CATEGORIES = 200
#: How tables write that a group is not known.
_UNKNOWN = {"", "unknown", "n/a", "na", "nan", "none", "null", "not specified", "not stated",
            "undisclosed", "prefer not to say"}  # fmt: skip

NO_CAUSE = (
    "No swing and no cause can be read from this: each person was seen once, with all that differs "
    "between groups. 'clinometer audit' asks about the same case with another person."
)


@dataclass(frozen=True)
class GroupRate(Plain):
    """What was decided about a group.

    n           people whose decision is known; `missing` more have none
    rate        share that was selected; of scores, share above the median of all
    mean        mean score, with Student's interval; None where decisions are yes or no
    ratio       rate over that of the group with the highest rate (its own is 1, exactly)
    difference  rate, or mean, minus that of the same group
    small       with less than 2 % of the people: compared with nothing
    """

    group: str
    n: int
    missing: int
    rate: Estimate | None
    mean: Estimate | None = None
    ratio: Estimate | None = None
    difference: Estimate | None = None
    small: bool = False


@dataclass(frozen=True)
class Breakdown(Plain):
    """The rates by one column, or by several together.

    unknown  people who are left out, because a column says nothing about them
    p        of equal rates (means) in all groups but small ones, times the number of breakdowns
    """

    by: tuple[str, ...]
    groups: tuple[GroupRate, ...]
    unknown: int
    p: float | None

    @property
    def highest(self) -> GroupRate | None:
        """The group that the others are compared with."""
        rated = [g for g in self.groups if g.rate is not None and not g.small]
        return max(rated, key=lambda g: g.rate.value if g.rate else 0.0, default=None)

    def table(self, note: str) -> Table:
        """One row a group."""
        import pandas as pd

        rows = []
        for group in self.groups:
            row: dict[str, Any] = {
                "group": group.group,
                "n": group.n,
                "missing": group.missing,
            }
            for name in ("mean", "rate", "ratio", "difference"):
                value: Estimate | None = getattr(group, name)
                of_rates = name == "difference" and group.mean is None
                if value is not None or name != "mean":
                    row |= with_ends(
                        "rate_difference" if of_rates else _COLUMNS[name], value
                    )
            rows.append(row)
        key, title = "-".join(self.by), f"Impact ratios by {' and '.join(self.by)}"
        return Table(f"impact-ratios-{key}", title, pd.DataFrame(rows), note)


_COLUMNS = {"mean": "mean_score", "rate": "selection_rate", "ratio": "impact_ratio",
            "difference": "difference"}  # fmt: skip


@dataclass(frozen=True)
class Decisions(Plain):
    """Decisions by each of the columns, and by all of them together.

    outcome    what was looked at: "decision = yes", or the column of scores
    median     of all scores; None where decisions are yes or no
    people     rows of the file
    test_data  why the people were made up; "" where that is not said
    """

    outcome: str
    median: float | None
    breakdowns: tuple[Breakdown, ...]
    people: int
    file: str
    sha256: str
    date: str
    level: float
    test_data: str = ""

    @property
    def note(self) -> str:
        """For a table: what it rests on, and what it is not."""
        rate = (
            self.outcome
            if self.median is None
            else f"{self.outcome} above {self.median:g}"
        )
        data = (
            f"test data: {self.test_data}" if self.test_data else "as the file has them"
        )
        return (
            f"Rate: {rate}, of {self.people:,} people ({data}); impact ratio: rate over the "
            f"highest. Source: {self.file} (sha256 {self.sha256[:12]}), computed on {self.date}; "
            f"{100 * self.level:g} % intervals (Wilson, Newcombe, Donner-Zou). 6 RCNY § 5-300 (New "
            f"York City) defines rate and ratio so, and sets no limit. {NO_CAUSE}"
        )

    def tables(self) -> list[Table]:
        """One for each breakdown."""
        return [
            one.table(" ".join((*self._about(one), self.note)))
            for one in self.breakdowns
        ]

    def sentences(self) -> list[str]:
        """One for each breakdown, and what cannot be said."""
        return [" ".join((_sentence(b), *self._about(b))) for b in self.breakdowns] + [
            NO_CAUSE
        ]

    @staticmethod
    def _about(one: Breakdown) -> list[str]:
        small = [group.group for group in one.groups if group.small]
        said = (
            [f"Small, and compared with nothing: {', '.join(small)}."] if small else []
        )
        return (
            [*said, f"Unknown {' or '.join(one.by)}: {one.unknown:,}."]
            if one.unknown
            else said
        )


def import_decisions(
    path: str | Path,
    *,
    by: Sequence[str],
    selected: str | None = None,
    score: str | None = None,
    test_data: str = "",
    level: float = 0.95,
) -> Decisions:
    """Rates, or means, of a table with one row per person.

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
    outcome, values = (
        _scores(file, rows, score)
        if score
        else _selections(file, rows, selected or "", by)
    )
    known = values[~np.isnan(values)]
    if not known.size:
        raise TableError(f"{file}: expected decisions in {outcome}, found none")
    median = float(np.median(known)) if score else None
    kinds = [k for size in range(1, len(by) + 1) for k in combinations(by, size)]
    made = [
        _breakdown(file, rows, values, kind, median, level, len(kinds))
        for kind in kinds
    ]
    return Decisions(
        outcome=outcome,
        median=median,
        breakdowns=tuple(made),
        people=len(rows),
        file=visible(file.name),
        sha256=file_digest(file),
        date=datetime.now(UTC).date().isoformat(),
        level=level,
        test_data=test_data,
    )


def _selections(
    file: Path, rows: Sequence[Row], selected: str, by: Sequence[str]
) -> tuple[str, FloatArray]:
    """1 where the decision is the selected one, 0 where it is another, NaN where there is none."""
    column, sign, value = selected.partition("=")
    if not sign or column not in rows[0]:
        value = selected
        names = f"COLUMN=VALUE; the columns are {', '.join(_few(rows[0]))}"
        has = [
            c
            for c in rows[0]
            if c not in by and any(_text(r.get(c)) == value for r in rows)
        ]
        if len(has) != 1:
            where = f"in {', '.join(has)}" if has else "in no column"
            raise TableError(
                f"{file}: --selected: expected a value that one column has, found {value!r} "
                f"{where}; write {names}"
            )
        column = has[0]
    texts = [_text(row.get(column)) for row in rows]
    if value not in texts:
        raise TableError(
            f"{file}: expected {value!r} in {column}, found {', '.join(_few(texts))}"
        )
    numbers = [math.nan if text == "" else float(text == value) for text in texts]
    return f"{column} = {value}", np.array(numbers)


def _scores(file: Path, rows: Sequence[Row], column: str) -> tuple[str, FloatArray]:
    """The numbers; NaN where the column is empty."""
    numbers = []
    for number, row in enumerate(rows, start=1):
        text = _text(row.get(column))
        try:
            value = float(text) if text else math.nan
        except ValueError:
            value = math.inf
        if math.isinf(value) or abs(value) > 1e12:
            raise TableError(
                f"{file}: row {number}: expected a number in {column}, found {text[:40]!r}"
            )
        numbers.append(value)
    return column, np.array(numbers)


def _breakdown(
    file: Path,
    rows: Sequence[Row],
    values: FloatArray,
    by: tuple[str, ...],
    median: float | None,
    level: float,
    several: int,
) -> Breakdown:
    held: dict[str, list[float]] = defaultdict(list)
    unknown = 0
    for row, value in zip(rows, values.tolist(), strict=True):
        texts = [_text(row.get(name)) for name in by]
        if any(text.casefold() in _UNKNOWN for text in texts):
            unknown += 1
        else:
            held[" · ".join(texts)].append(value)
        if len(held) > MOST_CATEGORIES:
            raise TableError(
                f"{file}: expected at most {MOST_CATEGORIES} groups by {' and '.join(by)}, found "
                "more; is a column full of ids?"
            )
    people = sum(map(len, held.values()))
    known = {
        name: np.array([v for v in held[name] if not math.isnan(v)])
        for name in sorted(held)
    }
    rates = {
        name: share(
            int((v > median).sum() if median is not None else v.sum()),
            len(v),
            level=level,
        )
        for name, v in known.items()
        if len(v)
    }
    large = [name for name in rates if len(held[name]) >= SMALL * people]
    top = max(large, key=lambda name: rates[name].value, default="")
    groups = []
    for name, v in known.items():
        rate, mean, rated, far = rates.get(name), None, None, None
        if rate is not None and median is not None:
            mean = student_mean(v, level=level)
        if name == top and rate is not None:
            rated, far = Estimate(1.0) if rate.value > 0 else None, Estimate(0.0)
        elif rate is not None and name in large:
            rated = ratio(rate, rates[top])
            far = (
                difference(rate, rates[top])
                if median is None
                else welch_difference(v, known[top], level=level)
            )
        missing, small = len(held[name]) - len(v), name not in large
        groups.append(GroupRate(name, len(v), missing, rate, mean, rated, far, small))
    p = _p_value([known[name] for name in large], median is not None)
    return Breakdown(
        by, tuple(groups), unknown, None if p is None else min(1.0, p * several)
    )


def _p_value(groups: Sequence[FloatArray], scores: bool) -> float | None:
    """Of equal rates: Pearson's chi-squared; of equal means: Alexander and Govern (1994), which
    allows for variances that differ. None where it cannot be computed."""
    from scipy.stats import alexandergovern, chi2_contingency  # loads slowly

    known = [g for g in groups if len(g) > 1]
    if scores:
        varied = len(known) > 1 and all(np.ptp(g) > 0 for g in known)
        return float(alexandergovern(*known).pvalue) if varied else None
    counts = np.array([[g.sum(), (1 - g).sum()] for g in known])
    if len(known) < 2 or not counts.sum(axis=0).all():
        return None
    return float(chi2_contingency(counts, correction=False).pvalue)


def _sentence(one: Breakdown) -> str:
    """The lowest against the highest, and whether they differ at all: the two are chosen for their
    distance, so that their interval is said only where they do."""
    by, top = " and ".join(one.by), one.highest
    rest = [g for g in one.groups if g is not top and g.difference is not None]
    if top is None or not rest:
        return f"By {by}: fewer than two groups that can be compared."
    low = min(rest, key=lambda g: g.rate.value if g.rate else 0.0)
    differ = one.p is not None and one.p < 0.05
    how = "the groups differ" if differ else "no difference is clear"
    p = "" if one.p is None else f" (p {p_relation(one.p)})"
    each = [f"{proper(g.group)} {_value(g)} of {g.n:,}" for g in (low, top)]
    said = [", ".join(each)]
    if (rated := low.ratio) is not None and low.mean is None:
        ends = f" ({between(rated.low, rated.high)})" if differ else ""
        said += [f"ratio {rated.value:.3f}{ends}"]
    if (
        (far := low.difference) is not None
        and far.low is not None
        and far.high is not None
    ):
        by_100, unit = (100, "points") if low.mean is None else (1, "on average")
        value, first, last = (
            f"{by_100 * v:+.1f}".replace("-", "−")
            for v in (far.value, far.low, far.high)
        )
        said += [f"{value} {unit}" + (f" ({first} to {last})" if differ else "")]
    return f"By {by}: {said[0]}: {', '.join(said[1:])}; {how}{p}."


def _value(group: GroupRate) -> str:
    if group.mean is not None:
        return f"{group.mean.value:.1f}".replace("-", "−")
    return show(group.rate and group.rate.value, "share")


def _text(value: object) -> str:
    return "" if value is None or value != value else str(value).strip()


def _few(texts: Iterable[str]) -> list[str]:
    return [text[:20] or "nothing" for text, _ in Counter(texts).most_common(5)]
