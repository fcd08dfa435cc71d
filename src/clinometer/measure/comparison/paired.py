"""The paired bootstrap behind `compare`: one multiplier per context, the same for every model.

The resampling unit is the context (or a cluster of contexts). A replicate gives context c the
multiplier xi_c ~ N(0,1) and moves the means of *all* models and groups with it:

    e* = sum over c of xi_c a_c (z_c - mean z) / sqrt(1 - 2 a_c + sum of a²),

with a_c the weights of the contexts (sum one) and z the stereotypes s, or J(s). The root restores
what subtracting the mean removes from the residual of a heavily weighted context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from clinometer.measure.comparison.contrast import contrast, tested
from clinometer.measure.comparison.residuals import Residuals, weighted_residuals
from clinometer.measure.equations.criterion import RiskScale, criterion
from clinometer.measure.grid import Grid, PreferenceGrid
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap

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
    units: NDArray[np.intp],
    pairs: Sequence[tuple[int, int]],
    replicates: int,
    level: float,
    seed: int,
    **scaling: Unpack[RiskScale],
) -> PairedDraws:
    """Risks of each model and the bootstrap distribution of the errors of their differences.

    Each multiplier is used with both signs, so `replicates` is rounded up to an even number and the
    error of r, which is linear, has mean 0. Memory: a few arrays of LIMIT numbers beyond
    [B,M,3] and, per block of groups, the stereotypes.
    """
    (X, C), M, K = grids[0].shape, len(grids), len(grids[0].categories)
    half = (replicates + 1) // 2
    share = _shares(grids[0])
    G = int(units.max()) + 1
    risks, corrected = np.full((M, X, 3), np.nan), np.full((M, X, 3), np.nan)
    errors = np.zeros((2 * half, M, 3))
    residuals, weights = np.zeros((len(pairs), 2, G, 3)), np.zeros(G)
    pooled, tests = np.full((len(pairs), X, 3), np.nan), np.full((3, len(pairs), X, 3), np.nan)
    made: Residuals | None = None

    def part_of(rows: slice) -> Residuals:
        return weighted_residuals(grids, rows=rows, units=units, **scaling)

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
        middle = np.zeros((w.size, M))
        for chunk, draw, raw in _draws(part, kept, half=half, seed=seed):
            errors[chunk] += np.einsum("x,bxmt->bmt", w, draw)
            middle += raw.sum(axis=0)
        corrected[:, rows] = _corrected(part.risks, (middle / (2 * half)).T)
        flat, rng = part.adjusted().reshape(G, -1), np.random.default_rng(seed)
        noise = _inner(flat, part.variance(), rng=rng, M=M)
        for q, pair in enumerate(pairs):
            pooled[q, rows], own = contrast(part, pair, noise)
            tests[:, q, rows] = tested(pooled[q, rows], own, part.weights, level)
            residuals[q] += np.einsum("x,agxt->agt", w, np.where(w[:, None] > 0, own, 0.0))
    errors -= errors.mean(axis=0)
    overall, overall_corrected = _mean(risks, share), _mean(corrected, share)
    gap = snap(_mean(pooled, share))[:, None]
    total = [
        tested(g, u[:, :, None], weights[:, None], level)
        for g, u in zip(gap, residuals, strict=True)
    ]
    overall_tests = np.stack(total, axis=1) if total else np.empty((3, 0, 1, 3))
    return PairedDraws(
        risks=risks,
        overall=overall,
        corrected=overall_corrected,
        groups=Contrasts(_gaps(risks, pairs), pooled, *tests),
        total=Contrasts(_gaps(overall[:, None], pairs), gap, *overall_tests),
        errors=errors,
        n_eff=1.0 / float((weights**2).sum()),
    )


def signal(means: FloatArray, variance: FloatArray, share: FloatArray) -> FloatArray:
    """The share of the squared mean stereotypes that is not sampling error, per model [M].

    (1 - X/(X+1) sum of w_x v_x / sum of w_x |m_x|²)⁺ over the X groups, with m [X,M,K] the mean
    stereotypes and v [X,M] the sums of their sampling variances: |m|² is on average |mu|² + v.
    0: only noise around parity; 1: leans far above the noise.

    J has a kink at parity, so a bootstrap around m itself treats a model at parity as leaning,
    and gives the difference of two such models too wide a distribution; around
    m sqrt(signal) the leans have the right size. X/(X+1) allows for few groups, where the
    ratio itself is noisy; it was chosen by simulation (benchmarks/compare.py).

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
    part: Residuals, kept: FloatArray, *, half: int, seed: int
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Blocks of replicates: errors [b,x,M,3] around m sqrt(signal), and J(m + e*) [b,x,M].

    The seed gives the same multipliers for each block of groups.
    """
    G, parts, n, M = part.residuals.shape
    flat = part.adjusted().reshape(G, -1)
    middle = part.means * np.sqrt(kept)[:, None]
    settled = criterion(middle, part.norm)
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
            at = middle + e
            around = around_samples(at, inner, part.norm)
            draw[..., 1] = 2 * criterion(at, part.norm) - around - settled
            draw[..., 2] = draw[..., 0] - draw[..., 1]
            yield slice(offset + start, offset + stop), draw, criterion(part.means + e, part.norm)


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


def around_samples(at: FloatArray, inner: FloatArray, norm: float) -> FloatArray:
    """J(at + z), [..,x,M], averaged over the samples z [I,x,M,K]; the second half of them is the
    first with the other sign.

    Two categories that are each other's opposite have J(s) = |s|, and |a + z| and |a - z| have
    the mean max(|a|, |z|): the same number from a sixth of the work.
    """
    total = np.zeros(at.shape[:-1])
    if _opposite(at) and _opposite(inner):
        size, half = np.abs(at[..., 0]), np.abs(inner[: len(inner) // 2, ..., 0])
        larger = np.empty_like(size)
        for z in half:
            total += np.maximum(size, z, out=larger)
        return np.asarray(total / len(half))
    moving = np.empty_like(at)
    for z in inner:
        total += criterion(np.add(at, z, out=moving), norm)
    return np.asarray(total / len(inner))


def _opposite(s: FloatArray) -> bool:
    """Whether the stereotypes of two categories add up to nothing, as those against parity do."""
    return s.shape[-1] == 2 and bool((np.abs(s[..., 0] + s[..., 1]) <= ROUNDING).all())


def _by_category(values: FloatArray) -> FloatArray:
    """The same array, stored category by category as the samples are: sums of both are faster."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(values, -1, 1)), 1, -1)


def _corrected(risks: FloatArray, expected: FloatArray) -> FloatArray:
    """r^b becomes 2 r^b - E* J(m + e*), and r^v the remainder of r; all [M,x,..]."""
    r_bias = 2 * risks[..., 1] - expected
    return np.stack([risks[..., 0], r_bias, risks[..., 0] - r_bias], axis=-1)


def _gaps(values: FloatArray, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """Differences; exactly 0, without rounding error, for models with the same answers."""
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return snap(values[first] - values[second])


def _mean(values: FloatArray, share: FloatArray) -> FloatArray:
    """[M,X,3] averaged over the groups with weight: [M,3]."""
    seen = np.where(share[:, None] > 0, values, 0.0)
    return np.asarray(np.einsum("x,mxt->mt", share, seen))
