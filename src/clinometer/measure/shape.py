"""The shape of a distribution of risks: normal in the middle, or heavy-tailed (4.5, C.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray, as_real

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

    x = np.asarray(as_real(values, name="values"), dtype=np.float64)
    if x.ndim != 1:
        raise SettingsError(f"values: expected a list of numbers, found shape {x.shape}")
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
        p_normal=float(stats.shapiro(x - mean).pvalue) if LEAST <= n <= MOST_SHAPIRO else None,
        p_fat_tail=float(stats.kurtosistest(x, alternative="greater").pvalue) if kurtosis else None,
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
