"""Weights of contexts and groups, and how many equal ones they are worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray, RealArray, as_real


def normalize_weights(weights: ArrayLike | None, n: int, *, name: str) -> FloatArray:
    """Weights that sum to one: w_i / sum of w.

    Args:
        weights: [n], finite and not negative, on any scale (counts, shares); None means equal.
        n: how many there must be.
        name: what to call them in an error.

    Returns:
        [n] float64, summing to one up to rounding.

    A weight of zero is allowed: that member counts for nothing. All zero is an error, as are
    a wrong length, NaN, infinity and negative numbers.

    >>> normalize_weights([3, 1], 2, name="context_weights").tolist()
    [0.75, 0.25]
    """
    if n < 1:
        raise SettingsError(f"{name}: expected at least one member to weigh, found none")
    if weights is None:
        return np.full(n, 1.0 / n)
    array = as_real(weights, name=name)
    if array.shape != (n,):
        raise SettingsError(f"{name}: expected {n} weights, one each, found shape {array.shape}")
    rows = normalize_rows(array[None], name=name)
    if not rows.any():
        raise SettingsError(f"{name}: expected a positive sum, found only zeros; give some weight")
    return np.asarray(rows[0])


def normalize_rows(weights: ArrayLike, *, name: str) -> FloatArray:
    """Each row of [X,C] divided by its sum; a row of zeros stays so (a group without weight)."""
    array = np.array(as_real(weights, name=name), dtype=np.float64)
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        at = place[-1] if array.shape[0] == 1 else place
        raise SettingsError(
            f"{name}: expected finite weights of at least 0, found {array[place]} at index {at}"
        )
    # The largest first: sums of huge weights overflow, of tiny ones vanish.
    for divisor in (array.max, array.sum):
        total = divisor(axis=1, keepdims=True)
        np.divide(array, total, out=array, where=total > 0)
    return array


def effective_size(weights: ArrayLike) -> float:
    """How many equally weighted contexts these are worth (Kish): 1 / sum of w_i² for sum w = 1.

    Args:
        weights: [n], on any scale.

    Returns:
        n for equal weights, 1 when one member carries all the weight.

    Degenerate input (no weights, all zero) is an error, as in `normalize_weights`.

    >>> effective_size([1, 1, 1, 1])
    4.0
    >>> effective_size([1, 0, 0])
    1.0
    """
    array = as_real(weights, name="weights")
    w = normalize_weights(array, array.size, name="weights")
    return float(1.0 / np.sum(w * w))


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Mean of the values whose weight is not 0 (NaN elsewhere does not matter)."""
    seen = np.where(weights > 0, values, 0.0)
    return float(np.sum(weights * seen) / np.sum(weights))


def normalize_shared(array: RealArray | None, shape: tuple[int, int], *, name: str) -> FloatArray:
    """Weights that all rows share, [1,C], or one row for each, [X,C]; rows sum to one."""
    if array is None or array.ndim == 1:
        return normalize_weights(array, shape[1], name=name)[None]
    if array.shape != shape:
        raise SettingsError(
            f"{name}: expected shape {shape[1:]} (shared) or {shape} (per group), "
            f"found {array.shape}"
        )
    rows = normalize_rows(array, name=name)
    if not rows.any():
        raise SettingsError(f"{name}: expected a positive sum, found only zeros; give some weight")
    return rows
