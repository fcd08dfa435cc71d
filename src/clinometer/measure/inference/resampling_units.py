"""What is resampled: contexts, clusters of contexts or single samples, with their sums per group.

Units, noise and multipliers come from here alone, so that correction, intervals and planning
cannot disagree about what a context is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.equations.criterion import RiskScale, criterion, read_scale
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference.counting_noise import fitted_correction
from clinometer.statistics.arrays import FloatArray, blocks


@dataclass(frozen=True, eq=False)
class Units:
    """Weighted sums of s and J in each unit of resampling, U of them, for X groups.

    Attributes:
        share: [U], weight of each unit, sums to one; all positive.
        slots: [N], weights of the positions that resampling fills, sum to one: the shares
            themselves, or N times 1/N when the contexts are N samples by weight.
        weight, j, s: [U,X], [U,X], [U,X,K]: sums of w, w J(s) and w s in the unit.
        ragged: whether weight differs from share (missing cells, weights per group).
        group_weights: [X], over the observed groups, sum to one.
        ratio: [X], p*_1 / p*_2 when K = 2 and the reference is the same in all contexts, so that
            s_2 = -ratio s_1 and the problem is one-dimensional; None otherwise.
        norm: k of the criterion.
        allowance: by how much the correction of J for sampled answers may be wrong on average.
    """

    share: FloatArray
    slots: FloatArray
    weight: FloatArray
    j: FloatArray
    s: FloatArray
    ragged: bool
    group_weights: FloatArray
    ratio: FloatArray | None
    norm: float
    allowance: float

    @classmethod
    def of(
        cls,
        grid: PreferenceGrid,
        *,
        clusters: Sequence[object] | None = None,
        drawn: bool = False,
        draws: int | None = None,
        samples: ArrayLike | None = None,
        criteria: FloatArray | None = None,
        **scaling: Unpack[RiskScale],
    ) -> Units:
        """Preferences summed by unit; arguments as for `bootstrap`.

        `criteria` [C,X] is J of each cell, where that is already corrected.
        """
        k, normalize = read_scale(**scaling)
        (X, C), K = grid.shape, len(grid.categories)
        j, s = np.empty((C, X)), np.empty((C, X, K))
        shared, star = grid.context_weights.shape[0] == 1, grid.reference
        even = shared and grid.mask is None  # one column stands for all groups
        weight = np.empty((C, X))
        if even:
            weight = np.broadcast_to(grid.context_weights[0][:, None], (C, X))
        everything = slice(0, C)
        for x in range(X):
            rows = slice(x, x + 1)
            cells, _ = grid.stereotypes(rows, everything, normalize=normalize)
            if not even:
                weight[:, x] = grid.cell_weights(rows, everything)[0]
            s[:, x] = cells[0]
            j[:, x] = criterion(cells[0], k)
        allowance = 0.0
        if samples is not None:
            j, allowance = fitted_correction(grid, samples, **scaling)
        if criteria is not None:
            j = criteria.copy()
        j *= weight
        s *= weight[..., None]
        observed = grid.observed_weights(weight.sum(axis=0) > 0)
        share = grid.context_weights[0]
        if not shared:
            share = observed @ grid.context_weights / observed.sum()
        slots = None
        if drawn:
            slots = _draws(grid) if draws is None else np.full(draws, 1.0 / draws)
            if clusters is not None:
                raise SettingsError(
                    "clusters: expected None with unit='draws', which are independent"
                )
        keep = share > 0
        parts = [share, weight, j, s]
        if not keep.all():
            parts = [part[keep] for part in parts]
        if clusters is not None:
            labels = _labels(clusters, C)[keep]
            order = np.argsort(labels, kind="stable")
            starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
            parts = [np.add.reduceat(part[order], starts, axis=0) for part in parts]
        return cls(
            share=parts[0] / parts[0].sum(),
            slots=parts[0] / parts[0].sum() if slots is None else slots,
            weight=parts[1],
            j=parts[2],
            s=parts[3],
            ragged=not shared or grid.missing_cells > 0,
            group_weights=observed / observed.sum(),
            ratio=_ratio(star, X) if K == 2 and star.shape[1] == 1 else None,
            norm=k,
            allowance=allowance,
        )

    @property
    def total(self) -> FloatArray:
        """[X], observed weight of each group; 1 for a group without any."""
        total = self.weight.sum(axis=0)
        return np.where(total > 0, total, 1.0)

    @property
    def risk(self) -> FloatArray:
        """[X], mean of J; 0 for a missing group."""
        return np.asarray(self.j.sum(axis=0) / self.total)

    @property
    def mean(self) -> FloatArray:
        """[X,K], mean of s; 0 for a missing group."""
        return np.asarray(self.s.sum(axis=0) / self.total[:, None])

    @property
    def spread(self) -> FloatArray:
        """[X], the sum of squared slot weights of each group: 1 over its effective number."""
        if self.slots.size != self.share.size or not self.ragged:
            return np.full(self.total.size, np.sum(self.slots**2))
        inner = self.weight / self.total
        return np.asarray(np.where(inner.any(axis=0), (inner**2).sum(axis=0), 1.0))

    @property
    def freedom(self) -> FloatArray:
        """[X], degrees of freedom of the weighted variance (Satterthwaite): n - 1 for equal ones.

        The weighted sum of squares is a quadratic form in A = diag(w) - w w'; its variance is
        matched by (tr A)² / tr A².
        """
        if self.slots.size != self.share.size:
            return np.full(self.total.size, self.slots.size - 1.0)
        w = self.weight / self.total
        two, three = (w**2).sum(axis=0), (w**3).sum(axis=0)
        trace = two - 2 * three + two**2
        out = np.ones(two.size)
        np.divide((1 - two) ** 2, trace, out=out, where=trace > 1e-15)
        return np.asarray(np.maximum(out, 1.0))

    def centred(self, categories: int | None = None) -> FloatArray:
        """[U,X,K], sqrt(w) (s - mean) of each unit and group, so that its square sums to V; or of
        the first categories alone."""
        return self._rooted(self.s[..., :categories], self.mean[:, :categories])

    def centred_risk(self) -> FloatArray:
        """[U,X], sqrt(w) (J - r) of each unit and group."""
        return self._rooted(self.j[..., None], self.risk[:, None])[..., 0]

    def _rooted(self, sums: FloatArray, mean: FloatArray) -> FloatArray:
        """sqrt(w) (sums/w - mean), 0 where w is 0; in blocks, so that only this is new."""
        out, total = np.empty(sums.shape), self.total[:, None]
        for rows, _ in blocks((len(sums), 1), depth=sums[0].size):
            w = self.weight[rows, :, None]
            seen = w > 0
            s = sums[rows] / np.where(seen, w, 1.0) - mean
            out[rows] = np.where(seen, s, 0.0) * np.sqrt(w / total)
        return out

    @property
    def bend(self) -> tuple[float, float]:
        """How far a heavily weighted unit moves a mean and its variance together, see `Noise`."""
        w = self.slots
        two = float(np.sum(w**2))
        ratio = float(np.sum(w**3)) / two
        return 1.0 - ratio, ratio - two

    def noise(self) -> FloatArray:
        """[X,K,K], covariance of the mean of s: q/(1-q) × the weighted covariance over units.

        q is `spread`; 0 for a group with a single unit, whose noise is unknown.
        """
        q, centred = self.spread, self.centred()
        factor = np.where(q < 1 - 1e-9, q / np.maximum(1 - q, 1e-9), 0.0)
        out = np.einsum("uxk,uxl->xkl", centred, centred, optimize=True) * factor[:, None, None]
        return np.where(np.abs(out) > 1e-24, out, 0.0)

    def multipliers(self, rng: np.random.Generator, replicates: int) -> FloatArray:
        """[B,U]: the factor of each unit's weight in each replicate.

        Every slot is filled by a unit sampled by share; a unit counts the slots that it fills. So
        heavy weights stay as rare and as heavy as they were, and which context carries them is
        random.
        """
        U, N = self.share.size, self.slots.size
        if N != U:
            counts = rng.multinomial(N, self.share / self.share.sum(), size=replicates)
            return np.asarray(counts / (N * self.share))
        steps = np.cumsum(self.share)
        drawn = np.searchsorted(steps / steps[-1], rng.random((replicates, U)), side="right")
        drawn += np.arange(replicates)[:, None] * U
        filled = np.bincount(
            drawn.ravel(), weights=np.tile(self.slots, replicates), minlength=replicates * U
        )
        return np.asarray(filled.reshape(replicates, U) / self.share)

    def resampled(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Risk [B,X] and mean [B,X,K] of each replicate: matrix products, no loop.

        A group that has lost all its observed cells in a replicate keeps its estimate there.
        """
        B, (U, X, K) = len(multipliers), self.s.shape
        risk = multipliers @ self.j
        mean = (multipliers @ self.s.reshape(U, X * K)).reshape(B, X, K)
        weight = multipliers @ self.weight if self.ragged else np.ones((B, X))
        lost = weight <= 1e-12
        weight = np.where(lost, 1.0, weight)
        risk = np.where(lost, self.risk, risk / weight)
        mean = np.where(lost[..., None], self.mean, mean / weight[..., None])
        return risk, mean


def _ratio(expected: FloatArray, X: int) -> FloatArray:
    return np.array(np.broadcast_to(expected[:, 0, 0] / expected[:, 0, 1], (X,)))


def _draws(grid: PreferenceGrid) -> FloatArray:
    """n slots of weight 1/n for weights that count n draws."""
    counts = np.ones(grid.n_contexts) if grid.given is None else grid.given
    if counts.ndim != 1 or (counts != np.round(counts)).any():
        raise SettingsError(
            "context_weights: expected with unit='draws' how often each context was drawn, whole "
            "numbers [C]; for frequencies use unit='contexts'"
        )
    n = int(counts.sum())
    return np.full(n, 1.0 / n)


def _labels(clusters: Sequence[object], C: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    labels = [str(label) for label in clusters]
    if len(labels) != C:
        raise SettingsError(f"clusters: expected {C} labels, one a context, found {len(labels)}")
    return np.asarray(np.unique(np.array(labels), return_inverse=True)[1].reshape(-1))
