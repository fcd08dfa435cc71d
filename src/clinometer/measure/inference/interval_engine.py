"""Percentile and BCa intervals: replicates in blocks, by matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from clinometer.measure.equations.criterion import criterion
from clinometer.measure.inference.correction import BiasModel
from clinometer.measure.inference.resampling_units import Units
from clinometer.statistics.arrays import FloatArray

BLOCK = 1 << 19
"""Numbers in the largest array of a block of replicates: 4 MB."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """Replicates of r, r^b, r^v of each group, and of their means: columns 0..X-1 and X."""

    units: Units
    model: BiasModel
    correct: bool
    two_way: bool

    def quantiles(
        self, rng: np.random.Generator, B: int, *, level: float, accelerate: bool
    ) -> FloatArray:
        """Ends [3,X+1,2]: quantiles of the replicates."""
        units = self.units
        values = np.empty((3, B, units.risk.size + 1))
        for rows, g in self._blocks(rng, B):
            r, m = units.resampled(g)
            share = self._group_shares(rng, len(g))
            bias = self._bias(m)
            for i, part in enumerate((r, bias, r - bias)):
                values[i, rows, :-1] = part
                values[i, rows, -1] = (share * part).sum(axis=1)
        if not accelerate:
            tails = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=1)
            return np.asarray(np.moveaxis(tails, 0, -1))
        bias = self._bias(units.mean)
        parts = np.stack([units.risk, bias, units.risk - bias])
        estimate = np.concatenate([parts, (parts @ units.group_weights)[:, None]], axis=1)
        return _bca(values, estimate, units=units, level=level)

    def _bias(self, mean: FloatArray) -> FloatArray:
        if self.correct:
            by_group: FloatArray = self.model.corrected(mean)[1]
            return by_group
        return criterion(mean, self.units.norm)

    def _blocks(self, rng: np.random.Generator, B: int) -> Iterator[tuple[slice, FloatArray]]:
        """Multipliers by block of replicates; block sizes depend only on the shape."""
        U, X, K = self.units.s.shape
        step = max(16, BLOCK // max(U, X * K))
        for start in range(0, B, step):
            rows = slice(start, min(start + step, B))
            yield rows, self.units.multipliers(rng, rows.stop - start)

    def _group_shares(self, rng: np.random.Generator, B: int) -> FloatArray:
        """[B,X] (or [1,X]): weights of the groups in each replicate."""
        w = self.units.group_weights
        if not self.two_way:
            return w[None]
        steps = np.cumsum(w)
        drawn = np.searchsorted(steps / steps[-1], rng.random((B, w.size)), side="right")
        drawn += np.arange(B)[:, None] * w.size
        filled = np.bincount(drawn.ravel(), weights=np.tile(w, B), minlength=B * w.size)
        return np.asarray(w + (filled.reshape(B, -1) - w) / np.sqrt(1 - np.sum(w**2)))


def _bca(values: FloatArray, estimate: FloatArray, *, units: Units, level: float) -> FloatArray:
    """Bias-corrected and accelerated ends [3,X+1,2] of replicates [3,B,X+1] (Efron 1987)."""
    B = values.shape[1]
    below = (values < estimate[:, None]).mean(axis=1) + (values == estimate[:, None]).mean(
        axis=1
    ) / 2
    z0 = ndtri(np.clip(below, 0.5 / B, 1 - 0.5 / B))
    a = acceleration(units)
    ends = np.empty((*estimate.shape, 2))
    values = np.sort(values, axis=1)
    for side, tail in enumerate(((1 - level) / 2, (1 + level) / 2)):
        z = z0 + ndtri(tail)
        share = ndtr(z0 + z / (1 - a * z))
        place = np.clip(share * (B - 1), 0, B - 1)
        lower = np.floor(place).astype(np.intp)
        upper = np.minimum(lower + 1, B - 1)
        first = np.take_along_axis(values, lower[:, None], axis=1)[:, 0]
        second = np.take_along_axis(values, upper[:, None], axis=1)[:, 0]
        ends[..., side] = first + (place - lower) * (second - first)
    return ends


def acceleration(units: Units) -> FloatArray:
    """[3,X+1]: skewness of the jackknife influences / 6, of r, r^b, r^v and their means.

    With L_u = (1 - w_u)/w_u (whole - without u), a = sum(w³) m_3 / (6 (sum(w²) m_2)^1.5), where
    m_i is the mean of L^i by share and w are the slots; for equal weights the usual jackknife.
    """
    share = units.share
    rest = np.maximum(units.total - units.weight, 0.0)
    alone = rest <= 1e-12
    rest = np.where(alone, 1.0, rest)
    risk = np.where(alone, units.risk, (units.j.sum(axis=0) - units.j) / rest)
    mean = np.where(alone[..., None], units.mean, (units.s.sum(axis=0) - units.s) / rest[..., None])
    bias = criterion(mean, units.norm)
    whole_bias = criterion(units.mean, units.norm)
    parts = np.stack([units.risk - risk, whole_bias - bias])
    parts = np.stack([*parts, parts[0] - parts[1]])
    parts = np.concatenate([parts, (parts @ units.group_weights)[..., None]], axis=-1)
    L = parts * ((1 - share) / share)[:, None]
    L -= np.einsum("u,iux->ix", share, L)[:, None]
    two, three = (np.einsum("u,iux->ix", share, L**power) for power in (2, 3))
    w = units.slots
    variance = np.sum(w**2) * two
    out = np.zeros(two.shape)
    np.divide(np.sum(w**3) * three, 6 * variance**1.5, out=out, where=variance > 1e-20)
    return out
