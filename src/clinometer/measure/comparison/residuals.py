"""What each context (or cluster of contexts) adds to the risks of each model: weighted residuals.

With a_c the weights of the contexts of a group (sum one), the residual of unit g in z is
u_g = sum over its contexts of a_c (z_c - mean z), and its factor 1 / sqrt(1 - 2 a_g + sum of a²)
undoes what the mean takes out of the residual of a heavy unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinometer.measure.equations.criterion import criterion
from clinometer.measure.equations.risk import stereotype_block
from clinometer.measure.grid import Grid, preference_block
from clinometer.statistics.arrays import ROUNDING, FloatArray, RealArray, snap


@dataclass(frozen=True, eq=False)
class Residuals:
    """A block of x groups: risks [M,x,3], means [x,M,K], residuals [G,K+1,x,M], weights [G,x].

    `factor` [G,x] is the root above; `linear` [G,x,M,3] are the residuals of the risks, with
    r^b taken as linear around the mean.
    """

    risks: FloatArray
    means: FloatArray
    residuals: FloatArray
    weights: FloatArray
    factor: FloatArray
    linear: FloatArray

    def adjusted(self) -> FloatArray:
        """Residuals times the factor."""
        return np.asarray(self.residuals * self.factor[:, None, :, None])

    def variance(self) -> FloatArray:
        """Sum over the categories of the sampling variances of the means, [x,M]."""
        return np.asarray((self.adjusted()[:, 1:] ** 2).sum(axis=(0, 1)))


def weighted_residuals(
    arrays: Sequence[RealArray],
    grid: Grid,
    *,
    rows: slice,
    reference: FloatArray,
    norm: float,
    normalize: bool,
    units: NDArray[np.intp],
) -> Residuals:
    """Risks, means and residuals of a block of groups, for each model; see `Residuals`."""
    columns, M, K = slice(0, grid.n_contexts), len(arrays), arrays[0].shape[2]
    a = grid.cell_weights(rows, columns)
    n, total = a.shape[0], a.sum(axis=1, keepdims=True)
    np.divide(a, total, out=a, where=total > 0)
    weights = _by_unit(a, units)
    kept = 1.0 - 2.0 * weights + (weights**2).sum(axis=0)
    factor = np.sqrt(np.divide(1.0, kept, out=np.zeros_like(kept), where=kept > ROUNDING))
    risks, means = np.full((M, n, 3), np.nan), np.zeros((n, M, K))
    residuals = np.empty((weights.shape[0], K + 1, n, M))
    for i, array in enumerate(arrays):
        s, largest = stereotype_block(
            preference_block(array, grid, rows=rows, columns=columns),
            reference,
            grid=grid,
            rows=rows,
            columns=columns,
            normalize=normalize,
        )
        tolerance = ROUNDING if normalize else ROUNDING * max(1.0, largest)
        j = criterion(s, norm)
        r, m = (a * j).sum(axis=1), (a[..., None] * s).sum(axis=1)
        means[:, i] = m
        risks[i, :, 0], risks[i, :, 1] = snap(r, tolerance), snap(criterion(m, norm), tolerance)
        risks[i, :, 2] = snap(risks[i, :, 0] - risks[i, :, 1], tolerance)
        residuals[:, 0, :, i] = _by_unit(a * (j - r[:, None]), units)
        for y in range(K):
            residuals[:, y + 1, :, i] = _by_unit(a * (s[..., y] - m[:, None, y]), units)
    risks[:, total[:, 0] == 0] = np.nan
    linear = np.empty((weights.shape[0], n, M, 3))
    linear[..., 0] = residuals[:, 0]
    linear[..., 1] = np.einsum("gyxm,xmy->gxm", residuals[:, 1:], gradient(means, norm))
    linear[..., 2] = linear[..., 0] - linear[..., 1]
    return Residuals(risks, means, residuals, weights, factor, linear)


def gradient(mean: FloatArray, norm: float) -> FloatArray:
    """The slope of J at the mean stereotypes [..,K]: J(m) is the sum of slope times m; 0 at 0.

    >>> gradient(np.array([0.3, 0.4, -0.7]), np.inf).tolist()
    [0.0, 1.0, 0.0]
    """
    positive, j = np.maximum(mean, 0.0), criterion(mean, norm)[..., None]
    if np.isinf(norm):
        top = np.argmax(mean, axis=-1)[..., None] == np.arange(mean.shape[-1])
        return np.where(top & (j > 0), 1.0, 0.0)
    ratio = np.divide(positive, j, out=np.zeros_like(positive), where=j > 0)
    return np.where(ratio > 0, ratio ** (norm - 1.0), 0.0)


def _by_unit(values: FloatArray, units: NDArray[np.intp]) -> FloatArray:
    """[x,C] added up by unit: [G,x]."""
    G = int(units.max()) + 1
    if units.size == G:  # each context its own unit, in order
        return values.T
    return np.stack([np.bincount(units, weights=row, minlength=G) for row in values], axis=1)
