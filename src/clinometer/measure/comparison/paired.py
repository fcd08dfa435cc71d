"""The paired bootstrap behind `compare`: one multiplier a context, the same for every model.

The resampling unit is the context (or a cluster of contexts). A replicate gives context c the
multiplier xi_c ~ N(0,1) and moves the means of *all* models and groups with it:

    e* = sum over c of xi_c a_c (z_c - mean z) / sqrt(1 - 2 a_c + sum of a²),

with a_c the weights of the contexts (sum one) and z the stereotypes s, or J(s). The root undoes
what the mean takes out of the residual of a heavy context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinometer.measure.comparison.residuals import Residuals, weighted_residuals
from clinometer.measure.equations.criterion import criterion
from clinometer.measure.grid import Grid, PreferenceGrid
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap
from clinometer.statistics.sign_flips import flip_interval, flip_p_value

INNER = 64
"""Draws for the correction inside each replicate."""

LEAST_FOR_NONE = 30
"""Effective units from which contexts that all agree mean an interval of width 0."""

LIMIT = 1 << 21
"""Numbers held in one temporary array (16 MB)."""


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Differences of pairs of models, [P,..,3] for r, r^b, r^v.

    Attributes:
        value: plug-in difference.
        corrected: the same with r^b replaced by 2 J(m) - E* J(m + e*).
        low, high, p: interval and p-value of the corrected difference, by flipping the sign of
            each unit's contribution; NaN where too few units carry the weight.
    """

    value: FloatArray
    corrected: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray


@dataclass(frozen=True, eq=False)
class PairedDraws:
    """What the paired bootstrap gives.

    Attributes:
        risks: [M,X,3], plug-in r, r^b, r^v; NaN for missing groups.
        overall: [M,3], plug-in R, R^b, R^v.
        corrected: [M,3], the same, corrected.
        groups: contrasts [P,X,3]; total: contrasts [P,1,3] of R, R^b, R^v.
        errors: [B,M,3], errors of the corrected R, R^b, R^v in each replicate, mean 0.
        n_eff: effective number of units: contexts, or clusters of them.
    """

    risks: FloatArray
    overall: FloatArray
    corrected: FloatArray
    groups: Contrasts
    total: Contrasts
    errors: FloatArray
    n_eff: float


