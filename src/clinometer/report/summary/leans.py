"""Which groups lean, as far as the contexts can show, with what a page needs to draw it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from clinometer.report.derived import Reading
from clinometer.runs import Run
from clinometer.statistics.arrays import FloatArray

#: With more contexts than this, a band from lowest to highest only reflects their number.
_WHOLE_RANGE = 20


@dataclass(frozen=True, eq=False)
class Leans:
    """The lean of each group.

    share      [X, Y]: mean share of each category's words over the contexts; NaN if missing
    favoured   [X]: index of the category furthest above the reference; -1 if missing
    clear      [X]: whether the group is on the list of those that lean clearly
    low, high  [X, Y]: the range of the share over contexts (its middle 90 % if they are many)
    """

    run: Run
    share: FloatArray
    favoured: NDArray[np.int64]
    clear: NDArray[np.bool_]
    low: FloatArray
    high: FloatArray

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """Groups with an answer."""
        return np.flatnonzero(self.favoured >= 0)

    @cached_property
    def counts(self) -> list[tuple[int, int]]:
        """(category, groups that lean to it clearly), most first."""
        return Counter(int(y) for y in self.favoured[self.clear]).most_common()

    @property
    def n_clear(self) -> int:
        return int(self.clear.sum())

    def strongest(self, category: int) -> int | None:
        """The group that leans to a category furthest, among the clear ones."""
        there = np.flatnonzero(self.clear & (self.favoured == category))
        if not there.size:
            return None
        lean = self.run.risks.mean_stereotype[there, category]
        return int(there[int(lean.argmax())])

    @property
    def whole_range(self) -> bool:
        return self.run.risks.n_contexts <= _WHOLE_RANGE


def find_leans(reading: Reading) -> Leans:
    """The lean of each group, and whether it is clear: see `Run.leans`."""
    run = reading.run
    place = {name: y for y, name in enumerate(run.preferences.categories)}
    favoured = np.array([-1 if g.favoured is None else place[g.favoured] for g in run.leans])
    clear = np.array([g.category is not None for g in run.leans])
    share, low, high = _shares(reading)
    return Leans(run, share, favoured, clear, low, high)


def lean_errors(reading: Reading, category: int) -> FloatArray | None:
    """[X]: the standard error of each group's mean lean to a category; None where there is none."""
    error, n = _error(reading, np.full(len(reading.s), category))
    known = np.isfinite(error) & (n > 1 + 1e-9)
    return error if known.all() and (error > 0).any() else None


def _error(reading: Reading, category: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """[X]: the standard error of the weighted mean of s to a category, and its effective number of
    contexts."""
    s = np.nan_to_num(reading.s[np.arange(len(category)), :, category])
    w = reading.cell_weights
    m = (w * s).sum(axis=1)
    total = np.square(w).sum(axis=1)
    n = np.divide(1.0, total, out=np.ones_like(total), where=total > 0)
    spread = np.sqrt((np.square(w) * np.square(s - m[:, None])).sum(axis=1))
    more = np.divide(n, n - 1, out=np.ones_like(n), where=n > 1 + 1e-9)
    return np.asarray(spread * np.sqrt(more)), n


def _shares(reading: Reading) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, low and high share of each category over the contexts of each group, [X, Y]."""
    p, w = reading.run.preferences.values, reading.cell_weights
    X, C, Y = p.shape
    mean = np.einsum("xc,xcy->xy", w, np.nan_to_num(p))
    missing = w.sum(axis=1) <= 0
    mean[missing] = np.nan
    ends = np.full((2, X, Y), np.nan)
    points = (0.0, 1.0) if C <= _WHOLE_RANGE else (0.05, 0.95)
    for x in np.flatnonzero(~missing):
        there = w[x] > 0
        for y in range(Y):
            ends[:, x, y] = _quantiles(p[x, there, y], w[x, there], points)
    return mean, ends[0], ends[1]


def _quantiles(values: FloatArray, weights: FloatArray, points: tuple[float, float]) -> FloatArray:
    """The smallest values at or below which these shares of the weight lie."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order]) / weights.sum()
    at = np.searchsorted(upto, np.asarray(points) - 1e-12)
    return np.asarray(values[order][np.minimum(at, len(values) - 1)])
