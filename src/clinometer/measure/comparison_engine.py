"""What each context contributes to the differences of models, which `compare` tests by flipping.

The unit is the context (or a cluster of contexts), the same for every model. Nothing is resampled;
only the noise that the bias risk is corrected for is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from clinometer.errors import SettingsError
from clinometer.measure.correction import BiasModel, Units
from clinometer.measure.counting_noise import fitted_correction
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import Grid, PreferenceGrid
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap
from clinometer.statistics.significance import flip_interval, flip_p_value

# --- Weighted residuals: what each context (or cluster) contributes to the risks of each model ---


@dataclass(frozen=True, eq=False)
class Residuals:
    """A block of x groups: risks [M,x,3], means [x,M,K], residuals [G,K+1,x,M], weights [G,x].

    `factor` [G,x] is the root above; `linear` [G,x,M,3] are the residuals of the risks, with
    r^b taken as linear around the mean; `criterion` is J.
    """

    risks: FloatArray
    means: FloatArray
    residuals: FloatArray
    weights: FloatArray
    factor: FloatArray
    linear: FloatArray
    criterion: Criterion

    def adjusted(self) -> FloatArray:
        """Residuals times the factor."""
        return np.asarray(self.residuals * self.factor[:, None, :, None])

    def variance(self) -> FloatArray:
        """Sum over the categories of the sampling variances of the means, [x,M]."""
        return np.asarray((self.adjusted()[:, 1:] ** 2).sum(axis=(0, 1)))


def weighted_residuals(
    grids: Sequence[PreferenceGrid],
    *,
    rows: slice,
    units: NDArray[np.intp],
    criteria: Sequence[FloatArray | None],
) -> Residuals:
    """Risks, means and residuals of a block of groups, for each model; see `Residuals`.

    `criteria` are J of each cell [X,C] of the models whose answers were sampled, corrected for the
    noise of counting; None of the others.
    """
    first = grids[0]
    criterion = first.criterion
    columns, M, K = slice(0, first.n_contexts), len(grids), len(first.categories)
    a = first.cell_weights(rows, columns)
    n, total = a.shape[0], a.sum(axis=1, keepdims=True)
    np.divide(a, total, out=a, where=total > 0)
    weights = by_unit(a, units)
    kept = 1.0 - 2.0 * weights + (weights**2).sum(axis=0)
    factor = np.sqrt(np.divide(1.0, kept, out=np.zeros_like(kept), where=kept > ROUNDING))
    risks, means = np.full((M, n, 3), np.nan), np.zeros((n, M, K))
    residuals = np.empty((weights.shape[0], K + 1, n, M))
    for i, (grid, known) in enumerate(zip(grids, criteria, strict=True)):
        s, tolerance = grid.stereotypes(rows, columns), grid.tolerance
        j = criterion(s) if known is None else known[rows]
        r, m = (a * j).sum(axis=1), (a[..., None] * s).sum(axis=1)
        means[:, i] = m
        risks[i, :, 0], risks[i, :, 1] = snap(r, tolerance), snap(criterion(m), tolerance)
        risks[i, :, 2] = snap(risks[i, :, 0] - risks[i, :, 1], tolerance)
        residuals[:, 0, :, i] = by_unit(a * (j - r[:, None]), units)
        for y in range(K):
            residuals[:, y + 1, :, i] = by_unit(a * (s[..., y] - m[:, None, y]), units)
    risks[:, total[:, 0] == 0] = np.nan
    linear = np.empty((weights.shape[0], n, M, 3))
    linear[..., 0] = residuals[:, 0]
    linear[..., 1] = criterion.slope(means, np.moveaxis(residuals[:, 1:], 1, -1))
    linear[..., 2] = linear[..., 0] - linear[..., 1]
    return Residuals(risks, means, residuals, weights, factor, linear, criterion)


def by_unit(values: FloatArray, units: NDArray[np.intp]) -> FloatArray:
    """[x,C] added up by unit: [G,x]."""
    G = int(units.max()) + 1
    if units.size == G:  # each context its own unit, in order
        return values.T
    return np.stack([np.bincount(units, weights=row, minlength=G) for row in values], axis=1)


# --- The difference of two models, and its test by flipping contexts -----------------------------


NEARBY = 0.1
"""Share of a variance over which the slope in it is taken, at least."""

LEAST_FOR_NONE = 30
"""With at least this many effective units, contexts that all agree give an interval of width 0."""


def contrast(
    part: Residuals, pair: tuple[int, int], noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Corrected differences [x,3] of a pair in a block of groups, and their residuals [2,G,x,3].

    If two models have the same r^b (their pooled one), noise still raises that of the more
    volatile model further, by `rate` per unit of variance; this is subtracted from the difference.
    Unit g contributes its own variance, so that swapping the models in it swaps everything it
    contributes; that is why one rate serves both models. r^b is linearised; r^v is the remainder.

    The first residuals linearise r^b of each model at its own mean, which is right where the means
    are well known. The second linearise both at the mean of the two models, which is right where
    one model only seems to lean the other way. A difference has to pass both tests.
    """
    i, j = pair
    gap = part.risks[i] - part.risks[j]
    apart = part.residuals[..., i] - part.residuals[..., j]
    middle = part.means[:, pair].mean(axis=1)
    shared = part.criterion.slope(middle, np.moveaxis(apart[:, 1:], 1, -1))
    residuals = np.stack(
        [
            part.linear[:, :, i] - part.linear[:, :, j],
            np.stack([apart[:, 0], shared, apart[:, 0] - shared], axis=-1),
        ]
    )
    squares = (part.adjusted() ** 2)[:, 1:].sum(axis=1)
    more = squares[..., i] - squares[..., j]
    rate = _lift_rate(part, pair, noise, squares.sum(axis=0))
    lift = rate * more.sum(axis=0)
    change = rate * more - part.weights * lift
    gap[:, 1] -= lift
    gap[:, 2] += lift
    residuals[..., 1] -= change
    residuals[..., 2] += change
    return snap(gap), residuals


