"""The distribution of the stereotype over contexts (section 3.3), and the influence of each one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import (
    ROUNDING,
    FloatArray,
    as_real,
    blocks,
    read_only,
)
from clinometer.statistics.weights import normalize_weights


def weighted_density(
    values: ArrayLike, at: ArrayLike, *, weights: ArrayLike | None = None
) -> FloatArray:
    """Weighted Gaussian kernel density of `values` [n] at the points `at` [m].

    f(t) = sum of w_i N(t; x_i, h²), h = Scott's n_eff^(-1/5) × the weighted standard deviation. It
    integrates to one over the real line, so some of it lies beyond the range of s. Cost grows with
    n × m.

    Equal values have no density: an error.

    >>> weighted_density([-1.0, 1.0], [0.0]).round(4).tolist()
    [0.233]
    """
    # scipy.stats takes longer to import than the rest of the package.
    from scipy.stats import gaussian_kde

    array, w = _sample(values, weights)
    points = np.asarray(as_real(at, name="at"), dtype=np.float64)
    if points.ndim != 1:
        raise SettingsError(f"at: expected a list of points, found shape {points.shape}")
    if np.ptp(array) <= ROUNDING * max(1.0, float(np.abs(array).max())):
        raise SettingsError(
            f"values: expected values that differ, found {array.size} equal to {array[0]:g}; "
            "they have no density"
        )
    return np.asarray(gaussian_kde(array, weights=w)(points))


@dataclass(frozen=True, eq=False)
class StereotypeDistribution:
    """The stereotypes of all cells with their weights. Arrays are read-only.

    Attributes:
        groups, categories: labels, X and Y of them.
        s: [X,C,Y]; NaN in cells that were not observed.
        weights: [X,C]; w_c within the group, 0 where not observed; rows sum to one, or to 0 for
            a missing group.
        group_weights: [X], w_x.
    """

    groups: tuple[str, ...]
    categories: tuple[str, ...]
    s: FloatArray
    weights: FloatArray
    group_weights: FloatArray

    def sample(self, category: str, group: str | None = None) -> tuple[FloatArray, FloatArray]:
        """Values of s and their weights, of one group, or of all with weights w_x w_c.

        Cells without weight are left out; a group without any observed weight is an error.
        """
        y = _position(category, self.categories, name="category")
        if group is None:
            w = self.weights * self.group_weights[:, None]
            s = self.s[..., y]
        else:
            x = _position(group, self.groups, name="group")
            w, s = self.weights[x], self.s[x, :, y]
        counted = w > 0
        if not counted.any():
            raise SettingsError(
                f"group: expected an observed cell with weight, found none in {group or 'all'!r}"
            )
        return s[counted], w[counted] / w[counted].sum()


def stereotype_distribution(grid: PreferenceGrid) -> StereotypeDistribution:
    """The distribution of s over contexts, per group and overall.

    Missing cells are treated as in `decompose`, so the mean of a group's s here is the
    `mean_stereotype` of its report.

    >>> from clinometer.measure.grid import read_preferences
    >>> cells = read_preferences([[0.6, 0.4], [0.8, 0.2]], categories=["male", "female"])
    >>> d = stereotype_distribution(cells)
    >>> values, weights = d.sample("male")
    >>> values.round(12).tolist(), weights.tolist()
    ([0.2, 0.6], [0.5, 0.5])
    """
    (X, C), K = grid.shape, len(grid.categories)
    s, w = np.empty((X, C, K)), grid.cell_weights(slice(0, X), slice(0, C))
    for rows, columns in blocks((X, C), depth=K):
        s[rows, columns] = grid.stereotypes(rows, columns)
    if grid.mask is not None:
        s[~grid.mask] = np.nan
    total = w.sum(axis=1, keepdims=True)
    grid.observed_weights(total[:, 0] > 0)
    np.divide(w, total, out=w, where=total > 0)
    return StereotypeDistribution(
        groups=grid.groups,
        categories=grid.categories,
        s=read_only(s),
        weights=read_only(w),
        group_weights=grid.group_weights,
    )


def _sample(values: ArrayLike, weights: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    array = np.asarray(as_real(values, name="values"), dtype=np.float64)
    if array.ndim != 1 or array.size < 1:
        raise SettingsError(f"values: expected a list of numbers, found shape {array.shape}")
    if not np.isfinite(array).all():
        raise SettingsError("values: expected finite numbers, found NaN or infinity")
    w = normalize_weights(weights, array.size, name="weights")
    return array[w > 0], w[w > 0]


def _position(label: str, labels: tuple[str, ...], *, name: str) -> int:
    if label in labels:
        return labels.index(label)
    raise SettingsError(f"{name}: expected one of {', '.join(labels)}, found {label!r}")


# --- Influence: how much each context contributes to the volatility risk -------------------------


def context_influence(grid: PreferenceGrid) -> FloatArray:
    """R^v minus R^v without the context, for each context [C].

    Positive: the context adds to the volatility. Negative: it steadies the mean. With
    S = sum of w_c s_c and W = sum of w_c, the risks without context c are

    r(-c) = (W r - w_c J(s_c)) / (W - w_c),   r^b(-c) = J((S - w_c s_c) / (W - w_c)),

    so all of them come from two sums. NaN for a single context, without which nothing remains.

    >>> from clinometer.measure.grid import read_preferences
    >>> context_influence(read_preferences([[0.5, 0.5], [0.9, 0.1], [0.9, 0.1]])).round(3).tolist()
    [0.0, 0.0, 0.0]
    >>> context_influence(read_preferences([[0.1, 0.9], [0.9, 0.1], [0.9, 0.1]])).round(3).tolist()
    [0.533, -0.267, -0.267]
    """
    X, C = grid.shape
    everything = slice(0, C)
    weight_sum, lost = np.zeros(C), np.zeros(C)
    for x in range(X):
        rows = slice(x, x + 1)
        s, w = grid.stereotypes(rows, everything)[0], grid.cell_weights(rows, everything)[0]
        total = w.sum()
        if total == 0:
            continue
        j = grid.criterion(s)
        rest = total - w
        left = rest > 1e-12 * total  # something remains when the context is gone
        volatility = (w @ j - grid.criterion(w @ s)) / total
        without = (w @ j - w[left] * j[left]) - grid.criterion(w @ s - w[left, None] * s[left])
        share = grid.group_weights[x]
        lost[left] += share * (volatility - without / rest[left])
        weight_sum[left] += share
    return np.asarray(np.divide(lost, weight_sum, out=np.full(C, np.nan), where=weight_sum > 0))