def paired_draws(
    grids: Sequence[PreferenceGrid],
    *,
    norm: float,
    normalize: bool,
    units: NDArray[np.intp],
    pairs: Sequence[tuple[int, int]],
    replicates: int,
    level: float,
    seed: int,
) -> PairedDraws:
    """Risks of each model and the bootstrap distribution of the errors of their differences.

    Each draw is used with both signs, so `replicates` is rounded up to an even number and the
    error of r, which is linear, has mean 0. Memory: a few arrays of LIMIT numbers beyond
    [B,M,3] and, per block of groups, the stereotypes.
    """
    (X, C), M, K = grids[0].shape, len(grids), len(grids[0].categories)
    half = (replicates + 1) // 2
    share = _shares(grids[0])
    G = int(units.max()) + 1
    risks, corrected = np.full((M, X, 3), np.nan), np.full((M, X, 3), np.nan)
    errors = np.zeros((2 * half, M, 3))
    linear, adjusted, weights = np.zeros((G, M, 3)), np.zeros((G, M, 3)), np.zeros(G)
    tests = np.full((3, len(pairs), X, 3), np.nan)
    made: Residuals | None = None

    def part_of(rows: slice) -> Residuals:
        return weighted_residuals(grids, rows=rows, norm=norm, normalize=normalize, units=units)

    means, variances = np.zeros((X, M, K)), np.zeros((X, M))
    row_blocks = list(_group_blocks(X, C * M * (K + 1)))
    for rows in row_blocks:
        made = part_of(rows)
        means[rows], variances[rows] = made.means, made.variance()
    kept = signal(means, variances, share)
    for rows in row_blocks:
        part = made if made is not None and len(row_blocks) == 1 else part_of(rows)
        w = share[rows]
        risks[:, rows] = part.risks
        weights += part.weights @ w
        linear += np.einsum("x,gxmt->gmt", w, part.linear)
        adjusted += np.einsum("x,gx,gxmt->gmt", w, part.factor, part.linear)
        first, second = np.zeros((2, len(pairs), w.size, 3))
        middle = np.zeros((w.size, M))
        for chunk, draw, raw in _draws(part, kept, norm=norm, half=half, seed=seed):
            errors[chunk] += np.einsum("x,bxmt->bmt", w, draw)
            middle += raw.sum(axis=0)
            for q, (i, j) in enumerate(pairs):
                gap = draw[:, :, i] - draw[:, :, j]
                first[q] += gap.sum(axis=0)
                second[q] += (gap * gap).sum(axis=0)
        variance = second / (2 * half) - (first / (2 * half)) ** 2
        corrected[:, rows] = _corrected(part.risks, (middle / (2 * half)).T)
        tests[:, :, rows] = _tested(
            _gaps(corrected[:, rows], pairs),
            variance,
            part.linear,
            part.factor[..., None, None] * part.linear,
            part.weights,
            pairs,
            level,
        )
    errors -= errors.mean(axis=0)
    gaps = np.stack([errors[:, i] - errors[:, j] for i, j in pairs])
    overall, overall_corrected = _mean(risks, share), _mean(corrected, share)
    gap = _gaps(overall_corrected[:, None], pairs)
    total = _tested(
        gap,
        (gaps * gaps).mean(axis=1)[:, None],
        linear[:, None],
        adjusted[:, None],
        weights[:, None],
        pairs,
        level,
    )
    return PairedDraws(
        risks=risks,
        overall=overall,
        corrected=overall_corrected,
        groups=Contrasts(_gaps(risks, pairs), _gaps(corrected, pairs), *tests),
        total=Contrasts(_gaps(overall[:, None], pairs), gap, *total),
        errors=errors,
        n_eff=1.0 / float((weights**2).sum()),
    )


