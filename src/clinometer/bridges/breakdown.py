"""Rates and means of decisions by group, and the groups against the one with the highest rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinometer.display.numbers import between, p_relation, show
from clinometer.display.text import Plain, proper
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate, with_ends
from clinometer.statistics.intervals.shares import difference, ratio, share
from clinometer.statistics.intervals.student import student_mean, welch_difference
from clinometer.tables import Table

SMALL = 0.02
"""Categories with less than this share of the people are named, and compared with nothing."""


@dataclass(frozen=True)
class GroupRate(Plain):
    """What was decided about a group."""

    group: str

    n: int
    """People whose decision is known."""

    missing: int
    """People whose decision is not known."""

    rate: Estimate | None
    """The share that was selected; of scores, the share above the median of all."""

    mean: Estimate | None = None
    """The mean score, with Student's interval; None where decisions are yes or no."""

    ratio: Estimate | None = None
    """The rate over that of the group with the highest rate (its own is 1, exactly)."""

    difference: Estimate | None = None
    """The rate, or mean, minus that of the same group."""

    small: bool = False
    """Whether the group has less than 2 % of the people: it is compared with nothing."""

    @property
    def rate_value(self) -> float:
        """Return the rate, 0 where none is known."""
        return 0.0 if self.rate is None else self.rate.value

    @property
    def text(self) -> str:
        """Return the mean score, or the rate, as a sentence writes it."""
        if self.mean is not None:
            return f"{self.mean.value:.1f}".replace("-", "−")
        return show(self.rate and self.rate.value, "share")

    def row(self) -> dict[str, Any]:
        """Return the group as a row of a table."""
        row: dict[str, Any] = {
            "group": self.group,
            "n": self.n,
            "missing": self.missing,
        }
        if self.mean is not None:
            row |= with_ends("mean_score", self.mean)
        row |= with_ends("selection_rate", self.rate)
        row |= with_ends("impact_ratio", self.ratio)
        name = "rate_difference" if self.mean is None else "difference"
        return row | with_ends(name, self.difference)

    def ratio_text(self, *, with_interval: bool) -> str:
        """Return the ratio as a sentence writes it; "" of scores, and where there is none."""
        if self.ratio is None or self.mean is not None:
            return ""
        text = f"ratio {self.ratio.value:.3f}"
        if not with_interval:
            return text
        return f"{text} ({between(self.ratio.low, self.ratio.high)})"

    def difference_text(self, *, with_interval: bool) -> str:
        """Return the difference as a sentence writes it; "" where it has no interval."""
        estimate = self.difference
        if estimate is None or estimate.low is None or estimate.high is None:
            return ""
        factor = 100 if self.mean is None else 1
        unit = "points" if self.mean is None else "on average"
        value, low, high = (
            f"{factor * number:+.1f}".replace("-", "−")
            for number in (estimate.value, estimate.low, estimate.high)
        )
        text = f"{value} {unit}"
        return f"{text} ({low} to {high})" if with_interval else text


@dataclass(frozen=True)
class Breakdown(Plain):
    """The rates by one column, or by several together."""

    by: tuple[str, ...]
    groups: tuple[GroupRate, ...]

    unknown: int
    """People who are left out, because a column says nothing about them."""

    p: float | None
    """Of equal rates (means) in all groups but small ones, times the number of breakdowns."""

    @property
    def highest(self) -> GroupRate | None:
        """Return the group that the others are compared with."""
        rated = [g for g in self.groups if g.rate is not None and not g.small]
        return max(rated, key=lambda group: group.rate_value, default=None)

    def table(self, note: str) -> Table:
        """Return a table with one row a group."""
        import pandas as pd

        return Table(
            f"impact-ratios-{'-'.join(self.by)}",
            f"Impact ratios by {' and '.join(self.by)}",
            pd.DataFrame([group.row() for group in self.groups]),
            note,
        )

    def sentence(self) -> str:
        """Return the lowest against the highest, whether they differ at all, and who is left out.

        The two are chosen for their distance, so that their interval is said only where they
        differ.
        """
        return " ".join([self._comparison(), *self.remarks()])

    def _comparison(self) -> str:
        by = " and ".join(self.by)
        highest = self.highest
        compared = [
            group
            for group in self.groups
            if group is not highest and group.difference is not None
        ]
        if highest is None or not compared:
            return f"By {by}: fewer than two groups that can be compared."
        lowest = min(compared, key=lambda group: group.rate_value)
        differ = self.p is not None and self.p < 0.05
        verdict = "the groups differ" if differ else "no difference is clear"
        p_value = "" if self.p is None else f" (p {p_relation(self.p)})"
        groups = ", ".join(
            f"{proper(group.group)} {group.text} of {group.n:,}"
            for group in (lowest, highest)
        )
        distances = [
            lowest.ratio_text(with_interval=differ),
            lowest.difference_text(with_interval=differ),
        ]
        return f"By {by}: {groups}: {', '.join(filter(None, distances))}; {verdict}{p_value}."

    def remarks(self) -> list[str]:
        """Return who is compared with nothing, and who is in no group."""
        remarks = []
        small = [group.group for group in self.groups if group.small]
        if small:
            remarks.append(f"Small, and compared with nothing: {', '.join(small)}.")
        if self.unknown:
            remarks.append(f"Unknown {' or '.join(self.by)}: {self.unknown:,}.")
        return remarks


