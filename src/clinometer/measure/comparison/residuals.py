"""What each context (or cluster) contributes to the risks of each model: weighted residuals.

With a_c the weights of the contexts of a group (sum one), the residual of unit g in z is
u_g = sum over its contexts of a_c (z_c - mean z), and its factor 1 / sqrt(1 - 2 a_g + sum of a²)
restores what subtracting the mean removes from the residual of a heavily weighted unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from clinometer.measure.equations.criterion import RiskScale, criterion, read_scale, slope
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap


@dataclass(frozen=True, eq=False)
class Residuals:
    """A block of x groups: risks [M,x,3], means [x,M,K], residuals [G,K+1,x,M], weights [G,x].

    `factor` [G,x] is the root above; `linear` [G,x,M,3] are the residuals of the risks, with
    r^b taken as linear around the mean; `norm` is that of the criterion.
    """

    risks: FloatArray
    means: FloatArray
    residuals: FloatArray
    weights: FloatArray
    factor: FloatArray
    linear: FloatArray
    norm: float

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
    **scaling: Unpack[RiskScale],
) -> Residuals:
    """Risks, means and residuals of a block of groups, for each model; see `Residuals`."""
    norm, normalize = read_scale(**scaling)
    first = grids[0]
    columns, M, K = slice(0, first.n_contexts), len(grids), len(first.categories)
    a = first.cell_weights(rows, columns)
    n, total = a.shape[0], a.sum(axis=1, keepdims=True)
    np.divide(a, total, out=a, where=total > 0)
    weights = _by_unit(a, units)
    kept = 1.0 - 2.0 * weights + (weights**2).sum(axis=0)
    factor = np.sqrt(np.divide(1.0, kept, out=np.zeros_like(kept), where=kept > ROUNDING))
    risks, means = np.full((M, n, 3), np.nan), np.zeros((n, M, K))
    residuals = np.empty((weights.shape[0], K + 1, n, M))
    for i, grid in enumerate(grids):
        s, largest = grid.stereotypes(rows, columns, normalize=normalize)
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
    linear[..., 1] = slope(means, np.moveaxis(residuals[:, 1:], 1, -1), norm)
    linear[..., 2] = linear[..., 0] - linear[..., 1]
    return Residuals(risks, means, residuals, weights, factor, linear, norm)


def _by_unit(values: FloatArray, units: NDArray[np.intp]) -> FloatArray:
    """[x,C] added up by unit: [G,x]."""
    G = int(units.max()) + 1
    if units.size == G:  # each context its own unit, in order
        return values.T
    return np.stack([np.bincount(units, weights=row, minlength=G) for row in values], axis=1)
