"""Several tests at once: the corrections of Holm, and of Benjamini and Hochberg."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray, as_real


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's step-down correction of a family of p-values.

    The p-values in rising order p_(1) <= .. <= p_(m) become
    max over j <= i of min(1, (m - j + 1) p_(j)). Rejecting where the result is at most alpha
    keeps the chance of any false rejection at or below alpha, for any dependence between the
    tests.

    Args:
        p_values: [m], from 0 to 1; NaN for a test that could not be made.

    Returns:
        [m], at least the p-value and at most 1. NaN stays, and does not count in m. An empty
        family gives an empty array.

    >>> holm([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.06, 0.06]
    """
    p, order = _in_order(p_values)
    steps = p[order] * np.arange(order.size, 0, -1)
    corrected = p.copy()
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's correction: of a list of tests, what share is false.

    The p-values in rising order become min over j >= i of m p_(j) / j. Rejecting where the result
    is at most alpha keeps the expected share of false rejections at or below alpha, if the tests
    are independent or positively dependent.

    Args and result as for `holm`.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.04, 0.04]
    """
    p, order = _in_order(p_values)
    steps = p[order] * order.size / np.arange(1, order.size + 1)
    corrected = p.copy()
    corrected[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return corrected


def _in_order(p_values: ArrayLike) -> tuple[FloatArray, NDArray[np.intp]]:
    """The p-values as an array, and the places of those that are numbers, smallest first."""
    p = np.asarray(as_real(p_values, name="p_values"), dtype=np.float64)
    if p.ndim != 1:
        raise SettingsError(f"p_values: expected a list of numbers, found shape {p.shape}")
    made = np.flatnonzero(~np.isnan(p))
    if not ((p[made] >= 0) & (p[made] <= 1)).all():
        raise SettingsError("p_values: expected numbers from 0 to 1, found one outside")
    return p, made[np.argsort(p[made], kind="stable")]
