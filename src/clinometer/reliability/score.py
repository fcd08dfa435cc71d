"""Dissimilarity, context variance, COBIAS and stability (Eqs. 1, 3 and 4) and how sure they are, on
plain arrays; and Table 2 of the paper.

Shapes: tau [...] of statements, versions [..., n]. NaN marks a version without a score; it is left
out of its statement's mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv

from clinometer.display.text import Plain
from clinometer.errors import SettingsError, TableError
from clinometer.reliability.statement import Statement, Versions
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
from clinometer.statistics.estimate import Estimate, with_ends
from clinometer.statistics.intervals.percentile import (
    central_interval,
    percentile_estimate,
    resampled_counts,
)
from clinometer.statistics.intervals.reach import normal_reach
from clinometer.statistics.rank import spearman

if TYPE_CHECKING:
    import pandas as pd


def context_variance(tau: ArrayLike, versions: ArrayLike) -> FloatArray:
    """cv(x) = 100 / tau(x) * mean over versions of (tau(x') - tau(x))².

    0: context changes nothing; there is no upper bound. NaN without versions, or where tau is 0 (a
    statement that the model is certain of has no scale to measure a change by).

    >>> float(context_variance(2.0, [2.0, 3.0]))
    25.0
    """
    squares = _squared_changes(tau, versions)
    finite = np.isfinite(squares)
    counts = finite.sum(axis=-1)
    sums = np.where(finite, squares, 0.0).sum(axis=-1)
    return np.asarray(sums / np.where(counts > 0, counts, np.nan))


def _squared_changes(tau: ArrayLike, versions: ArrayLike) -> FloatArray:
    """[..., n] 100 / tau(x) * (tau(x') - tau(x))² of each version, whose mean is cv."""
    own, others = (
        np.asarray(tau, dtype=np.float64),
        np.asarray(versions, dtype=np.float64),
    )
    if (own < 0).any() or (others < 0).any():
        raise SettingsError("tau: expected absolute values, found one below 0")
    scale = np.where(own > 0, own, np.nan)[..., None]
    return np.asarray(100.0 * (others - own[..., None]) ** 2 / scale)


def cobias(cv: ArrayLike) -> FloatArray:
    """COBIAS(x) = ln(1 + cv) / (ln(1 + cv) + 1), as printed: it *rises* with cv.

    Higher is more reliable: so desideratum 2 and Table 2 of the paper have it, and so do people's
    judgements (docs/reliability.md), however little Eq. 3 suggests it. 0: context changes nothing;
    towards 1: it changes everything.

    >>> float(cobias(0.0)), round(float(cobias(np.e - 1)), 3)
    (0.0, 0.5)
    """
    log = np.log1p(np.asarray(cv, dtype=np.float64))
    return np.asarray(log / (log + 1.0))


def stability(cv: ArrayLike) -> FloatArray:
    """1 - COBIAS: 1 when context changes nothing, towards 0 when it changes everything: the
    reliability by the definition in 4.1 of the paper, which reads the other way."""
    return np.asarray(1.0 - cobias(cv))


def mean_estimate(
    values: ArrayLike, *, replicates: int = 1000, level: float = 0.95, seed: int = 0
) -> Estimate:
    """Mean over statements with a score, with a percentile bootstrap over statements.

    Resampling statements includes the noise of their versions.
    """
    y = np.asarray(values, dtype=np.float64)
    y = y[np.isfinite(y)]
    if not len(y):
        raise SettingsError(
            "mean: expected at least one statement with a score, found none"
        )
    times = replicates if len(y) > 1 else 0
    counts = resampled_counts(np.ones(len(y)), times, np.random.default_rng(seed))
    return percentile_estimate(
        float(y.mean()),
        counts @ y / len(y),
        level=level,
        method="bootstrap over statements",
    )


@dataclass(frozen=True)
class RankAgreement(Plain):
    """Spearman's rank correlation of two models' scores over the statements both have scored.

    1: the same order; 0: unrelated. `rho` is None with fewer than three statements, or if one model
    gives all of them the same score.
    """

    a: str
    b: str
    n: int
    rho: Estimate | None


def rank_agreement(
    scores: Mapping[str, FloatArray], **options: Any
) -> list[RankAgreement]:
    """Every pair of models, with a bootstrap over statements."""
    pairs = []
    for a, b in combinations(scores, 2):
        both = np.isfinite(scores[a]) & np.isfinite(scores[b])
        rho = rank_correlation(scores[a], scores[b], **options)
        pairs.append(RankAgreement(a, b, int(both.sum()), rho))
    return pairs


def rank_correlation(a: ArrayLike, b: ArrayLike, **options: Any) -> Estimate | None:
    """Spearman's rho over the statements that have both, with a bootstrap over them; None where it
    is not defined."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    both = np.isfinite(x) & np.isfinite(y)
    found = spearman(
        x[both], y[both], unit="statements", **({"replicates": 1000} | options)
    )
    return None if found is None else found.rho


def length_adjusted(scores: ArrayLike, words: ArrayLike) -> FloatArray:
    """Scores [S] less what log(words) predicts (least squares), plus the mean: as if all statements
    were equally long.

    With fewer than three scores, or all of one length, there is nothing to remove.
    """
    y, n = np.asarray(scores, dtype=np.float64), np.asarray(words, dtype=np.float64)
    good = np.isfinite(y) & (n > 0)
    x = np.log2(np.where(n > 0, n, np.nan))
    if good.sum() < 3 or np.ptp(x[good]) == 0 or np.ptp(y[good]) == 0:
        return y.copy()
    dx, dy = x[good] - x[good].mean(), y[good] - y[good].mean()
    adjusted: FloatArray = y - float((dx @ dy) / (dx @ dx)) * (x - x[good].mean())
    return adjusted


# --- Single statements: the interval of a score, its rank, the versions that it would take --------

#: Versions that the run counts for in addition to a statement's own.
_PRIOR_VERSIONS = 60.0
#: c² of normal changes, for a statement that is scored alone.
_NORMAL = 2.0
_LEAST_STATEMENTS = 5
#: Normal statements that are added to those of a run: small runs say little about the sampling
#: distribution.
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


@dataclass(frozen=True)
class SamplingDistribution:
    """How the context variance of each statement varies from one set of versions to another.

    The mean of n squared changes follows a gamma distribution of shape n / c², where c² is their
    variance over their squared mean.

    mean [S]       the context variances
    ratio [S]      c² of each statement, shrunk towards that of the run
    n [S]          scored versions
    models         variance of log cv from one set of models to another; 0 if not known
    """

    mean: FloatArray
    ratio: FloatArray
    n: IntArray
    models: float

    @classmethod
    def of(cls, own: FloatArray, by_model: FloatArray) -> SamplingDistribution:
        """From each model's taus of the statements [M, S] and of their versions [M, S, N]."""
        tau, versions = own.mean(axis=0), by_model.mean(axis=0)
        squares, mean = _squared_changes(tau, versions), context_variance(tau, versions)
        finite = np.isfinite(squares)
        n = finite.sum(axis=1)
        rest = np.where(finite, squares - mean[:, None], 0.0)
        variance = (rest**2).sum(axis=1) / np.maximum(n - 1, 1)
        usable = (n >= 2) & (mean > 0)
        ratio = np.divide(variance, mean**2, out=np.zeros_like(mean), where=usable)
        common = _common_ratio(squares[usable])
        if usable.sum() >= _LEAST_STATEMENTS:
            ratio = ratio * common / max(float(ratio[usable].mean()), 1e-12)
        degrees = np.maximum(n - 1, 0)
        ratio = (_PRIOR_VERSIONS * common + (n - 1) * ratio) / (
            _PRIOR_VERSIONS + degrees
        )
        return cls(mean, ratio, n, model_spread(own, by_model))

    @property
    def usable(self) -> BoolArray:
        """[S] statements with at least two scored versions, of which one changes something."""
        return np.asarray((self.n >= 2) & np.isfinite(self.mean) & (self.mean > 0))

    def shape(self) -> FloatArray:
        """[S] shape of the gamma distribution; wider because c² is estimated."""
        versions = np.maximum(self.n, 1)
        return np.asarray(versions / (self.ratio * (1.0 + _WIDER / versions)))

    def intervals(self, *, level: float) -> tuple[FloatArray, FloatArray]:
        """Intervals of the context variances [S]: over further versions of each statement and,
        where there were several, further models.

        COBIAS and stability are monotone in it, so their intervals are these ends transformed. NaN
        for statements with fewer than two scored versions; a width of 0 where no version changes
        anything.
        """
        shape, mean = self.shape(), np.where(self.usable, self.mean, 1.0)
        between_models = normal_reach(np.sqrt(self.models), level=level)
        below = np.log(gammaincinv(shape, 0.5 + level / 2) / shape)
        above = np.log(np.maximum(gammaincinv(shape, 0.5 - level / 2) / shape, 1e-300))
        low = mean * np.exp(-np.hypot(np.maximum(below, 0.0), between_models))
        high = mean * np.exp(np.hypot(np.minimum(above, 0.0), between_models))
        otherwise = np.where((self.n >= 2) & (self.mean == 0), 0.0, np.nan)
        return np.where(self.usable, low, otherwise), np.where(
            self.usable, high, otherwise
        )

    def ranks(
        self, *, level: float, draws: int = 1000, seed: int = 0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Rank of each statement [S] (1: the highest COBIAS), and the interval of the rank.

        Context variances are sampled from their distributions, statement by statement.
        """
        usable = np.flatnonzero(self.usable)
        ranks = np.full((3, len(self.mean)), np.nan)
        if len(usable):
            rng = np.random.default_rng(seed)
            mean, shape = self.mean[usable], self.shape()[usable]
            scale = (
                np.maximum(rng.gamma(shape, size=(draws, len(usable))), 1e-300) / shape
            )
            noise = rng.normal(scale=np.sqrt(self.models), size=(draws, len(usable)))
            samples = np.log(mean) - np.log(scale) + noise
            ranks[:, usable] = _ranked(np.log(mean), samples, level)
        return ranks[0], ranks[1], ranks[2]


def _ranked(values: FloatArray, samples: FloatArray, level: float) -> FloatArray:
    """[3, n] the rank of each value, 1 for the highest, and its interval by samples [B, n]."""
    from scipy.stats import rankdata  # loads slowly

    ends = central_interval(rankdata(-samples, axis=-1), level)
    return np.stack([rankdata(-values), *ends])


def _common_ratio(squares: FloatArray) -> float:
    """c² over the run, from how far the means of two random halves of a statement's squares differ:
    if they have gamma distributions of shape k, their ratio has an F distribution with (2k, 2k)
    degrees of freedom.
    """
    from scipy.stats import f

    if len(squares) < _LEAST_STATEMENTS:
        return _NORMAL
    finite = np.isfinite(squares)
    n = finite.sum(axis=1)
    rng = np.random.default_rng(0)
    distances = []
    for _ in range(_HALVINGS):
        key = np.where(finite, rng.random(squares.shape), 2.0)
        place = np.argsort(np.argsort(key, axis=1), axis=1)
        half = (n // 2)[:, None]
        sums = [
            np.where(part, squares, 0.0).sum(axis=1)
            for part in (place < half, (place >= half) & (place < 2 * half))
        ]
        with np.errstate(
            divide="ignore"
        ):  # a half that changes nothing is infinitely far
            distances.append(np.abs(np.log(sums[0]) - np.log(sums[1])))
    distance = float(np.quantile(np.concatenate(distances), _MATCHED, method="lower"))
    expected = np.log(f.ppf(0.5 + _MATCHED / 2, 2 * _SHAPES, 2 * _SHAPES))
    shape = float(np.interp(-distance, -expected, _SHAPES))
    ratio = float(np.mean(n // 2)) / shape
    ratio *= 1.0 + _TAIL * max(ratio - _NORMAL, 0.0)
    return (len(n) * ratio + _PRIOR_STATEMENTS * _NORMAL) / (len(n) + _PRIOR_STATEMENTS)


def model_spread(own: FloatArray, by_model: FloatArray) -> float:
    """Variance of log cv over sets of as many models: a jackknife over models, without what a model
    changes in all statements alike, averaged over the statements.

    0 with one model, which cannot show it.
    """
    n_models = len(own)
    if n_models < 2:
        return 0.0
    values = np.stack(
        [
            context_variance(
                np.delete(own, m, axis=0).mean(axis=0),
                np.delete(by_model, m, axis=0).mean(axis=0),
            )
            for m in range(n_models)
        ]
    )
    good = (np.isfinite(values) & (values > 0)).all(axis=0)
    if good.sum() < _LEAST_STATEMENTS:
        return 0.0
    logs = np.log(values[:, good])
    logs = logs - logs.mean(axis=1, keepdims=True)
    logs = logs - logs.mean(axis=0)
    free = good.sum() / (good.sum() - 1)
    return float((n_models - 1) / n_models * (logs**2).sum(axis=0).mean() * free)


# --- How far context moves a statement's meaning (Eq. 1) ------------------------------------------

#: From texts to unit vectors [T, D].
Embed = Callable[[Sequence[str]], FloatArray]


def dissimilarity(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """d(a, b) = 1 - STS(a, b), the cosine of two sentence embeddings [..., D], clipped to [0, 1].

    Context that adds no meaning tells nothing about a statement; context that changes the subject
    makes versions incomparable. Report it next to COBIAS.

    >>> dissimilarity([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).tolist()
    [0.0, 1.0, 1.0]
    """
    cosine = (np.asarray(a, dtype=np.float64) * np.asarray(b, dtype=np.float64)).sum(
        axis=-1
    )
    return np.asarray(1.0 - np.clip(cosine, 0.0, 1.0))


def growing_pairwise(vectors: ArrayLike) -> FloatArray:
    """Average pairwise dissimilarity of the first n of N unit vectors, n = 2 … N [N - 1].

    >>> growing_pairwise([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).round(4).tolist()
    [0.0, 0.6667]
    """
    v = np.asarray(vectors, dtype=np.float64)
    table = 1.0 - np.clip(v @ v.T, 0.0, 1.0)
    added = np.tril(table, k=-1).sum(axis=1)  # what each one adds to the previous ones
    n = np.arange(2, len(v) + 1)
    return np.asarray(np.cumsum(added)[1:] / (n * (n - 1) / 2))


def version_dissimilarity(
    statements: Sequence[str], versions: Sequence[Sequence[str]], embed: Embed
) -> tuple[FloatArray, FloatArray]:
    """Per statement [S] the dissimilarity among its versions, and their mean distance to it; NaN
    with too few versions."""
    pairwise, distance = np.full((2, len(statements)), np.nan)
    for i, (own, others) in enumerate(_embedded(statements, versions, embed)):
        if len(others) > 1:
            pairwise[i] = growing_pairwise(others)[-1]
        if len(others):
            distance[i] = dissimilarity(own, others).mean()
    return pairwise, distance


def nearby(
    statements: Sequence[Statement], variants: Versions, embed: Embed, *, limit: float
) -> tuple[dict[str, tuple[str, ...]], int]:
    """The versions whose dissimilarity to their statement is at most `limit`, the paper's
    hyper-parameter, and how many were left out."""
    some = [variants.get(s.id, ()) for s in statements]
    near = {
        s.id: tuple(
            v
            for v, d in zip(own, dissimilarity(text, others), strict=True)
            if d <= limit
        )
        for s, own, (text, others) in zip(
            statements,
            some,
            _embedded([s.text for s in statements], some, embed),
            strict=True,
        )
    }
    return near, sum(map(len, some)) - sum(map(len, near.values()))


def _embedded(
    statements: Sequence[str], versions: Sequence[Sequence[str]], embed: Embed
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The vector of each statement [D] and those of its versions [n, D]; all texts are embedded
    together."""
    texts = [t for s, vs in zip(statements, versions, strict=True) for t in (s, *vs)]
    vectors = embed(texts) if texts else np.empty((0, 1))
    start = 0
    for some in versions:
        yield vectors[start], vectors[start + 1 : start + 1 + len(some)]
        start += 1 + len(some)


# --- Table 2 of the paper for the benchmarks of a run ---------------------------------------------

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_REPLICATES, _LEVEL = 1000, 0.95  # as of the means


def benchmark_tables(statements: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row per benchmark (column `source`), and one per category of each, by COBIAS.

    Of the paper's average dissimilarity both readings are there: `dissimilarity_pairwise` among the
    versions, as its text says, and `dissimilarity_to_statement`, as its code of February 2024 has
    it. Benchmarks also have

    rank, rank_low, rank_high 1 for the highest COBIAS; bootstrap over statements
    """
    import pandas as pd

    def rows(by: list[str]) -> pd.DataFrame:
        found = []
        for key, part in statements.groupby(by, dropna=False, sort=True):
            scored = part[part["cobias"].notna()]
            if len(scored):
                found.append(dict(zip(by, key, strict=True)) | _row(scored, len(part)))
        return pd.DataFrame(found).sort_values(
            "cobias", ascending=False, ignore_index=True
        )

    if not statements["cobias"].notna().any():
        raise TableError(
            "benchmarks: expected at least one statement with a score, found none"
        )
    benchmarks = rows(["source"])
    parts = {
        name: part["cobias"].dropna() for name, part in statements.groupby("source")
    }
    scores = [parts[name].to_numpy() for name in benchmarks["source"]]
    rng = np.random.default_rng(0)
    means = [
        resampled_counts(np.ones(len(some)), _REPLICATES, rng) @ some / len(some)
        for some in scores
    ]
    own = np.array([some.mean() for some in scores])
    ranks = _ranked(own, np.stack(means, axis=1), _LEVEL)
    benchmarks[["rank", "rank_low", "rank_high"]] = ranks.T
    return benchmarks, rows(["source", "category"])


def _row(scored: pd.DataFrame, total: int) -> dict[str, Any]:
    mean = mean_estimate(scored["cobias"].to_numpy())
    quantiles = np.quantile(scored["cobias"].to_numpy(), QUANTILES).tolist()
    return {
        "statements": total,
        "scored": len(scored),
        **with_ends("cobias", mean),
        "stability": 1.0 - mean.value,
        "cv_median": float(scored["cv"].median()),
        **{
            f"cobias_q{100 * q:02.0f}": v
            for q, v in zip(QUANTILES, quantiles, strict=True)
        },
        **{
            name: float(scored[name].mean())
            for name in ("dissimilarity_pairwise", "dissimilarity_to_statement")
            if name in scored
        },
    }
