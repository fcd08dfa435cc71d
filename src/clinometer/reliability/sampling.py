"""How sure the score of a single statement is: its interval, and the interval of its rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from clinometer.reliability.score import context_variance, squared_changes
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
from clinometer.statistics.intervals.percentile import central_interval
from clinometer.statistics.intervals.reach import normal_reach

# Four of these numbers, PRIOR_VERSIONS, PRIOR_STATEMENTS, TAIL_GROWTH and WIDENING, were chosen so
# that the simulations in benchmarks/statement_intervals.py cover 95 %.

PRIOR_VERSIONS = 60.0
"""Versions that the run counts for in addition to a statement's own."""

NORMAL_RATIO = 2.0
"""c² of normal changes, for a statement that is scored alone."""

MIN_STATEMENTS = 5
"""With fewer statements, a run says nothing about the sampling distribution."""

PRIOR_STATEMENTS = 5.0
"""Normal statements that are added to those of a run: small runs say little about the sampling
distribution."""

MATCHED_QUANTILE = 0.9
"""The ratio of half means is matched at this quantile."""

HALVINGS = 4
"""Random halvings of the versions of a statement."""

SHAPES = np.geomspace(0.02, 2000.0, 500)
"""Shapes of the distribution of a half's mean that are considered."""

TAIL_GROWTH = 0.15
"""Halves still miss some of a heavy tail: c² above normal grows by this much for each unit."""

WIDENING = 0.5
"""c² is estimated: the distribution is so much wider per version."""

TINY = 1e-300
"""The least number that has a logarithm here."""


@dataclass(frozen=True)
class Ranks:
    """The rank of each value [n], 1 for the highest, and the ends of its interval."""

    rank: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class SamplingDistribution:
    """How the context variance of each statement varies from one set of versions to another.

    The mean of n squared changes follows a gamma distribution of shape n / c², where c² is their
    variance over their squared mean.
    """

    mean: FloatArray
    """[S] the context variances."""

    ratio: FloatArray
    """[S] c² of each statement, shrunk towards that of the run."""

    n: IntArray
    """[S] scored versions."""

    models: float
    """Variance of log cv from one set of models to another; 0 if not known."""

    @classmethod
    def of(cls, tau: FloatArray, versions: FloatArray) -> SamplingDistribution:
        """Return it from each model's taus of statements [M, S] and of versions [M, S, N]."""
        squares = squared_changes(tau.mean(axis=0), versions.mean(axis=0))
        mean = context_variance(tau.mean(axis=0), versions.mean(axis=0))
        finite = np.isfinite(squares)
        n = finite.sum(axis=1)
        degrees = np.maximum(n - 1, 0)
        deviations = np.where(finite, squares - mean[:, None], 0.0)
        variance = (deviations**2).sum(axis=1) / np.maximum(degrees, 1)
        usable = (n >= 2) & (mean > 0)
        ratio = np.divide(variance, mean**2, out=np.zeros_like(mean), where=usable)
        common = _common_ratio(squares[usable])
        if usable.sum() >= MIN_STATEMENTS:
            ratio = ratio * common / max(float(ratio[usable].mean()), 1e-12)
        shrunk = (PRIOR_VERSIONS * common + degrees * ratio) / (
            PRIOR_VERSIONS + degrees
        )
        return cls(mean, shrunk, n, model_spread(tau, versions))

    @property
    def usable(self) -> BoolArray:
        """[S] statements with at least two scored versions, of which one changes something."""
        return np.asarray((self.n >= 2) & np.isfinite(self.mean) & (self.mean > 0))

    def shape(self) -> FloatArray:
        """Return the shape of the gamma distribution [S]; wider because c² is estimated."""
        versions = np.maximum(self.n, 1)
        return np.asarray(versions / (self.ratio * (1.0 + WIDENING / versions)))

    def intervals(self, *, level: float) -> tuple[FloatArray, FloatArray]:
        """Return intervals of the context variances [S]: over further versions of each statement
        and, where there were several, further models.

        COBIAS and stability are monotone in it, so their intervals are these ends transformed. NaN
        for statements with fewer than two scored versions; a width of 0 where no version changes
        anything.
        """
        shape = self.shape()
        between_models = normal_reach(np.sqrt(self.models), level=level)
        below = np.log(gammaincinv(shape, 0.5 + level / 2) / shape)
        above = np.log(np.maximum(gammaincinv(shape, 0.5 - level / 2) / shape, TINY))
        low = self.mean * np.exp(-np.hypot(np.maximum(below, 0.0), between_models))
        high = self.mean * np.exp(np.hypot(np.minimum(above, 0.0), between_models))
        without_width = np.where((self.n >= 2) & (self.mean == 0), 0.0, np.nan)
        usable = self.usable
        return np.where(usable, low, without_width), np.where(
            usable, high, without_width
        )

    def ranks(self, *, level: float, draws: int = 1000, seed: int = 0) -> Ranks:
        """Return the rank of each statement [S] (1: the highest COBIAS), and its interval; NaN for
        one that is not usable.

        Context variances are sampled from their distributions, statement by statement.
        """
        usable = np.flatnonzero(self.usable)
        ranks = Ranks(*np.full((3, len(self.mean)), np.nan))
        if not len(usable):
            return ranks
        rng = np.random.default_rng(seed)
        log_mean = np.log(self.mean[usable])
        shape = self.shape()[usable]
        size = (draws, len(usable))
        scale = np.maximum(rng.gamma(shape, size=size), TINY) / shape
        noise = rng.normal(scale=np.sqrt(self.models), size=size)
        ranks_of_usable = ranked(log_mean, log_mean - np.log(scale) + noise, level)
        ranks.rank[usable] = ranks_of_usable.rank
        ranks.low[usable] = ranks_of_usable.low
        ranks.high[usable] = ranks_of_usable.high
        return ranks


