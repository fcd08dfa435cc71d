"""Risks from a judge's categories, as people would have assigned them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from clinometer.measure.equations.criterion import checked_norm, criterion
from clinometer.measure.equations.stereotype import scale
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference.bootstrap import estimate
from clinometer.measure.inference.noise import ExtraError
from clinometer.measure.judge.confusion import Confusion
from clinometer.measure.judge.unmixed import unmixed_criterion
from clinometer.measure.results import RiskReport
from clinometer.statistics.arrays import FloatArray

STEP = 0.01
"""By how much a share of the judge's matrix is moved to see how far the risks move."""


def calibrated_risks(
    grid: PreferenceGrid,
    confusion: Confusion,
    *,
    samples: FloatArray | None = None,
    norm: float = np.inf,
    normalize: bool = True,
    level: float = 0.95,
    clusters: Sequence[object] | None = None,
) -> RiskReport:
    """The risks that people's categories would give, with intervals that hold both errors.

    A judge that calls a reply of category y by the name j with probability M_yj turns people's
    shares p into q = p M; so p = q M⁻¹ estimates people's shares without bias, and s is as linear
    in q as it is in p. J is corrected for the noise of counting (`unmixed_criterion`). Intervals
    include the error of M: it moves the means of all groups together, as a context does, so its
    shifts, by the delta method, stand beside those of the contexts (`ExtraError`).

    Args:
        grid: shares of the judge's categories.
        confusion: of people and judge, over the grid's categories.
        samples: [X, C], replies behind each cell; None: q is exact (a judge's probabilities over
            all replies).
        norm, normalize, level, clusters: as for `bootstrap`.

    Returns:
        The risks; R and R_volatility are at least 0. Cells are not cut to 0..1 before averaging:
        that would bring the bias back.
    """
    k = checked_norm(norm)
    cells = _Cells.of(grid, samples, norm=k, normalize=normalize)
    inverse = _inverse(confusion.matrix)
    better = replace(grid, values=np.asarray(cells.q @ inverse))
    report, _ = estimate(
        better,
        norm=k,
        normalize=normalize,
        level=level,
        clusters=clusters,
        correct=False,
        criteria=cells.criteria(inverse),
        more=_label_errors(cells, confusion),
    )
    return _named(report)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a grid: shares q and counts [X, C, K], and what makes s of them."""

    q: FloatArray
    counts: NDArray[np.int64] | None
    seen: NDArray[np.bool_]
    weights: FloatArray
    star: FloatArray
    divisor: FloatArray
    norm: float

    @classmethod
    def of(
        cls, grid: PreferenceGrid, samples: FloatArray | None, *, norm: float, normalize: bool
    ) -> _Cells:
        X, C = grid.shape
        everything = slice(0, X), slice(0, C)
        q = grid.block(*everything)
        w = grid.cell_weights(*everything)
        total = w.sum(axis=1, keepdims=True)
        size = scale(grid.reference) if normalize else np.ones(grid.reference.shape[:2])
        counts = None
        if samples is not None:
            counts = np.round(q * samples[..., None]).astype(np.int64)
        return cls(
            q=q,
            counts=counts,
            seen=w > 0,
            weights=w / np.where(total > 0, total, 1.0),
            star=np.broadcast_to(grid.reference, q.shape),
            divisor=np.broadcast_to(size, (X, C)),
            norm=norm,
        )

    def criteria(self, inverse: FloatArray) -> FloatArray:
        """J of the cells [C, X] without the noise of counting."""
        if self.counts is None:
            return np.asarray(criterion(self.stereotypes(self.q, inverse), self.norm).T)
        out = np.zeros(self.seen.shape)
        out[self.seen] = unmixed_criterion(
            self.counts[self.seen],
            inverse,
            self.star[self.seen],
            self.divisor[self.seen],
            norm=self.norm,
        )
        return np.asarray(out.T)

    def stereotypes(self, q: FloatArray, inverse: FloatArray) -> FloatArray:
        """s [X, C, K] of people, from shares q of the judge."""
        return np.asarray((q @ inverse / self.star - 1.0) / self.divisor[..., None])

    @cached_property
    def steadied(self) -> FloatArray:
        """q drawn to the mean of its group, until it scatters as much as it would without the
        noise of counting."""
        if self.counts is None:
            return self.q
        mean = np.einsum("xc,xck->xk", self.weights, self.q)[:, None]
        w = self.weights * self.seen
        m = np.maximum(self.counts.sum(axis=-1), 2)
        whole = float((w[..., None] * (self.q - mean) ** 2).sum())
        noise = float((w[..., None] * self.q * (1 - self.q) / (m - 1)[..., None]).sum())
        kept = max(1.0 - noise / whole, 0.0) if whole > 0 else 0.0
        return np.asarray(mean + np.sqrt(kept) * (self.q - mean))

    def moments(self, inverse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means of s [X, K] and of J [X] of the groups, for a matrix that is a little different."""
        s = self.stereotypes(self.steadied, inverse)
        risk = (self.weights * criterion(s, self.norm)).sum(axis=1)
        return np.einsum("xc,xck->xk", self.weights, s), risk


def _label_errors(cells: _Cells, confusion: Confusion) -> ExtraError:
    """How far the means and risks of the groups move with each independent error of the matrix."""
    mean, risk = [], []
    for y in range(len(confusion.categories)):
        by_mean, by_risk = _slopes(cells, confusion.matrix, y)
        values, vectors = np.linalg.eigh(confusion.covariance(y))
        for size, way in zip(np.sqrt(np.maximum(values, 0.0)), vectors.T, strict=True):
            mean.append(np.einsum("j,jxk->xk", size * way, by_mean))
            risk.append(np.einsum("j,jx->x", size * way, by_risk))
    return ExtraError(np.stack(mean), np.stack(risk))


def _slopes(cells: _Cells, matrix: FloatArray, row: int) -> tuple[FloatArray, FloatArray]:
    """How means [K, X, K] and risks [K, X] change with each share of a row, the others giving way
    to it."""
    mean, risk = [], []
    for j in range(len(matrix)):
        ends = []
        for sign in (1.0, -1.0):
            moved = matrix.copy()
            moved[row, j] += sign * STEP
            moved[row] /= moved[row].sum()
            ends.append(cells.moments(_inverse(moved)))
        mean.append((ends[0][0] - ends[1][0]) / (2 * STEP))
        risk.append((ends[0][1] - ends[1][1]) / (2 * STEP))
    return np.stack(mean), np.stack(risk)


def _inverse(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _named(report: RiskReport) -> RiskReport:
    """The report whose estimates say that a judge was corrected."""
    R, steady, swing = (
        replace(e, method=f"{e.method}, judge")
        for e in (report.R, report.R_bias, report.R_volatility)
    )
    return replace(report, R=R, R_bias=steady, R_volatility=swing)
