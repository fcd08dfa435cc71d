"""How sure is the score of one statement: its interval, its rank, the versions it would take.

A context variance is a mean of n squares, so its sampling law is close to a gamma law with shape
k = n / c², where c² is the squared coefficient of variation of the squares (2 for normal changes,
more for heavy tails). The moments of a statement's own squares miss the rare large ones, so c² is
read off the whole run: how far halves of a statement's versions differ. A statement has too few
versions to tell its own, so it is drawn towards that. Models are a second sample: how far they
differ about single statements, beyond what they differ about all, is estimated from the whole run.

Shapes: tau [S], versions [S, n] (NaN: not scored); by model [M, S] and [M, S, n].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from clinometer.reliability.scoring.score import cobias, context_variance
from clinometer.statistics.percentile import central_interval
from clinometer.statistics.rank import spearman

Floats = NDArray[np.float64]

#: Versions that the run counts for beside a statement's own.
_PRIOR_VERSIONS = 60.0
#: c² of normal changes, for a statement that is scored alone.
_NORMAL = 2.0
_LEAST_STATEMENTS = 5
#: Normal statements that a run counts beside its own: few say little about the law of all.
_PRIOR_STATEMENTS = 5.0
#: The ratio of half means is matched at this quantile, over this many random halvings.
_MATCHED, _HALVINGS = 0.9, 4
#: Shapes of a half's mean that are considered.
_SHAPES = np.geomspace(0.02, 2000.0, 500)
#: Halves still miss some of a heavy tail: c² above normal grows by this much for each unit.
_TAIL = 0.15
#: c² is estimated: so much wider per version. All four were chosen so that the simulations in
#: benchmarks/statement_intervals.py cover 95 %.
_WIDER = 0.5
#: Numbers of versions that `versions_needed` considers.
_SIZES = np.unique(np.geomspace(2, 5000, 200).astype(np.int64))
_HALVES = 25


@dataclass(frozen=True)
class VarianceLaw:
    """The sampling law of every context variance.

    mean [S]       the context variances
    ratio [S]      c² of the squares, drawn towards the run's
    n [S]          scored versions
    models         variance of log cv from one set of models to another; 0 if not known
    """

    mean: Floats
    ratio: Floats
    n: NDArray[np.int64]
    models: float = 0.0

    @property
    def known(self) -> NDArray[np.bool_]:
        """[S] statements with at least two versions that are scored, and not all unchanged."""
        return np.asarray((self.n >= 2) & np.isfinite(self.mean) & (self.mean > 0))

    def shape(self, n: Floats | NDArray[np.int64] | None = None) -> Floats:
        """[S] shape of the gamma law with n versions; widened for having estimated c²."""
        many = np.maximum(self.n if n is None else n, 1)
        return np.asarray(many / (self.ratio * (1.0 + _WIDER / many)))


def spread(
    tau: Floats,
    versions: Floats,
    *,
    own: Floats | None = None,
    by_model: Floats | None = None,
) -> VarianceLaw:
    """The sampling law, from the versions, and from the models' own taus if there are several."""
    tau, versions = np.asarray(tau, dtype=np.float64), np.asarray(versions, dtype=np.float64)
    squares = 100.0 * (versions - tau[:, None]) ** 2 / np.where(tau > 0, tau, np.nan)[:, None]
    there = np.isfinite(squares)
    n = there.sum(axis=1)
    mean = _over(there, squares, n)
    rest = np.where(there, squares - mean[:, None], 0.0)
    variance = (rest**2).sum(axis=1) / np.maximum(n - 1, 1)
    usable = (n >= 2) & (mean > 0)
    ratio = np.divide(variance, mean**2, out=np.zeros_like(mean), where=usable)
    shared = _shared(squares[usable])
    if usable.sum() >= _LEAST_STATEMENTS:
        ratio = ratio * shared / max(float(ratio[usable].mean()), 1e-12)
    ratio = (_PRIOR_VERSIONS * shared + (n - 1) * ratio) / (_PRIOR_VERSIONS + np.maximum(n - 1, 0))
    models = 0.0 if own is None or by_model is None else model_spread(own, by_model)
    return VarianceLaw(mean, ratio, n, models)


def _over(there: NDArray[np.bool_], values: Floats, n: NDArray[np.int64]) -> Floats:
    sums = np.where(there, values, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0))