def ranked(values: FloatArray, samples: FloatArray, level: float) -> Ranks:
    """Return the rank of each value [n], 1 for the highest, and its interval by samples [B, n]."""
    from scipy.stats import rankdata  # loads slowly

    low, high = central_interval(rankdata(-samples, axis=-1), level)
    return Ranks(rankdata(-values), low, high)


def _common_ratio(squares: FloatArray) -> float:
    """Return c² over the run, from how far the means of two random halves of a statement's squares
    differ: if they have gamma distributions of shape k, their ratio has an F distribution with
    (2k, 2k) degrees of freedom.
    """
    from scipy.stats import f

    n_statements = len(squares)
    if n_statements < MIN_STATEMENTS:
        return NORMAL_RATIO
    rng = np.random.default_rng(0)
    distances = [_distance_of_halves(squares, rng) for _ in range(HALVINGS)]
    distance = float(
        np.quantile(np.concatenate(distances), MATCHED_QUANTILE, method="lower")
    )
    expected = np.log(f.ppf(0.5 + MATCHED_QUANTILE / 2, 2 * SHAPES, 2 * SHAPES))
    shape = float(np.interp(-distance, -expected, SHAPES))
    versions_of_half = np.isfinite(squares).sum(axis=1) // 2
    ratio = float(np.mean(versions_of_half)) / shape
    ratio *= 1.0 + TAIL_GROWTH * max(ratio - NORMAL_RATIO, 0.0)
    prior = PRIOR_STATEMENTS * NORMAL_RATIO
    return (n_statements * ratio + prior) / (n_statements + PRIOR_STATEMENTS)


def _distance_of_halves(squares: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return |log ratio| of the sums of two random halves of each statement's squares [S]."""
    finite = np.isfinite(squares)
    half = (finite.sum(axis=1) // 2)[:, None]
    order = np.where(finite, rng.random(squares.shape), 2.0)
    position = np.argsort(np.argsort(order, axis=1), axis=1)
    is_second = (position >= half) & (position < 2 * half)
    first = np.where(position < half, squares, 0.0).sum(axis=1)
    second = np.where(is_second, squares, 0.0).sum(axis=1)
    # A half that changes nothing is infinitely far from one that does; two such halves are equal.
    differ = first != second
    with np.errstate(divide="ignore"):
        log_first = np.log(first, out=np.zeros_like(first), where=differ)
        log_second = np.log(second, out=np.zeros_like(second), where=differ)
    return np.asarray(np.abs(log_first - log_second))


def model_spread(tau: FloatArray, versions: FloatArray) -> float:
    """Return the variance of log cv over sets of as many models: a jackknife over models, without
    what a model changes in all statements alike, averaged over the statements.

    0 with one model, which cannot show it. Shapes: tau [M, S], versions [M, S, N].
    """
    M = len(tau)
    if M < 2:
        return 0.0
    jackknife = []
    for m in range(M):
        tau_without = np.delete(tau, m, axis=0).mean(axis=0)
        versions_without = np.delete(versions, m, axis=0).mean(axis=0)
        jackknife.append(context_variance(tau_without, versions_without))
    values = np.stack(jackknife)
    usable = (np.isfinite(values) & (values > 0)).all(axis=0)
    S = usable.sum()
    if S < MIN_STATEMENTS:
        return 0.0
    residuals = np.log(values[:, usable])
    residuals = residuals - residuals.mean(axis=1, keepdims=True)
    residuals = residuals - residuals.mean(axis=0)
    return float((M - 1) / M * (residuals**2).sum(axis=0).mean() * S / (S - 1))
