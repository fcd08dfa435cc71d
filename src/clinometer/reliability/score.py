"""Context variance, COBIAS and stability (Eqs. 3 and 4) on plain arrays, their means, and how alike
two models rank statements.

Shapes: tau [...] of statements, versions [..., n]. NaN marks a version without a score; it is left
out of its statement's mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.percentile import (
    percentile_estimate,
    resampled_counts,
)
from clinometer.statistics.rank import spearman

REPLICATES = 1000
"""Bootstrap samples of statements."""


def context_variance(tau: ArrayLike, versions: ArrayLike) -> FloatArray:
    """Return cv(x) = 100 / tau(x) * mean over versions of (tau(x') - tau(x))².

    0: context changes nothing; there is no upper bound. NaN without versions, or where tau is 0 (a
    statement that the model is certain of has no scale to measure a change by).

    >>> float(context_variance(2.0, [2.0, 3.0]))
    25.0
    """
    squares = squared_changes(tau, versions)
    finite = np.isfinite(squares)
    counts = finite.sum(axis=-1)
    sums = np.where(finite, squares, 0.0).sum(axis=-1)
    return np.asarray(sums / np.where(counts > 0, counts, np.nan))


def squared_changes(tau: ArrayLike, versions: ArrayLike) -> FloatArray:
    """Return 100 / tau(x) * (tau(x') - tau(x))² of each version [..., n], whose mean is cv."""
    t = np.asarray(tau, dtype=np.float64)[..., None]
    v = np.asarray(versions, dtype=np.float64)
    if (t < 0).any() or (v < 0).any():
        raise SettingsError("tau: expected absolute values, found one below 0")
    return np.asarray(100.0 * (v - t) ** 2 / np.where(t > 0, t, np.nan))


def cobias(cv: ArrayLike) -> FloatArray:
    """Return COBIAS(x) = ln(1 + cv) / (ln(1 + cv) + 1), as printed: it *rises* with cv.

    Higher is more reliable: so desideratum 2 and Table 2 of the paper have it, and so do people's
    judgements (docs/reliability.md), however little Eq. 3 suggests it. 0: context changes nothing;
    towards 1: it changes everything.

    >>> float(cobias(0.0)), round(float(cobias(np.e - 1)), 3)
    (0.0, 0.5)
    """
    log = np.log1p(np.asarray(cv, dtype=np.float64))
    return np.asarray(log / (log + 1.0))


def stability(cv: ArrayLike) -> FloatArray:
    """Return 1 - COBIAS: 1 when context changes nothing, towards 0 when it changes everything.

    It is the reliability by the definition in 4.1 of the paper, which reads the other way.
    """
    return np.asarray(1.0 - cobias(cv))


def mean_estimate(
    values: ArrayLike,
    *,
    replicates: int = REPLICATES,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return the mean over statements with a score, with a percentile bootstrap over statements.

    Resampling statements includes the noise of their versions.
    """
    scores = np.asarray(values, dtype=np.float64)
    scores = scores[np.isfinite(scores)]
    n = len(scores)
    if not n:
        raise SettingsError(
            "mean: expected at least one statement with a score, found none"
        )
    if n == 1:
        replicates = 0
    rng = np.random.default_rng(seed)
    counts = resampled_counts(np.ones(n), replicates, rng)
    return percentile_estimate(
        float(scores.mean()),
        counts @ scores / n,
        level=level,
        method="bootstrap over statements",
    )


@dataclass(frozen=True)
class RankAgreement(Plain):
    """Spearman's rank correlation of two models' scores over the n statements both have scored."""

    a: str
    b: str
    n: int

    rho: Estimate | None
    """1: the same order; 0: unrelated. None with fewer than three statements, or if one model gives
    all of them the same score."""


def rank_agreement(
    scores: Mapping[str, FloatArray],
    *,
    replicates: int = REPLICATES,
    level: float = 0.95,
    seed: int = 0,
) -> list[RankAgreement]:
    """Return the rank agreement of every pair of models, with a bootstrap over statements."""
    pairs = []
    for a, b in combinations(scores, 2):
        n = int((np.isfinite(scores[a]) & np.isfinite(scores[b])).sum())
        rho = rank_correlation(
            scores[a], scores[b], replicates=replicates, level=level, seed=seed
        )
        pairs.append(RankAgreement(a, b, n, rho))
    return pairs


def rank_correlation(
    a: ArrayLike,
    b: ArrayLike,
    *,
    replicates: int = REPLICATES,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate | None:
    """Return Spearman's rho over the statements that have both, with a bootstrap over them; None
    where it is not defined."""
    x = np.asarray(a, dtype=np.float64)
    y = np.asarray(b, dtype=np.float64)
    both = np.isfinite(x) & np.isfinite(y)
    correlation = spearman(
        x[both],
        y[both],
        replicates=replicates,
        level=level,
        seed=seed,
        unit="statements",
    )
    return None if correlation is None else correlation.rho


def length_adjusted(scores: ArrayLike, words: ArrayLike) -> FloatArray:
    """Return scores [S] less what log(words) predicts (least squares), plus the mean: as if all
    statements were equally long.

    With fewer than three scores, or all of one length, there is nothing to remove.
    """
    y = np.asarray(scores, dtype=np.float64)
    n = np.asarray(words, dtype=np.float64)
    usable = np.isfinite(y) & (n > 0)
    x = np.log2(np.where(n > 0, n, np.nan))
    if usable.sum() < 3 or np.ptp(x[usable]) == 0 or np.ptp(y[usable]) == 0:
        return y.copy()
    x -= x[usable].mean()
    dx = x[usable]
    dy = y[usable] - y[usable].mean()
    adjusted: FloatArray = y - float((dx @ dy) / (dx @ dx)) * x
    return adjusted
