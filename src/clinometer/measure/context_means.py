"""The risks that are means over contexts, with their intervals and their paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.measure.context_cells import ContextCells
from clinometer.measure.evidence import by_unit, unit_numbers
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference import LEAST_EFFECTIVE
from clinometer.measure.risks import CONTEXT_RISKS, Risk
from clinometer.statistics.arrays import FloatArray, snap
from clinometer.statistics.estimate import Estimate, around
from clinometer.statistics.intervals.means import interval_of_means


@dataclass(frozen=True, eq=False)
class UnitMeans:
    """Means of some risks in each unit, a context or a cluster of contexts."""

    shares: FloatArray
    """[U], the share of each unit in the weight of R."""

    values: FloatArray
    """[R,U], the mean of each risk in each unit."""

    @property
    def means(self) -> FloatArray:
        """Return the risks [R]."""
        return snap(self.values @ self.shares)

    @property
    def effective_size(self) -> float:
        """Return how many units of equal share these are worth."""
        return 1 / float(self.shares @ self.shares)


def unit_means(
    grid: PreferenceGrid,
    risks: Sequence[Risk],
    clusters: Sequence[object] | None = None,
) -> UnitMeans:
    """Return the means of risks in each unit.

    Cells have the same weights as in R: missing cells are left out of every mean, and the weights
    of a group are renormalised over the others.
    """
    cells = ContextCells.of(grid)
    weights = cells.context_weights
    values = [risk.by_context(cells) for risk in risks if risk.by_context is not None]
    units = unit_numbers(clusters, len(weights))
    shares = by_unit(weights, units)
    sums = by_unit((weights * np.stack(values)).T, units).T
    return UnitMeans(shares, sums / np.where(shares > 0, shares, 1.0))


def mean_risks(
    grid: PreferenceGrid,
    *,
    sampled: bool = False,
    level: float | None = None,
    clusters: Sequence[object] | None = None,
) -> dict[str, Estimate]:
    """Return the risks that are means over contexts, by their names; empty where none is measured.

    They have no small-sample bias, as R^b has. With a `level` they have intervals, unless fewer
    than `LEAST_EFFECTIVE` effective units are there; clusters as for `estimate_risks`. `sampled`:
    preferences are counted replies.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.array([[[0.8, 0.2]], [[0.6, 0.4]]])         # both lean, one more than the other
    >>> risks = mean_risks(read_preferences(p))
    >>> round(risks["R_shared"].value, 3), round(risks["R_between"].value, 3)
    (0.4, 0.2)
    """
    risks = [risk for risk in CONTEXT_RISKS if risk.is_measured(grid, sampled=sampled)]
    if not risks:
        return {}
    units = unit_means(grid, risks, clusters)
    with_intervals = level is not None and units.effective_size >= LEAST_EFFECTIVE
    estimates = {}
    for risk, value, values in zip(risks, units.means, units.values, strict=True):
        estimates[risk.name] = Estimate(float(value))
        if level is not None and with_intervals:
            estimates[risk.name] = _with_interval(value, values, units.shares, level)
    return estimates


def _with_interval(
    value: float, values: FloatArray, shares: FloatArray, level: float
) -> Estimate:
    """Return a mean of units with its interval, which never ends below 0."""
    interval = interval_of_means(values[:, None], shares[:, None], level=level)
    low = max(float(interval.low[0]), 0.0)
    high = float(interval.high[0])
    return around(float(value), low, high, level, "mean over contexts")
