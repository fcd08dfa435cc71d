"""The distribution of the stereotype over contexts (section 3.3), the influence of each context,
and the shape of a distribution of risks: normal in the middle, or heavy-tailed (4.5, C.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import (
    ROUNDING,
    FloatArray,
    as_list,
    normalize_weights,
)


def stereotype_sample(
    grid: PreferenceGrid, category: str, group: str | None = None
) -> tuple[FloatArray, FloatArray]:
    """Values of s over the contexts with their weights w_c, of one group, or of all with weights
    w_x w_c.

    Cells without weight are left out, and missing ones treated as in `decompose`: the weighted mean
    is the `mean_stereotype` of its report. A group without any observed weight is an error.

    >>> from clinometer.measure.grid import read_preferences
    >>> cells = read_preferences([[0.6, 0.4], [0.8, 0.2]], categories=["male", "female"])
    >>> values, weights = stereotype_sample(cells, "male")
    >>> values.round(12).tolist(), weights.tolist()
    ([0.2, 0.6], [0.5, 0.5])
    """
    y = _position(category, grid.categories, "category")
    s, w = grid.stereotypes()[..., y], grid.shares()[0]
    if group is None:
        w = w * grid.group_weights[:, None]
    else:
        x = _position(group, grid.groups, "group")
        s, w = s[x], w[x]
    counted = w > 0
    if not counted.any():
        raise SettingsError(
            f"group: expected an observed cell with weight, found none in {group or 'all'!r}"
        )
    return s[counted], w[counted] / w[counted].sum()


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

    array = as_list(values, name="values")
    if not array.size or not np.isfinite(array).all():
        raise SettingsError(
            "values: expected a list of finite numbers, found none, or others"
        )
    w = normalize_weights(weights, array.size, name="weights")
    array, w = array[w > 0], w[w > 0]
    if np.ptp(array) <= ROUNDING * max(1.0, float(np.abs(array).max())):
        raise SettingsError(
            f"values: expected values that differ, found {array.size} equal to {array[0]:g}; "
            "they have no density"
        )
    return np.asarray(gaussian_kde(array, weights=w)(as_list(at, name="at")))


def context_influence(grid: PreferenceGrid) -> FloatArray:
    """How much each context contributes to the volatility risk: R^v minus R^v without it, [C].

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
    w, J, s = grid.shares()[0], grid.criterion, grid.stereotypes()
    parts, means = w * J(s), w[..., None] * s
    r, mean = parts.sum(axis=1, keepdims=True), means.sum(axis=1, keepdims=True)
    left = (w < 1 - ROUNDING) & w.any(
        axis=1, keepdims=True
    )  # something remains without it
    without = (r - parts - J(mean - means)) / np.where(left, 1 - w, 1.0)
    share = grid.group_weights[:, None] * left
    lost, total = (share * (r - J(mean) - without)).sum(axis=0), share.sum(axis=0)
    return np.asarray(
        np.divide(lost, total, out=np.full(lost.shape, np.nan), where=total > 0)
    )


# --- The shape of a distribution of risks --------------------------------------------------------


LEAST = 8
"""Values needed for a test of shape; the kurtosis test needs LEAST_KURTOSIS."""

LEAST_KURTOSIS = 20

MOST_SHAPIRO = 5000
"""Beyond this size the p-value of the Shapiro-Wilk test is not accurate."""


@dataclass(frozen=True)
class Characteristics:
    """The shape of a distribution of values, as `distribution_characteristics` gives it.

    Attributes:
        n: values that count; fields below that could not be computed are None.
        mean, sd: sd is that of the normal fit (divided by n, maximum likelihood).
        skewness, excess_kurtosis: third and fourth standardised moments, 0 for the normal.
            Positive skewness: a long tail of high values. Positive excess kurtosis: heavier
            tails than the normal's.
        p_normal: of the test of Shapiro and Wilk (small: not normal).
        p_fat_tail: Anscombe and Glynn, one-sided: a small p means heavier tails than the normal's.
        hill: tail index of the largest values: P(value > v) falls like v^-hill. Below 2 the
            variance is infinite; a normal tail has no index: the estimate is high and grows with n.
    """

    n: int
    mean: float
    sd: float
    skewness: float | None = None
    excess_kurtosis: float | None = None
    p_normal: float | None = None
    p_fat_tail: float | None = None
    hill: float | None = None


def distribution_characteristics(values: ArrayLike) -> Characteristics:
    """Normal fit with tests, moments, and the tail of a set of values (r^b or r^v of the groups).

    NaN (a missing group) is left out. Fewer than 8 values, or values that do not differ, have no
    tests: None. The kurtosis test needs 20, the Hill estimator positive values that differ in the
    tail. No value at all is an error.

    >>> shape = distribution_characteristics([1, 2, 3, 4, 5, 6, 7, 8])
    >>> round(shape.skewness, 12), round(shape.excess_kurtosis, 6), shape.p_fat_tail
    (0.0, -1.238095, None)
    """
    # scipy.stats takes longer to import than the rest of the package.
    from scipy import stats

    x = as_list(values, name="values")
    if np.isinf(x).any():
        raise SettingsError("values: expected finite numbers or NaN, found infinity")
    x = x[~np.isnan(x)]
    n = x.size
    if not n:
        raise SettingsError("values: expected at least one number, found none")
    mean, sd = float(x.mean()), float(x.std())
    if sd <= 1e-12 * max(1.0, abs(mean)):
        return Characteristics(n=n, mean=mean, sd=0.0)
    kurtosis = n >= LEAST_KURTOSIS
    return Characteristics(
        n=n,
        mean=mean,
        sd=sd,
        skewness=float(stats.skew(x)),
        excess_kurtosis=float(stats.kurtosis(x)),
        p_normal=float(stats.shapiro(x - mean).pvalue)
        if LEAST <= n <= MOST_SHAPIRO
        else None,
        p_fat_tail=float(stats.kurtosistest(x, alternative="greater").pvalue)
        if kurtosis
        else None,
        hill=hill(np.sort(x), max(2, math.isqrt(n))),
    )


def hill(ordered: FloatArray, k: int) -> float | None:
    """Hill's tail index 1 / mean of log(x_(n-i+1) / x_(n-k)), i = 1..k.

    `ordered` is in rising order. None when x_(n-k) is not positive or the tail does not vary.

    >>> hill(np.array([1.0, math.e, math.e]), 2)
    1.0
    """
    n = ordered.size
    if k >= n or ordered[n - k - 1] <= 0:
        return None
    excess = float(np.mean(np.log(ordered[n - k :] / ordered[n - k - 1])))
    return None if excess <= 1e-12 else 1.0 / excess


def _position(label: str, labels: tuple[str, ...], name: str) -> int:
    if label in labels:
        return labels.index(label)
    raise SettingsError(f"{name}: expected one of {', '.join(labels)}, found {label!r}")