def _lift_rate(
    part: Residuals, pair: tuple[int, int], noise: FloatArray, variance: FloatArray
) -> FloatArray:
    """By how much E J(pooled lean + e) rises with the variance of e, [x], from `variance` [x,M].

    The slope between the variances of the two models, or over NEARBY of their mean either side
    where they are closer than that; averaged over the directions of both leans.
    """
    pooled = part.risks[list(pair), :, 1].mean(axis=0)
    both = variance[:, list(pair)]
    middle = both.mean(axis=1)
    apart = np.maximum(np.abs(both[:, 0] - both[:, 1]) / 2, NEARBY * middle)
    found = np.zeros_like(middle)
    for model in pair:
        size, own = part.risks[model, :, 1], variance[:, model]
        ratio = np.divide(pooled, size, out=np.ones_like(size), where=size > 0)
        at = part.means[:, model] * ratio[:, None]
        for sign in (1.0, -1.0):
            scale = np.divide(middle + sign * apart, own, out=np.zeros_like(own), where=own > 0)
            e = noise[:, :, model] * np.sqrt(scale)[:, None]
            found += sign * part.criterion(at + e).mean(axis=0)
    rate = np.divide(found, 4 * apart, out=np.zeros_like(found), where=apart > 0)
    return np.asarray(rate)


def tested(
    gap: FloatArray, residuals: FloatArray, weights: FloatArray, level: float, slack: float
) -> FloatArray:
    """Low, high and p [3,x,3] of differences [x,3] with residuals [2,G,x,3], by flipping units.

    Of the two residuals the larger p and the farther ends. `slack` is by how much the differences
    of r and r^v may be wrong regardless of the contexts.
    """
    first, second = residuals
    known = np.array([slack, 0.0, slack])
    found = flipped(gap, first, weights, level, known)
    other = (np.abs(first - second) > ROUNDING).any(axis=(0, 2))
    if other.any():
        again = flipped(gap[other], second[:, other], weights[:, other], level, known)
        wider = [np.minimum, np.maximum, np.maximum]
        for k, farther in enumerate(wider):
            found[k, other] = farther(found[k, other], again[k])
    return found


