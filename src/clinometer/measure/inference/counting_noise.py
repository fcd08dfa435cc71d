"""Preferences counted from sampled answers: counting noise inflates every risk."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.errors import SettingsError
from clinometer.measure.equations.criterion import RiskScale, criterion, read_scale
from clinometer.measure.equations.stereotype import scale
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import BoolArray, FloatArray, as_real

THINNINGS = 32
"""Random thinnings per cell: enough that they add far less noise than the answers themselves."""

LIKE = 40_000
"""Cells to make from a fitted distribution, at most twenty times the grid."""

WHOLE = 1e-3
"""How far p × samples may be from a whole number."""


def sampled_correction(
    grid: PreferenceGrid, samples: ArrayLike, **scaling: Unpack[RiskScale]
) -> FloatArray:
    """J of each cell [X,C], corrected for preferences that are shares of m sampled answers.

    A share of m answers scatters around the model's preference, and J, being convex, counts that
    scatter as risk: h(m) = E J = h(inf) + a/m + b/m² + ... Leaving out answers at random gives
    unbiased estimates of h at m/3 and 2m/3; a curve through these and h(m) is extrapolated to
    m = inf. For K = 2 an even m counts as m + 1 (h(2i) = h(2i + 1)).

    Args:
        grid: preferences [X,C,Y] that are shares: p × samples are whole numbers.
        samples: number of answers per cell: a number, [C] or [X,C]; at least 2.
        norm, normalize: as for `decompose`.

    Returns:
        [X,C], unbiased up to 1/m³; single cells scatter and may lie outside 0 to 1, so only means
        over cells are useful. Cells in which every answer was the same are unchanged. Missing
        cells are NaN. Thinning is random with a fixed seed: same input, same output.

    Fewer answers than `least_answers(K)` on average are an error.

    >>> from clinometer.measure.grid import read_preferences
    >>> rng = np.random.default_rng(0)
    >>> p = rng.binomial(10, rng.beta(5, 5, 4000)) / 10        # E J = 0.246
    >>> cells = np.stack([p, 1 - p], axis=-1)
    >>> better = sampled_correction(read_preferences(cells), 10)
    >>> round(float(np.abs(2 * p - 1).mean()), 2), round(float(better.mean()), 2)
    (0.34, 0.25)
    """
    out = unbiased_criterion(grid, samples, fitted=False, **scaling).T
    return out if grid.mask is None else np.where(grid.mask, out, np.nan)


def unbiased_criterion(
    grid: PreferenceGrid,
    samples: ArrayLike,
    *,
    fitted: bool,
    **scaling: Unpack[RiskScale],
) -> FloatArray:
    """The correction [C,X]; `fitted` subtracts the mean error of the curve, measured on answers
    simulated from Dirichlet distributions fitted to these."""
    norm, normalize = read_scale(**scaling)
    (X, C), K, mask, reference = grid.shape, len(grid.categories), grid.mask, grid.reference
    m = _samples(samples, (X, C)).T
    seen = np.ones((C, X), dtype=bool) if mask is None else mask.T
    if seen.any() and (typical := float(m[seen].mean())) < least_answers(K):
        raise SettingsError(
            f"samples: expected at least {least_answers(K)} answers a cell for {K} categories, "
            f"found {typical:.1f} on average; sample more answers"
        )
    exact = np.moveaxis(np.asarray(grid.values, dtype=np.float64), 0, 1) * m[..., None]
    counts = np.where(seen[..., None], np.round(exact), 0).astype(np.int64)
    off = seen & ((np.abs(exact - counts).max(axis=-1) > WHOLE) | (counts.sum(axis=-1) != m))
    if off.any():
        c, x = (int(i) for i in np.argwhere(off)[0])
        raise SettingsError(
            f"samples: expected p × samples to be whole numbers, found {exact[c, x].tolist()} "
            f"in group {x}, context {c}; give the number of answers each cell rests on"
        )
    size = scale(reference) if normalize else np.ones(reference.shape[:2])
    star = np.broadcast_to(np.moveaxis(reference, 0, 1), (C, X, K))
    divisor = np.broadcast_to(size.T, (C, X))
    rng = np.random.default_rng(0)

    def extrapolated(counts: NDArray[np.int64], seen: BoolArray) -> FloatArray:
        shares = counts / np.maximum(m, 1)[..., None]
        out = criterion((shares / star - 1.0) / divisor[..., None], norm)
        for total in np.unique(m[seen]).tolist():
            cells = seen & (m == total)
            nodes, factors = extrapolation(int(total), K)
            value = factors[-1] * out[cells]
            for node, factor in zip(nodes[:-1], factors[:-1], strict=True):
                thinned = np.zeros(int(cells.sum()))
                for _ in range(THINNINGS):
                    left = _thin(counts[cells], node, rng)
                    stereo = (left / (node * star[cells]) - 1.0) / divisor[cells][:, None]
                    thinned += criterion(stereo, norm)
                value = value + factor * thinned / THINNINGS
            out[cells] = value
        return out

    found = extrapolated(counts, seen)
    if not fitted:
        return found
    # The curve's remaining error is nearly that on answers simulated from a fitted distribution.
    left, rounds = 0.0, max(1, min(20, LIKE // max(int(seen.sum()), 1)))
    for _ in range(rounds):
        p = _like(counts, m, seen, rng)
        exact = criterion((p / star - 1.0) / divisor[..., None], norm)
        left += float((extrapolated(rng.multinomial(m, p), seen) - exact)[seen].mean()) / rounds
    return np.where(seen, found - left, found)


def _like(
    counts: NDArray[np.int64], m: NDArray[np.int64], seen: BoolArray, rng: np.random.Generator
) -> FloatArray:
    """Preferences [C,X,K] from Dirichlet distributions with the mean of each group and, for all
    groups, the spread that the counts show beyond their own noise."""
    shares = np.where(seen[..., None], counts / np.maximum(m, 1)[..., None], 0.0)
    mean = shares.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)[:, None]
    room = np.broadcast_to(1 - (mean**2).sum(axis=-1), seen.shape)[seen]
    spread = ((shares - mean) ** 2).sum(axis=-1)[seen]
    once = 1.0 / m[seen]
    kept = float((spread - room * once).sum() / max(float((room * (1 - once)).sum()), 1e-12))
    size = 1.0 / min(max(kept, 0.002), 0.98) - 1.0
    made = rng.standard_gamma(np.broadcast_to(np.maximum(mean, 1e-3) * size, counts.shape))
    made = made + 1e-300
    return np.asarray(made / made.sum(axis=-1, keepdims=True))


def least_answers(K: int) -> int:
    """How many answers a cell needs on average for K categories: 3 up to five, then 5.

    With that many, R was off by at most 0.014 in simulations (docs/inference.md).
    """
    return 3 if K <= 5 else 5


def extrapolation(m: int, K: int) -> tuple[list[int], FloatArray]:
    """Increasing numbers of answers up to m, and the factors of h at each that give h at infinity.

    >>> nodes, factors = extrapolation(9, 3)
    >>> nodes, factors.round(3).tolist()
    ([3, 6, 9], [0.5, -4.0, 4.5])
    """
    nodes = sorted({max(1, round(m / 3)), max(1, round(2 * m / 3)), m})
    places = [node | 1 if K == 2 else node for node in nodes]
    if len(set(places)) < len(places):  # m = 3: two answers are as informative
        nodes, places = [nodes[0], nodes[-1]], [places[0], places[-1]]
    curve = np.vander(1.0 / np.array(places), len(places), increasing=True)
    return nodes, np.asarray(np.linalg.inv(curve)[0])


def _thin(
    counts: np.ndarray[tuple[int, int], np.dtype[np.int64]], node: int, rng: np.random.Generator
) -> FloatArray:
    """`node` of the answers of each cell [n,K], without replacement."""
    left = np.full(len(counts), node)
    rest = counts.sum(axis=1)
    out = np.empty(counts.shape)
    for y in range(counts.shape[1] - 1):
        rest = rest - counts[:, y]
        out[:, y] = rng.hypergeometric(counts[:, y], rest, left)
        left = left - out[:, y].astype(np.int64)
    out[:, -1] = left
    return out


def _samples(
    samples: ArrayLike, shape: tuple[int, int]
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    array = as_real(samples, name="samples")
    if array.ndim > 2 or array.shape not in ((), shape[1:], shape):
        raise SettingsError(
            f"samples: expected a number, shape {shape[1:]} or {shape}, found {array.shape}"
        )
    if not ((array >= 2) & (array == np.round(array))).all():
        raise SettingsError(
            f"samples: expected whole numbers of at least 2, found {float(array.min())}; "
            "one answer per cell does not distinguish preference from chance"
        )
    return np.array(np.broadcast_to(array, shape), dtype=np.int64)
