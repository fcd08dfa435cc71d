"""The percentile bootstrap: resampled items, and the central part of what they give."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate, around


def resampled_counts(
    counts: ArrayLike, replicates: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return how often each of n kinds of items occurs in bootstrap samples of all items, [B,n].

    Args:
        counts: [n], how often each kind occurs among the items.
        replicates: B, the number of samples.
        generator: of the random numbers.
    """
    items = np.asarray(counts)
    total = int(items.sum())
    return generator.multinomial(total, items / total, size=replicates)


def central_interval(replicates: FloatArray, level: float) -> FloatArray:
    """Return the ends [2, ...] between which the central `level` of replicates [B, ...] lies.

    >>> central_interval(np.arange(101.0), 0.9).round(9).tolist()
    [5.0, 95.0]
    """
    ends = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.asarray(ends, dtype=np.float64)


def percentile_estimate(
    value: float,
    replicates: FloatArray,
    *,
    level: float,
    method: str,
    contain: bool = False,
) -> Estimate:
    """Return a value with the central interval of its finite replicates [B]; without any, alone.

    `contain` widens the interval to the value: rank statistics of few items are lumpy.
    """
    finite = replicates[np.isfinite(replicates)]
    if not len(finite):
        return Estimate(value)
    low, high = central_interval(finite, level).tolist()
    if contain:
        return around(value, low, high, level, method)
    return Estimate(value, low, high, level, method)
