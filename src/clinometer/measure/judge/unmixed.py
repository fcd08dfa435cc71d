"""J of what people would say, from what a judge said of a number of replies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clinometer.measure.equations.criterion import criterion
from clinometer.measure.inference.counting_noise import thin
from clinometer.statistics.arrays import FloatArray

Counts = NDArray[np.int64]

THINNINGS = 32
"""Random thinnings of a cell."""

MADE = 40_000
"""Cells to make from a fitted distribution, at most ten times the cells there are."""


def unmixed_criterion(
    counts: Counts,
    inverse: FloatArray,
    star: FloatArray,
    divisor: FloatArray,
    *,
    norm: float,
    fitted: bool = True,
) -> FloatArray:
    """J of cells [n], corrected for the counting noise of replies that a judge assigned.

    The shares of the judge times the inverse of its matrix are unbiased for people's shares, but
    scatter more, and J, being convex, counts scatter as risk. As for plain answers
    (`sampled_correction`) the curve of J over the number of replies m, of which m/3 and 2m/3 are
    had by leaving replies out, is followed to infinity; what it leaves is measured on replies
    made from a distribution like this one (`fitted`).

    Args:
        counts: [n, K], replies by the judge's category.
        inverse: [K, K], of the judge's matrix.
        star: [n, K], p*; divisor: [n], the scale of s.
        norm: k of the criterion.

    Returns:
        [n]; single cells scatter, only their mean is of use.
    """
    rng = np.random.default_rng(0)

    def of_shares(shares: FloatArray, rows: NDArray[np.bool_] | slice) -> FloatArray:
        s = (shares @ inverse / star[rows] - 1.0) / divisor[rows][:, None]
        return criterion(s, norm)

    def extrapolated(counts: Counts) -> FloatArray:
        m = counts.sum(axis=1)
        out = of_shares(counts / m[:, None], slice(None))
        for total in np.unique(m).tolist():
            rows = m == total
            nodes = sorted({max(1, round(total / 3)), max(1, round(2 * total / 3)), total})
            factors = np.linalg.inv(np.vander(1.0 / np.array(nodes), increasing=True))[0]
            value = factors[-1] * out[rows]
            for node, factor in zip(nodes[:-1], factors[:-1], strict=True):
                for _ in range(THINNINGS):
                    kept = thin(counts[rows], node, rng) / node
                    value = value + factor / THINNINGS * of_shares(kept, rows)
            out[rows] = value
        return out

    found = extrapolated(counts)
    if not fitted:
        return found
    left, rounds = 0.0, max(1, min(10, MADE // len(counts)))
    m = counts.sum(axis=1)
    matrix = np.linalg.inv(inverse)
    for _ in range(rounds):
        p = _like(counts, inverse, rng)
        exact = criterion((p / star - 1.0) / divisor[:, None], norm)
        left += float((extrapolated(rng.multinomial(m, p @ matrix)) - exact).mean()) / rounds
    return found - left


def _like(counts: Counts, inverse: FloatArray, rng: np.random.Generator) -> FloatArray:
    """People's shares [n, K] from a Dirichlet distribution with the mean and, beyond the noise of
    counting, the spread that the judge's counts show."""
    m = counts.sum(axis=1)
    shares = counts / m[:, None]
    mean = shares.mean(axis=0)
    away = shares - mean
    noise = (np.diag(mean) - np.outer(mean, mean)) * float((1.0 / m).mean())
    between = (away.T @ away / len(counts) - noise) / max(1.0 - float((1.0 / m).mean()), 1e-9)
    spread = float(np.trace(inverse.T @ between @ inverse))
    center = np.maximum(mean @ inverse, 1e-3)
    center = center / center.sum()
    kept = min(max(spread / max(1.0 - float(center @ center), 1e-12), 0.002), 0.98)
    made = rng.standard_gamma(center * (1.0 / kept - 1.0), counts.shape) + 1e-300
    return np.asarray(made / made.sum(axis=1, keepdims=True))
