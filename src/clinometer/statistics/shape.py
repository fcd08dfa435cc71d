"""The shape of a distribution of values: normal in the middle, or heavy-tailed (4.5, C.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray, as_list

LEAST = 8
"""Values needed for a test of shape."""

LEAST_KURTOSIS = 20
"""Values needed for the kurtosis test."""

MOST_SHAPIRO = 5000
"""Beyond this size the p-value of the Shapiro-Wilk test is not accurate."""


@dataclass(frozen=True)
class Characteristics:
    """The shape of a distribution of values; fields that could not be computed are None."""

    n: int
    """Values that count."""

    mean: float
    """Mean of the normal fit."""

    sd: float
    """Standard deviation of the normal fit (divided by n, maximum likelihood)."""

    skewness: float | None = None
    """Third standardised moment, 0 for the normal. Positive: a long tail of high values."""

    excess_kurtosis: float | None = None
    """Fourth standardised moment less that of the normal. Positive: heavier tails than its."""

    p_normal: float | None = None
    """p of the test of Shapiro and Wilk (small: not normal)."""

    p_fat_tail: float | None = None
    """p of Anscombe and Glynn, one-sided: small means heavier tails than the normal's."""

    hill: float | None = None
    """Tail index of the largest values: P(value > v) falls like v^-hill. Below 2 the variance is
    infinite; a normal tail has no index: the estimate is high and grows with n."""


def distribution_characteristics(values: ArrayLike) -> Characteristics:
    """Return the normal fit with tests, moments, and the tail of values (r^b or r^v of groups).

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
    mean = float(x.mean())
    sd = float(x.std())
    if sd <= 1e-12 * max(1.0, abs(mean)):
        return Characteristics(n=n, mean=mean, sd=0.0)
    p_normal = None
    if LEAST <= n <= MOST_SHAPIRO:
        p_normal = float(stats.shapiro(x - mean).pvalue)
    p_fat_tail = None
    if n >= LEAST_KURTOSIS:
        p_fat_tail = float(stats.kurtosistest(x, alternative="greater").pvalue)
    return Characteristics(
        n=n,
        mean=mean,
        sd=sd,
        skewness=float(stats.skew(x)),
        excess_kurtosis=float(stats.kurtosis(x)),
        p_normal=p_normal,
        p_fat_tail=p_fat_tail,
        hill=hill(np.sort(x), max(2, math.isqrt(n))),
    )


def hill(ordered: FloatArray, k: int) -> float | None:
    """Return Hill's tail index 1 / mean of log(x_(n-i+1) / x_(n-k)), i = 1..k.

    `ordered` is in rising order. None when x_(n-k) is not positive or the tail does not vary.

    >>> hill(np.array([1.0, math.e, math.e]), 2)
    1.0
    """
    n = ordered.size
    if k >= n:
        return None
    threshold = ordered[n - k - 1]
    if threshold <= 0:
        return None
    mean_log_excess = float(np.mean(np.log(ordered[n - k :] / threshold)))
    return None if mean_log_excess <= 1e-12 else 1.0 / mean_log_excess
