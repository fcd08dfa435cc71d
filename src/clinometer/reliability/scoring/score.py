"""Context variance, COBIAS and stability (Eqs. 3 and 4) with intervals, on plain arrays.

Shapes: tau [...] of statements, versions [..., n]. NaN marks a version without a score; it is left
out of its statement's mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.errors import SettingsError
from clinometer.measure import Estimate
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import (
    central_interval,
    percentile_estimate,
    resampled_counts,
)


def context_variance(tau: ArrayLike, versions: ArrayLike) -> FloatArray:
    """cv(x) = 100 / tau(x) * mean over versions of (tau(x') - tau(x))².

    0: context changes nothing; there is no upper bound. NaN without versions, or where tau is 0 (a
    statement that the model is certain of has no scale to measure a change by).

    >>> float(context_variance(2.0, [2.0, 3.0]))
    25.0
    """
    own, others = np.asarray(tau, dtype=np.float64), np.asarray(versions, dtype=np.float64)
    if (own < 0).any() or (others < 0).any():
        raise SettingsError("tau: expected absolute values, found one below 0")
    squares = (others - own[..., None]) ** 2
    return np.asarray(100.0 * _mean(squares) / np.where(own > 0, own, np.nan))


def cobias(cv: ArrayLike) -> FloatArray:
    """COBIAS(x) = ln(1 + cv) / (ln(1 + cv) + 1), as printed: it *rises* with cv.

    0: context changes nothing; towards 1: it changes everything. See `stability`.

    >>> float(cobias(0.0)), round(float(cobias(np.e - 1)), 3)
    (0.0, 0.5)
    """
    log = np.log1p(np.asarray(cv, dtype=np.float64))
    return np.asarray(log / (log + 1.0))


def stability(cv: ArrayLike) -> FloatArray:
    """1 - COBIAS: 1 when context changes nothing, towards 0 when it changes everything.

    The paper says that its score rises with reliability and prints one that rises with cv; which of
    the two people's ratings support is an open question (docs/reliability.md).
    """
    return np.asarray(1.0 - cobias(cv))


@dataclass(frozen=True)
class Convergence:
    """COBIAS against the number of versions: mean over statements, and its spread over samples.

    n [K]; mean, low, high [K].
    """

    n: NDArray[np.int64]
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def convergence(
    tau: FloatArray,
    versions: FloatArray,
    *,
    sizes: Sequence[int] | None = None,
    draws: int = 100,
    level: float = 0.95,
    seed: int = 0,
) -> Convergence:
    """Mean COBIAS of statements with n versions sampled without replacement, for n = 2 … N.

    Only statements with all N versions scored are used, so that every n has the same statements.
    """
    whole = np.isfinite(versions).all(axis=1) & np.isfinite(tau) & (tau > 0)
    if not whole.any() or versions.shape[1] < 2:
        raise SettingsError("convergence: expected statements with two scored versions or more")
    own, others = tau[whole], versions[whole]
    squares = 100.0 * (others - own[:, None]) ** 2 / own[:, None]
    n_max = others.shape[1]
    asked = np.array(sorted(set(sizes or range(2, n_max + 1))), dtype=np.int64)
    if asked[0] < 1 or asked[-1] > n_max:
        raise SettingsError(f"sizes: expected 1 to {n_max} versions, found {asked.tolist()}")
    generator = np.random.default_rng(seed)
    found = np.empty((draws, len(asked)))
    for k in range(draws):
        shuffled = generator.permuted(squares, axis=1)
        running = np.cumsum(shuffled, axis=1)[:, asked - 1] / asked
        found[k] = cobias(running).mean(axis=0)
    low, high = central_interval(found, level)
    return Convergence(asked, found.mean(axis=0), low, high)


@dataclass(frozen=True)
class LengthAdjusted:
    """Scores adjusted to equal length of all statements, and how much length explained.

    values [S]      score minus what log(words) predicts, plus the mean
    slope           change of the score when the words double
    r_squared       share of the scores' variance that length explains
    """

    values: FloatArray
    slope: float
    r_squared: float


def length_adjusted(scores: ArrayLike, words: ArrayLike) -> LengthAdjusted:
    """Remove what a statement's length explains from its score (least squares).

    With fewer than three scores, or all of one length, there is nothing to remove.
    """
    y, n = np.asarray(scores, dtype=np.float64), np.asarray(words, dtype=np.float64)
    good = np.isfinite(y) & (n > 0)
    x = np.log2(np.where(n > 0, n, np.nan))
    if good.sum() < 3 or np.ptp(x[good]) == 0 or np.ptp(y[good]) == 0:
        return LengthAdjusted(y.copy(), 0.0, 0.0)
    dx, dy = x[good] - x[good].mean(), y[good] - y[good].mean()
    slope = float((dx @ dy) / (dx @ dx))
    return LengthAdjusted(
        y - slope * (x - x[good].mean()), slope, float((dx @ dy) ** 2 / ((dx @ dx) * (dy @ dy)))
    )


def mean_estimate(values: ArrayLike, *, replicates: int, level: float, seed: int = 0) -> Estimate:
    """Mean over statements with a score, with a percentile bootstrap over statements.

    Resampling statements includes the noise of their versions.
    """
    y = np.asarray(values, dtype=np.float64)
    y = y[np.isfinite(y)]
    if not len(y):
        raise SettingsError("mean: expected at least one statement with a score, found none")
    if replicates < 1 or len(y) < 2:
        return Estimate(float(y.mean()))
    drawn = resampled_counts(np.ones(len(y)), replicates, np.random.default_rng(seed))
    return percentile_estimate(
        float(y.mean()), drawn @ y / len(y), level=level, method="bootstrap over statements"
    )


def _mean(values: FloatArray) -> FloatArray:
    """Mean over the last axis, ignoring NaN; NaN where all values are."""
    there = np.isfinite(values)
    counts = there.sum(axis=-1)
    sums = np.where(there, values, 0.0).sum(axis=-1)
    return np.asarray(sums / np.where(counts > 0, counts, np.nan))