def _shared(squares: Floats) -> float:
    """c² over the run, from how far the means of two random halves of a statement's squares differ:
    if they have gamma laws of shape k, their ratio has an F law with (2k, 2k) degrees of freedom.
    """
    from scipy.stats import f

    if len(squares) < _LEAST_STATEMENTS:
        return _NORMAL
    n = np.isfinite(squares).sum(axis=1)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(_HALVINGS):
        key = np.where(np.isfinite(squares), rng.random(squares.shape), 2.0)
        place = np.argsort(np.argsort(key, axis=1), axis=1)
        half = (n // 2)[:, None]
        sums = [
            np.where(part, squares, 0.0).sum(axis=1)
            for part in (place < half, (place >= half) & (place < 2 * half))
        ]
        with np.errstate(divide="ignore"):  # a half that changes nothing is infinitely far
            found.append(np.abs(np.log(sums[0]) - np.log(sums[1])))
    far = float(np.quantile(np.concatenate(found), _MATCHED, method="lower"))
    farthest = np.log(f.ppf(0.5 + _MATCHED / 2, 2 * _SHAPES, 2 * _SHAPES))
    shape = float(np.interp(-far, -farthest, _SHAPES))
    ratio = float(np.mean(n // 2)) / shape
    ratio *= 1.0 + _TAIL * max(ratio - _NORMAL, 0.0)
    return (len(n) * ratio + _PRIOR_STATEMENTS * _NORMAL) / (len(n) + _PRIOR_STATEMENTS)


def model_spread(own: Floats, by_model: Floats) -> float:
    """Variance of log cv over sets of as many models: a jackknife over models, without what a model
    changes in all statements alike, averaged over the statements.

    0 with one model, which cannot show it.
    """
    n_models = len(own)
    if n_models < 2:
        return 0.0
    left = []
    for m in range(n_models):
        rest = [k for k in range(n_models) if k != m]
        left.append(context_variance(own[rest].mean(axis=0), by_model[rest].mean(axis=0)))
    values = np.stack(left)
    good = (np.isfinite(values) & (values > 0)).all(axis=0)
    if good.sum() < _LEAST_STATEMENTS:
        return 0.0
    logs = np.log(values[:, good])
    logs = logs - logs.mean(axis=1, keepdims=True)
    logs = logs - logs.mean(axis=0)
    free = good.sum() / (good.sum() - 1)
    return float((n_models - 1) / n_models * (logs**2).sum(axis=0).mean() * free)


def variance_intervals(law: VarianceLaw, *, level: float) -> tuple[Floats, Floats]:
    """Intervals of the context variances [S]: over further versions of each statement and, where
    there were several, further models.

    COBIAS and stability are monotone in it, so their intervals are these ends transformed. NaN for
    statements with fewer than two scored versions; a width of 0 where no version changes anything.
    """
    low, high = _ends(law, law.shape(), level)
    unchanged = (law.n >= 2) & (law.mean == 0)
    return np.where(unchanged, 0.0, low), np.where(unchanged, 0.0, high)


def _ends(law: VarianceLaw, shape: Floats, level: float) -> tuple[Floats, Floats]:
    known, mean = law.known, np.where(law.known, law.mean, 1.0)
    far = float(ndtri(0.5 + level / 2)) * np.sqrt(law.models)
    below = np.log(gammaincinv(shape, 0.5 + level / 2) / shape)
    above = np.log(np.maximum(gammaincinv(shape, 0.5 - level / 2) / shape, 1e-300))
    low = mean * np.exp(-np.hypot(np.maximum(below, 0.0), far))
    high = mean * np.exp(np.hypot(np.minimum(above, 0.0), far))
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def versions_needed(law: VarianceLaw, *, precision: float, level: float) -> Floats:
    """[S] versions for an interval of COBIAS no wider than ± `precision`, as far as versions are
    what makes it wide; infinite if more than 5,000 would not do, NaN where nothing is known."""
    alone = VarianceLaw(law.mean, law.ratio, law.n)
    found = np.where(law.known, np.inf, np.nan)
    for n in _SIZES[::-1]:
        low, high = _ends(alone, alone.shape(np.full(len(law.n), n)), level)
        narrow = (cobias(high) - cobias(low)) / 2 <= precision
        found = np.where(narrow, float(n), found)
    return found


def rank_intervals(
    law: VarianceLaw, *, level: float, draws: int = 1000, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Rank of each statement [S] (1: context changes it most), and the interval of the rank.

    Context variances are drawn from what their intervals say, statement by statement.
    """
    known = np.flatnonzero(law.known)
    found = np.full((3, len(law.mean)), np.nan)
    if not len(known):
        return found[0], found[1], found[2]
    rng = np.random.default_rng(seed)
    mean, shape = law.mean[known], law.shape()[known]
    scale = np.maximum(rng.gamma(shape, size=(draws, len(known))), 1e-300) / shape
    noise = rng.normal(scale=np.sqrt(law.models), size=(draws, len(known)))
    drawn = np.log(mean) - np.log(scale) + noise
    ranks = _ranks(-drawn)
    found[0, known] = _ranks(-np.log(mean))
    found[1:, known] = central_interval(ranks, level)
    return found[0], found[1], found[2]


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata  # loads slowly

    return np.asarray(rankdata(values, axis=-1))


def split_half(tau: Floats, versions: Floats, *, seed: int = 0) -> float | None:
    """How well the ranking would be found again with other versions: Spearman's rho between halves
    of the versions, stepped up to all of them (Spearman-Brown), on average over random halves.

    1: the same ranking; 0: chance. None with fewer than three statements of four versions each.
    """
    rng = np.random.default_rng(seed)
    there = np.isfinite(versions)
    good = (there.sum(axis=1) >= 4) & np.isfinite(tau) & (tau > 0)
    if good.sum() < 3:
        return None
    own, some = tau[good], versions[good]
    found = []
    for _ in range(_HALVES):
        # Scored versions in random order, the missing ones last.
        key = np.where(np.isfinite(some), rng.random(some.shape), 2.0)
        mixed = np.take_along_axis(some, np.argsort(key, axis=1), axis=1)
        column = np.arange(mixed.shape[1])
        halves = [
            context_variance(own, np.where(column % 2 == side, mixed, np.nan)) for side in (0, 1)
        ]
        rho = spearman(halves[0], halves[1], replicates=0)
        if rho is not None:
            found.append(rho.rho.value)
    if not found:
        return None
    half = float(np.mean(found))
    return 2 * half / (1 + half) if half > -1 else -1.0
