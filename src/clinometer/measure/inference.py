"""The report of the risks with their brackets and intervals.

`bracket.py` has the two means between which a risk lies; here is which of them are shown, and why
some have no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.measure.bracket import Bracket, bracket
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import (
    PreferenceArguments,
    PreferenceGrid,
    read_preferences,
)
from clinometer.measure.risk import GroupIntervals, RiskReport, decompose_grid
from clinometer.measure.risks import MEASURES
from clinometer.settings import LEVEL
from clinometer.statistics.arrays import ROUNDING, BoolArray, FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.flips import LEAST_FOR_NONE

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

LEAST_EFFECTIVE = 2.5
"""Effective units that an interval needs: of two it reaches from 0 to several times the value and
says nothing that two values do not."""

WIDE = 0.5
"""A bracket over replies that makes up this share of an interval is worth a word."""

METHOD = "bracket"
"""The method of an estimate whose truth lies between two means."""


def estimate_risks(
    p: ArrayLike | DataFrame,
    *,
    level: float = 0.95,
    clusters: Sequence[object] | None = None,
    samples: ArrayLike | None = None,
    **given: Unpack[PreferenceArguments],
) -> RiskReport:
    """Return the report of `decompose` with the middle of the bracket and an interval for every
    risk.

    Args:
        p: as for `decompose`.
        given: weights, reference, mask, labels and criterion, as for `decompose`.
        level: the share of intervals that should contain the truth.
        clusters: [C] labels (predicate, source) of contexts that were sampled together.
        samples: the number of replies behind p, a number, [C] or [X,C]; None: p is exact.

    Returns:
        `RiskReport` with `intervals` and the ends of R, R_bias, R_volatility. n_eff counts units:
        clusters where these were sampled. R = R_bias + R_volatility, and no value is outside its
        interval.

    Degenerate input: fewer than 2.5 effective units give values without intervals, and a group
    with one observed unit a NaN row; if all units agree, there is no interval from fewer than 30,
    and with more its width is 0. `note` of an estimate says so. One reply a cell cannot tell dice
    from swing: R lies between the bias risk and what the replies show. Errors as for `decompose`.

    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(5, 5, (40, 60))                       # R = R^v = 0.246, R^b = 0
    >>> report = estimate_risks(np.stack([p, 1 - p], axis=-1))
    >>> [round(float(v), 2) for v in (report.R_volatility.low, report.R_volatility.high)]
    [0.2, 0.26]
    >>> report.R_bias.low
    0.0
    """
    LEVEL.check("level", level)
    grid = read_preferences(p, **given)
    evidence = Evidence.of(grid, clusters=clusters, samples=samples)
    report = report_of(grid, evidence, level=level)
    if clusters is not None:
        report = replace(report, n_eff=evidence.n_eff)
    return report


def report_of(
    grid: PreferenceGrid,
    evidence: Evidence,
    *,
    level: float = 0.95,
    arms: FloatArray | None = None,
) -> RiskReport:
    """Return the report of preferences with the bracket of their evidence.

    `arms` [3,X+1] are errors besides those of the units, which reach as far either way.
    """
    risks = bracket(evidence, level=level)
    if arms is not None:
        risks = _with_arms(risks, arms, grid.criterion.top)
    # No part exceeds R. Its own lower end would be too high as the highest of three.
    low = np.fmin(risks.low, risks.low[0])
    high = np.fmin(risks.high, risks.high[0])
    risks = replace(risks, low=low, high=high)

    plain_report = decompose_grid(grid)
    unobserved = ~(evidence.weights.sum(axis=0) > 0)
    absence = _absent_intervals(risks, unobserved, plain_report.n_eff)
    ends = np.stack([risks.low, risks.high], axis=-1)
    ends = np.where(absence.any_reason[..., None], np.nan, ends)[:, :-1]
    r, r_bias, r_volatility = np.where(unobserved, np.nan, risks.value[:, :-1])
    estimates = {
        name: _estimate(risks, i, absence, sampled=evidence.sampled)
        for i, name in enumerate(MEASURES)
    }
    return replace(
        plain_report,
        r=r,
        r_bias=r_bias,
        r_volatility=r_volatility,
        summary=estimates,
        intervals=GroupIntervals(ends[0], ends[1], ends[2], level),
    )


def _with_arms(risks: Bracket, arms: FloatArray, top: float) -> Bracket:
    """Return risks whose arms also hold another error, added as independent ones are."""
    below = risks.value - risks.low
    above = risks.high - risks.value
    low = np.maximum(risks.value - np.sqrt(below**2 + arms**2), 0.0)
    high = np.minimum(risks.value + np.sqrt(above**2 + arms**2), top)
    return replace(risks, low=low, high=high)


@dataclass(frozen=True, eq=False)
class _Absence:
    """Why risks of groups, and of all of them in the last column, have no interval."""

    too_few: BoolArray
    """[X+1], whether there are too few effective units."""

    agree: BoolArray
    """[3,X+1], whether the units agree and are too few to rely on that."""

    unobserved: BoolArray
    """[X+1], whether no unit of the group was observed."""

    @property
    def any_reason(self) -> BoolArray:
        return self.agree | self.too_few | self.unobserved


def _absent_intervals(risks: Bracket, unobserved: BoolArray, n_eff: float) -> _Absence:
    """Return which intervals are left out, of groups that were `unobserved` [X] or not."""
    # Effective units of each group and of all; missing cells leave fewer of them.
    sum_w2 = (risks.weights**2).sum(axis=0)
    sizes = 1 / np.maximum(sum_w2, ROUNDING)
    sizes[-1] = min(sizes[-1], n_eff)
    least = np.append(np.full(len(unobserved), 1 + 1e-9), LEAST_EFFECTIVE)
    equal_ends = risks.high - risks.low <= ROUNDING
    return _Absence(
        too_few=sizes < least,
        agree=equal_ends & (sizes < LEAST_FOR_NONE),
        unobserved=np.append(unobserved, False),
    )


def _estimate(risks: Bracket, i: int, absence: _Absence, *, sampled: bool) -> Estimate:
    """Return the i-th of the three risks of all groups, or why it has no interval."""
    value = float(risks.value[i, -1])
    is_plain_mean = i == 0 and not sampled
    method = "mean over contexts" if is_plain_mean else METHOD
    if absence.too_few[-1]:
        note = "these are too few contexts to tell; 3 effective ones would do"
        return Estimate(value, method=method, note=note)
    if absence.agree[i, -1]:
        note = (
            "all contexts agree, and they are too few contexts to tell; "
            f"{int(LEAST_FOR_NONE)} effective ones would do"
        )
        return Estimate(value, method=method, note=note)
    low = float(risks.low[i, -1])
    high = float(risks.high[i, -1])
    estimate = Estimate(value, low, high, risks.level, method)
    left_open = 2 * float(risks.half_width[0, -1])
    if sampled and i == 0 and left_open > WIDE * (high - low):
        note = "so few replies leave it open; four times as many would halve what they leave"
        return replace(estimate, note=note)
    return estimate