def break_down(
    groups: Mapping[str, FloatArray],
    by: tuple[str, ...],
    *,
    unknown: int,
    median: float | None,
    level: float,
    breakdowns: int,
) -> Breakdown:
    """Return the rates of groups: name -> decisions (1 or 0) or scores of its people, NaN where
    they are not known.

    median      of all scores; None where decisions are yes or no
    breakdowns  how many there are, for p
    """
    people = sum(map(len, groups.values()))
    decided = {name: values[~np.isnan(values)] for name, values in groups.items()}
    rates = _rates(decided, median=median, level=level)
    large = [name for name in rates if len(groups[name]) >= SMALL * people]
    highest = max(large, key=lambda name: rates[name].value, default="")
    group_rates = []
    for name, values in decided.items():
        rate = rates.get(name)
        mean = None
        rate_ratio = None
        distance = None
        if rate is not None and median is not None:
            mean = student_mean(values, level=level)
        if rate is not None and name == highest:
            rate_ratio = Estimate(1.0) if rate.value > 0 else None
            distance = Estimate(0.0)
        elif rate is not None and name in large:
            rate_ratio = ratio(rate, rates[highest])
            if median is None:
                distance = difference(rate, rates[highest])
            else:
                distance = welch_difference(values, decided[highest], level=level)
        group_rates.append(
            GroupRate(
                name,
                len(values),
                len(groups[name]) - len(values),
                rate,
                mean,
                rate_ratio,
                distance,
                small=name not in large,
            )
        )
    compared = [decided[name] for name in large if len(decided[name]) > 1]
    p = _p_of_equal_rates(compared) if median is None else _p_of_equal_means(compared)
    if p is not None:
        p = min(1.0, p * breakdowns)
    return Breakdown(by, tuple(group_rates), unknown, p)


def _rates(
    groups: Mapping[str, FloatArray], *, median: float | None, level: float
) -> dict[str, Estimate]:
    """Return the share of each group that was selected, or whose score is above the median; none
    of a group without people."""
    rates = {}
    for name, values in groups.items():
        if len(values):
            selected = values if median is None else values > median
            rates[name] = share(int(selected.sum()), len(values), level=level)
    return rates


def _p_of_equal_rates(groups: Sequence[FloatArray]) -> float | None:
    """Return p of equal rates of decisions (1 or 0), in groups of two people or more: Pearson's
    chi-squared. None where it cannot be computed."""
    from scipy.stats import chi2_contingency  # loads slowly

    counts = np.array([[group.sum(), (1 - group).sum()] for group in groups])
    if len(groups) < 2 or not counts.sum(axis=0).all():
        return None
    return float(chi2_contingency(counts, correction=False).pvalue)


def _p_of_equal_means(groups: Sequence[FloatArray]) -> float | None:
    """Return p of equal mean scores, in groups of two people or more: Alexander and Govern (1994),
    which allows for variances that differ. None where it cannot be computed."""
    from scipy.stats import alexandergovern  # loads slowly

    if len(groups) < 2 or not all(np.ptp(group) > 0 for group in groups):
        return None
    return float(alexandergovern(*groups).pvalue)