def signal(means: FloatArray, variance: FloatArray, share: FloatArray) -> FloatArray:
    """What of the squared mean stereotypes is not sampling error, for each model [M].

    (1 - X/(X+1) sum of w_x v_x / sum of w_x |m_x|²)⁺ over the X groups, with m [X,M,K] the mean
    stereotypes and v [X,M] the sums of their sampling variances: |m|² is on average |mu|² + v.
    0: nothing but noise around parity; 1: leanings far above the noise.

    J has a corner at parity, so a bootstrap around m itself believes a model at parity to lean,
    and gives the difference of two such models too wide a distribution; around
    m sqrt(signal) the leanings have their right size. X/(X+1) is for few groups, where
    the ratio itself is noise; it was chosen by simulation (benchmarks/compare.py).

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


def _draws(
    part: Residuals, kept: FloatArray, *, norm: float, half: int, seed: int
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Blocks of replicates: errors [b,x,M,3] around m sqrt(signal), and J(m + e*) [b,x,M].

    The seed makes the same multipliers for each block of groups.
    """
    G, parts, n, M = part.residuals.shape
    flat = part.adjusted().reshape(G, -1)
    middle = part.means * np.sqrt(kept)[:, None]
    settled = criterion(middle, norm)
    rng = np.random.default_rng(seed)
    inner = _inner(flat, part.variance(), rng=np.random.default_rng(rng.integers(1 << 62)), M=M)
    size = max(1, min(half, LIMIT // max(G, flat.shape[1])))
    for start in range(0, half, size):
        stop = min(start + size, half)
        moved = (rng.standard_normal((stop - start, G)) @ flat).reshape(-1, parts, n, M)
        for offset, sign in ((0, 1.0), (half, -1.0)):
            e = sign * np.moveaxis(moved[:, 1:], 1, -1)
            draw = np.empty((stop - start, n, M, 3))
            draw[..., 0] = sign * moved[:, 0]
            around = np.zeros((stop - start, n, M))
            for z in inner:
                around += criterion(middle + e + z, norm)
            draw[..., 1] = 2 * criterion(middle + e, norm) - around / len(inner) - settled
            draw[..., 2] = draw[..., 0] - draw[..., 1]
            yield slice(offset + start, offset + stop), draw, criterion(part.means + e, norm)


def _inner(
    flat: FloatArray, variance: FloatArray, *, rng: np.random.Generator, M: int
) -> FloatArray:
    """INNER draws [.., x,M,K] of the error of the means, rescaled to their exact variance."""
    n = variance.shape[0]
    z = (rng.standard_normal((INNER // 2, flat.shape[0])) @ flat).reshape(INNER // 2, -1, n, M)
    z = np.moveaxis(z[:, 1:], 1, -1)
    found = (z * z).sum(axis=-1).mean(axis=0)
    scale = np.sqrt(np.divide(variance, found, out=np.zeros_like(found), where=found > 0))
    z = z * scale[..., None]
    return np.concatenate([z, -z])


def _corrected(risks: FloatArray, expected: FloatArray) -> FloatArray:
    """r^b becomes 2 r^b - E* J(m + e*), r^v what is left of r; all [M,x,..]."""
    r_bias = 2 * risks[..., 1] - expected
    return np.stack([risks[..., 0], r_bias, risks[..., 0] - r_bias], axis=-1)


def _tested(
    gap: FloatArray,
    variance: FloatArray,
    linear: FloatArray,
    adjusted: FloatArray,
    weights: FloatArray,
    pairs: Sequence[tuple[int, int]],
    level: float,
) -> FloatArray:
    """Low, high and p [3,P,x,3] of the differences gap [P,x,3], by flipping units.

    Unit g contributes a_g times the difference plus its residual. For r that is all there is to
    it. r^b is not linear: its residuals are those of the tangent at the observed mean, scaled to
    the variance that was simulated without that simplification; r^v is what is left of r.
    """
    found = np.full((3, *gap.shape), np.nan)
    a = weights.T
    alone = (a**2).sum(axis=1) >= 1 - ROUNDING  # one unit carries everything: nothing to flip
    few = (a**2).sum(axis=1) > 1 / LEAST_FOR_NONE
    for q, (i, j) in enumerate(pairs):
        plain, raised = linear[:, :, i] - linear[:, :, j], adjusted[:, :, i] - adjusted[:, :, j]
        exact, lifted = (plain * plain).sum(axis=0), (raised * raised).sum(axis=0)
        scale = np.divide(variance[q], lifted, out=np.ones_like(exact), where=lifted > 0)
        scale[:, 0] = 1.0
        flat = (exact[:, 1] <= ROUNDING**2) & (variance[q, :, 1] > ROUNDING**2)
        for t in range(3):
            u = (plain[..., t] * np.sqrt(np.maximum(scale[:, t], 0.0))).T
            found[2, q, :, t] = flip_p_value(u + a * gap[q, :, t, None])
            low, high = flip_interval(gap[q, :, t], u, a, level=level)
            # A tangent that is 0 says nothing; no spread in a few contexts says little.
            unknown = (flat & (t > 0)) | (few & (high - low <= ROUNDING))
            found[0, q, :, t] = np.where(unknown, np.nan, low)
            found[1, q, :, t] = np.where(unknown, np.nan, high)
            found[2, q, flat & (t > 0), t] = 1.0
    found[:, :, alone] = np.nan
    return found


def _gaps(values: FloatArray, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """Differences; two models whose answers are the same differ by nothing, not by rounding."""
    return snap(np.stack([values[i] - values[j] for i, j in pairs]))


def _mean(values: FloatArray, share: FloatArray) -> FloatArray:
    """[M,X,3] averaged over the groups with weight: [M,3]."""
    seen = np.where(share[:, None] > 0, values, 0.0)
    return np.asarray(np.einsum("x,mxt->mt", share, seen))