def flipped(
    gap: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    level: float,
    slack: FloatArray | None = None,
) -> FloatArray:
    """Low, high and p [3,x,T] of differences [x,T] with residuals [G,x,T], by flipping units.

    Ends lie farther out by `slack` [T], and p is that of a difference smaller by as much.
    """
    more = np.zeros(gap.shape[1]) if slack is None else slack
    found = np.full((3, *gap.shape), np.nan)
    a = weights.T
    alone = (a**2).sum(axis=1) >= 1 - ROUNDING  # one unit carries everything: nothing to flip
    few = (a**2).sum(axis=1) > 1 / LEAST_FOR_NONE
    for t in range(gap.shape[1]):
        u, d = residuals[..., t].T, gap[:, t]
        nearer = np.sign(d) * np.maximum(np.abs(d) - more[t], 0.0)
        y = u + a * nearer[:, None]
        nothing = np.abs(y).max(axis=1, keepdims=True) < ROUNDING  # less than rounding has no sign
        found[2, :, t] = flip_p_value(np.where(nothing, 0.0, y))
        low, high = flip_interval(d, u, a, level=level)
        low, high = low - more[t], high + more[t]
        known = ~(few & (high - low <= ROUNDING))  # no spread in a few contexts says little
        found[0, known, t], found[1, known, t] = low[known], high[known]
    found[:, alone] = np.nan
    return found


# --- Differences of pairs, and errors of each model ----------------------------------------------


INNER = 64
"""Samples for the correction inside each replicate."""

