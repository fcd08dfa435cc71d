"""Percentile bootstrap: resample items with replacement, keep the middle of the replicates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate


def resampled_counts(
    counts: ArrayLike, replicates: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """[B, n] how often each of n kinds of items occurs in a bootstrap sample of all items (their
    `counts` [n])."""
    there = np.asarray(counts)
    total = int(there.sum())
    return generator.multinomial(total, there / total, size=replicates)


def central_interval(replicates: FloatArray, level: float, *, axis: int = 0) -> FloatArray:
    """[2, ...] the ends between which the central `level` of the replicates lies.

    >>> central_interval(np.arange(101.0), 0.9).round(9).tolist()
    [5.0, 95.0]
    """
    ends = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=axis)
    return np.asarray(ends, dtype=np.float64)


def percentile_estimate(
    value: float, replicates: FloatArray, *, level: float, method: str, contain: bool = False
) -> Estimate:
    """A value with the central interval of its finite replicates [B]; without any, the value alone.

    `contain` widens the interval to the value: rank statistics of few items are lumpy.
    """
    finite = replicates[np.isfinite(replicates)]
    if not len(finite):
        return Estimate(value)
    low, high = central_interval(finite, level).tolist()
    if contain:
        low, high = min(low, value), max(high, value)
    return Estimate(value, low, high, level, method)
