"""The distribution of the stereotype over contexts (section 3.3), and the influence of each
context."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import ROUNDING, FloatArray, as_list
from clinometer.statistics.weights import normalize_weights


def stereotype_sample(
    grid: PreferenceGrid, category: str, group: str | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return values of s over the contexts with their weights w_c, of one group, or of all with
    weights w_x w_c.

    Cells without weight are left out, and missing ones treated as in `decompose`: the weighted mean
    is the `mean_stereotype` of its report. A group without any observed weight is an error.

    >>> from clinometer.measure.grid import read_preferences
    >>> cells = read_preferences([[0.6, 0.4], [0.8, 0.2]], categories=["male", "female"])
    >>> values, weights = stereotype_sample(cells, "male")
    >>> values.round(12).tolist(), weights.tolist()
    ([0.2, 0.6], [0.5, 0.5])
    """
    y = _position(category, grid.categories, "category")
    s = grid.stereotypes()[..., y]
    w, _ = grid.shares()
    if group is None:
        w = w * grid.group_weights[:, None]
    else:
        x = _position(group, grid.groups, "group")
        s = s[x]
        w = w[x]
    counted = w > 0
    if not counted.any():
        raise SettingsError(
            f"group: expected an observed cell with weight, found none in {group or 'all'!r}"
        )
    return s[counted], w[counted] / w[counted].sum()


def weighted_density(
    values: ArrayLike, at: ArrayLike, *, weights: ArrayLike | None = None
) -> FloatArray:
    """Return the weighted Gaussian kernel density of `values` [n] at the points `at` [m].

    f(t) = sum of w_i N(t; x_i, h²), h = Scott's n_eff^(-1/5) × the weighted standard deviation. It
    integrates to one over the real line, so some of it lies beyond the range of s. Cost grows with
    n × m.

    Equal values have no density: an error.

    >>> weighted_density([-1.0, 1.0], [0.0]).round(4).tolist()
    [0.233]
    """
    # scipy.stats takes longer to import than the rest of the package.
    from scipy.stats import gaussian_kde

    array = as_list(values, name="values")
    if not array.size or not np.isfinite(array).all():
        raise SettingsError(
            "values: expected a list of finite numbers, found none, or others"
        )
    w = normalize_weights(weights, array.size, name="weights")
    array = array[w > 0]
    w = w[w > 0]
    if np.ptp(array) <= ROUNDING * max(1.0, float(np.abs(array).max())):
        raise SettingsError(
            f"values: expected values that differ, found {array.size} equal to {array[0]:g}; "
            "they have no density"
        )
    return np.asarray(gaussian_kde(array, weights=w)(as_list(at, name="at")))


def context_influence(grid: PreferenceGrid) -> FloatArray:
    """Return how much each context adds to the volatility risk, [C]: R^v less R^v without it.

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
    J = grid.criterion
    s = grid.stereotypes()
    w, _ = grid.shares()
    risks = w * J(s)
    weighted_s = w[..., None] * s
    r = risks.sum(axis=1, keepdims=True)
    mean = weighted_s.sum(axis=1, keepdims=True)
    r_volatility = r - J(mean)

    # Something remains without the context.
    possible = (w < 1 - ROUNDING) & w.any(axis=1, keepdims=True)
    # J is homogeneous: the sums without the context are divided after it.
    without = r - risks - J(mean - weighted_s)
    r_volatility_without = without / np.where(possible, 1 - w, 1.0)
    share = grid.group_weights[:, None] * possible
    influence = (share * (r_volatility - r_volatility_without)).sum(axis=0)
    total = share.sum(axis=0)
    missing = np.full(influence.shape, np.nan)
    return np.asarray(np.divide(influence, total, out=missing, where=total > 0))


def _position(label: str, labels: tuple[str, ...], name: str) -> int:
    """Return the index of a label; `name` is what an error calls it."""
    if label in labels:
        return labels.index(label)
    raise SettingsError(f"{name}: expected one of {', '.join(labels)}, found {label!r}")