LIMIT = 1 << 19
"""Numbers in one temporary array (4 MB, which a processor's cache holds)."""


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Differences of pairs of models, [P,..,3] for r, r^b, r^v.

    Attributes:
        value: plug-in difference.
        corrected: the same minus the difference that noise alone would cause at equal r^b.
        low, high, p: interval and p-value of the corrected difference, by flipping the sign of
            each unit's contribution; NaN where too few units carry the weight.
    """

    value: FloatArray
    corrected: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray


@dataclass(frozen=True, eq=False)
class PairedRisks:
    """Risks of each model, and differences of pairs.

    Attributes:
        risks: [M,X,3], plug-in r, r^b, r^v; NaN for missing groups.
        overall: [M,3], plug-in R, R^b, R^v.
        groups: contrasts [P,X,3]; total: contrasts [P,1,3] of R, R^b, R^v.
        n_eff: effective number of units: contexts, or clusters of them.
    """

    risks: FloatArray
    overall: FloatArray
    groups: Contrasts
    total: Contrasts
    n_eff: float


def paired_risks(
    grids: Sequence[PreferenceGrid],
    *,
    units: NDArray[np.intp],
    pairs: Sequence[tuple[int, int]],
    level: float,
    overall_level: float,
    seed: int,
    samples: Sequence[ArrayLike | None] | None = None,
) -> PairedRisks:
    """Risks of each model, and tests of their differences.

    `samples` are the answers behind the cells of each model, None of those whose probabilities were
    read. Counting lifts R of the former, the more the fewer they are, and is taken out of each.
    """
    (X, C), M, K = grids[0].shape, len(grids), len(grids[0].categories)
    share = _shares(grids[0])
    G = int(units.max()) + 1
    risks = np.full((M, X, 3), np.nan)
    residuals, weights = np.zeros((len(pairs), 2, G, 3)), np.zeros(G)
    pooled, tests = np.full((len(pairs), X, 3), np.nan), np.full((3, len(pairs), X, 3), np.nan)
    criteria, unsure = _counted(grids, samples)

    # What is not known about counting is the same for both: how preferences are distributed.
    slack = [abs(unsure[i] - unsure[j]) for i, j in pairs]
    for rows in _group_blocks(X, C * M * (K + 1)):
        part = weighted_residuals(grids, rows=rows, units=units, criteria=criteria)
        w = share[rows]
        risks[:, rows] = part.risks
        weights += part.weights @ w
        flat, rng = part.adjusted().reshape(G, -1), np.random.default_rng(seed)
        noise = _inner(flat, part.variance(), rng=rng, M=M)
        for q, pair in enumerate(pairs):
            pooled[q, rows], own = contrast(part, pair, noise)
            tests[:, q, rows] = tested(pooled[q, rows], own, part.weights, level, slack[q])
            residuals[q] += np.einsum("x,agxt->agt", w, np.where(w[:, None] > 0, own, 0.0))
    overall = _mean(risks, share)
    for m in (m for m, known in enumerate(criteria) if known is not None):
        # As a run has it: neither part of R is below 0, and R^b not above R.
        R = max(float(overall[m, 0]), 0.0)
        R_bias = min(float(overall[m, 1]), R)
        overall[m] = R, R_bias, R - R_bias
    gap = snap(_mean(pooled, share))[:, None]
    total = [
        tested(g, u[:, :, None], weights[:, None], overall_level, more)
        for g, u, more in zip(gap, residuals, slack, strict=True)
    ]
    overall_tests = np.stack(total, axis=1) if total else np.empty((3, 0, 1, 3))
    return PairedRisks(
        risks=risks,
        overall=overall,
        groups=Contrasts(_gaps(risks, pairs), pooled, *tests),
        total=Contrasts(_gaps(overall[:, None], pairs), gap, *overall_tests),
        n_eff=1.0 / float((weights**2).sum()),
    )


def _counted(
    grids: Sequence[PreferenceGrid], samples: Sequence[ArrayLike | None] | None
) -> tuple[list[FloatArray | None], list[float]]:
    """J of each cell [X,C] of the models with sampled answers, corrected for the noise of counting,
    and by how much its mean may be wrong."""
    criteria: list[FloatArray | None] = []
    unsure = []
    for grid, m in zip(grids, samples or [None] * len(grids), strict=True):
        j, wrong = (None, 0.0) if m is None else fitted_correction(grid, m)
        criteria.append(None if j is None else j.T)
        unsure.append(wrong)
    return criteria, unsure


def signal(means: FloatArray, variance: FloatArray, share: FloatArray) -> FloatArray:
    """The share of the squared mean stereotypes that is not sampling error, per model [M].

    (1 - X/(X+1) sum of w_x v_x / sum of w_x |m_x|²)⁺ over the X groups, with m [X,M,K] the mean
    stereotypes and v [X,M] the sums of their sampling variances: |m|² is on average |mu|² + v.
    0: only noise around parity; 1: leans far above the noise.

    J has a kink at parity, so the errors around m itself are those of a leaning model; around
    m sqrt(signal) the leans have the right size. X/(X+1) allows for few groups, where the ratio
    itself is noisy; it was chosen by simulation (benchmarks/coverage.py --part compare).

    >>> signal(np.array([[[0.3, -0.3]]]), np.array([[0.09]]), np.ones(1)).round(4).tolist()
    [0.75]
    """
    X = np.count_nonzero(share)
    square = np.einsum("x,xmk->m", share, means * means)
    noise = np.einsum("x,xm->m", share, variance) * X / (X + 1)
    lost = np.divide(noise, square, out=np.ones_like(square), where=square > 0)
    return np.asarray(np.maximum(1.0 - lost, 0.0))


def _shares(grid: Grid) -> FloatArray:
    """Weights of the groups, 0 for those without an observed cell, summing to one."""
    seen = [
        bool(grid.cell_weights(slice(x, x + 1), slice(0, grid.n_contexts)).any())
        for x in range(grid.shape[0])
    ]
    weights = grid.observed_weights(np.array(seen))
    return np.asarray(weights / weights.sum())


def _group_blocks(X: int, per_group: int) -> Iterator[slice]:
    size = max(1, min(X, LIMIT // max(1, per_group)))
    for x in range(0, X, size):
        yield slice(x, min(x + size, X))


def _inner(
    flat: FloatArray, variance: FloatArray, *, rng: np.random.Generator, M: int
) -> FloatArray:
    """INNER samples [.., x,M,K] of the error of the means, rescaled to their exact variance."""
    n = variance.shape[0]
    z = (rng.standard_normal((INNER // 2, flat.shape[0])) @ flat).reshape(INNER // 2, -1, n, M)
    z = np.moveaxis(z[:, 1:], 1, -1)
    found = (z * z).sum(axis=-1).mean(axis=0)
    scale = np.sqrt(np.divide(variance, found, out=np.zeros_like(found), where=found > 0))
    z = z * scale[..., None]
    return _by_category(np.concatenate([z, -z]))


def _by_category(values: FloatArray) -> FloatArray:
    """The same array, stored category by category as the samples are: sums of both are faster."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(values, -1, 1)), 1, -1)


