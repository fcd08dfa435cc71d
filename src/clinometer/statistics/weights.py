"""Weights of contexts and groups, and how many equal ones they are worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray, RealArray, as_real


def normalize_weights(weights: ArrayLike | None, n: int, *, name: str) -> FloatArray:
    """Return weights that sum to one: w_i / sum of w.

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
        raise SettingsError(
            f"{name}: expected at least one member to weigh, found none"
        )
    if weights is None:
        return np.full(n, 1.0 / n)
    array = as_real(weights, name=name)
    if array.shape != (n,):
        raise SettingsError(
            f"{name}: expected {n} weights, one each, found shape {array.shape}"
        )
    return np.asarray(_rows_to_one(array[None], name)[0])


def normalize_shared(
    weights: ArrayLike | None, shape: tuple[int, int], *, name: str
) -> FloatArray:
    """Return weights that all rows share, [1,C], or one row for each, [X,C].

    Rows sum to one, but a row of zeros stays so (a group without weight).
    """
    if weights is None:
        return normalize_weights(None, shape[1], name=name)[None]
    array = as_real(weights, name=name)
    if array.ndim == 1:
        return normalize_weights(array, shape[1], name=name)[None]
    if array.shape != shape:
        raise SettingsError(
            f"{name}: expected shape {shape[1:]} (shared) or {shape} (per group), "
            f"found {array.shape}"
        )
    return _rows_to_one(array, name)


def _rows_to_one(weights: RealArray, name: str) -> FloatArray:
    """Return rows of weights that sum to one; a row of zeros stays so."""
    array = np.array(weights, dtype=np.float64)
    wrong = ~np.isfinite(array) | (array < 0)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        shown = index[-1] if array.shape[0] == 1 else index
        raise SettingsError(
            f"{name}: expected finite weights of at least 0, found {array[index]} at index {shown}"
        )
    if not array.any():
        raise SettingsError(
            f"{name}: expected a positive sum, found only zeros; give some weight"
        )
    # Divided by the largest first: sums of huge weights overflow, of tiny ones vanish.
    largest = array.max(axis=1, keepdims=True)
    np.divide(array, largest, out=array, where=largest > 0)
    total = array.sum(axis=1, keepdims=True)
    np.divide(array, total, out=array, where=total > 0)
    return array


def effective_size(weights: ArrayLike) -> float:
    """Return how many equally weighted contexts these are worth (Kish): 1 / sum of w_i².

    Weights w sum to one. n for n equal weights on any scale, 1 when one member carries all the
    weight. No weights, and all zero, are errors.

    >>> effective_size([1, 1, 1, 1]), effective_size([1, 0, 0])
    (4.0, 1.0)
    """
    array = as_real(weights, name="weights")
    w = normalize_weights(array, array.size, name="weights")
    return float(1.0 / np.sum(w * w))


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Return the mean of the values whose weight is not 0 (NaN elsewhere does not matter)."""
    counted = np.where(weights > 0, values, 0.0)
    return float(np.sum(weights * counted) / np.sum(weights))