def _gaps(values: FloatArray, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """Differences; exactly 0, without rounding error, for models with the same answers."""
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return snap(values[first] - values[second])


def _mean(values: FloatArray, share: FloatArray) -> FloatArray:
    """[M,X,3] averaged over the groups with weight: [M,3]."""
    seen = np.where(share[:, None] > 0, values, 0.0)
    return np.asarray(np.einsum("x,mxt->mt", share, seen))


# --- Replicates of several models: the basis of trends and rankings ------------------------------


_BLOCK = 250


@dataclass(frozen=True, eq=False)
class Joint:
    """R, R^b, R^v of M models, corrected for the number of contexts, and B replicates of them.

    Attributes:
        values: [M,3].
        draws: [B,M,3]; in one replicate all models see the same contexts. Deviations are scaled
            up, because with few contexts their variance would be too small.
        n_eff: effective number of resampled contexts.
    """

    values: FloatArray
    draws: FloatArray
    n_eff: float

    def interval(
        self, value: float, draws: FloatArray, *, level: float = 0.95
    ) -> tuple[float, float]:
        """A symmetric interval for a number computed from `values`; replicates in draws [B]."""
        tail = float(stdtrit(max(self.n_eff - 1.0, 1.0), (1 + level) / 2))
        reach = tail * float(np.std(draws))
        return value - reach, value + reach


def joint_replicates(
    grids: Sequence[PreferenceGrid], *, replicates: int = 2000, seed: int = 0
) -> Joint:
    """Resample the contexts once for all models.

    `grids` are the preferences of M models over the same groups and contexts, with the same
    weights and one mask: the cells that every model has.

    Equal models get equal replicates. A single effective context gives replicates without spread,
    and an n_eff of 1 says so.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.random.default_rng(0).beta(5, 5, (4, 30))
    >>> two = [read_preferences(np.stack([p, 1 - p], -1))] * 2
    >>> found = joint_replicates(two, replicates=100)
    >>> found.draws.shape, bool((found.draws[:, 0] == found.draws[:, 1]).all())
    ((100, 2, 3), True)
    """
    if not grids:
        raise SettingsError("p_by_model: expected at least one model, found none")
    units = [Units.of(grid) for grid in grids]
    models = [BiasModel.of(u) for u in units]
    pairs = list(zip(units, models, strict=True))
    values = np.array([_risks(u.risk, u.mean, u.group_weights, b) for u, b in pairs])
    rng = np.random.default_rng(seed)
    draws = np.empty((replicates, len(units), 3))
    for start in range(0, replicates, _BLOCK):
        rows = slice(start, min(start + _BLOCK, replicates))
        multipliers = units[0].multipliers(rng, rows.stop - start)
        for i, (u, b) in enumerate(pairs):
            r, m = u.resampled(multipliers)
            draws[rows, i] = _risks(r, m, u.group_weights, b)
    q = float(np.sum(units[0].slots ** 2))
    if q < 1 - 1e-9:
        middle = draws.mean(axis=0)
        draws = middle + (draws - middle) / np.sqrt(1 - q)
    return Joint(values, draws, 1.0 / q)


def _risks(r: FloatArray, m: FloatArray, weights: FloatArray, model: BiasModel) -> FloatArray:
    """[..,3] from r [..,X] and the means of s [..,X,K]."""
    R = r @ weights
    bias = model.corrected(m)[0]
    return np.stack([R, bias, R - bias], axis=-1)
