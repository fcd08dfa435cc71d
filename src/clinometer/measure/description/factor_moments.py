"""Mean squares of the stereotype by level of a factor, without the noise of the units sampled.

The square of a mean of n units is too large by its noise. The product of two different units is
not: over pairs of different units it estimates the square of the level's own mean. Every quantity
also comes with each unit left out in turn, which is what intervals are made of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinometer.measure.equations.stereotype import scale
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import FloatArray

Codes = NDArray[np.intp]

NO_WEIGHT = 1e-12
"""Weights below this are rounding."""


@dataclass(frozen=True, eq=False)
class Square:
    """A mean square over the groups.

    value       estimate without the noise of the units; NaN where no level has two units
    without     [U]: the same with each unit left out
    plug_in     as observed: the sum of w_l |m_l|²
    """

    value: float
    without: FloatArray
    plug_in: float


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean squares of s over contexts, for a grid whose contexts belong to U units.

    groups      [X], weights of the groups observed in several units, sum to one
    weights     [X, C], of the cells of each group, sum to one over its observed cells
    s           [X, C, K], 0 where not observed
    counting    [X, C], expected square of the counting noise of sampled answers; 0: exact
    units       [C], which unit each context belongs to
    """

    groups: FloatArray
    weights: FloatArray
    s: FloatArray
    counting: FloatArray
    units: Codes

    @classmethod
    def of(
        cls,
        grid: PreferenceGrid,
        units: Codes,
        *,
        normalize: bool = True,
        samples: FloatArray | None = None,
    ) -> Moments:
        """The stereotypes of a grid; `samples` [X, C] are the answers behind each cell."""
        X, C = grid.shape
        everyone, everything = slice(0, X), slice(0, C)
        s, _ = grid.stereotypes(everyone, everything, normalize=normalize)
        w = grid.cell_weights(everyone, everything)
        total = w.sum(axis=1)
        seen = total > 0
        # What varies between units is unknown of a group that lies in one of them.
        several = _in_units(w, units) > 1
        groups = grid.observed_weights(seen & several if several.any() else seen)
        w = w / np.where(seen, total, 1.0)[:, None]
        counting = np.zeros((X, C))
        if samples is not None:
            p = grid.block(everyone, everything)
            size = scale(grid.reference) if normalize else np.ones(grid.reference.shape[:2])
            slope = 1.0 / (grid.reference * size[..., None])
            counting = (p * (1 - p) * slope**2).sum(axis=-1) / np.maximum(samples - 1, 1)
        s = np.where((w > 0)[..., None], s, 0.0)
        return cls(groups / groups.sum(), w, s, counting, units)

    @property
    def n_units(self) -> int:
        return int(self.units.max()) + 1

    @property
    def unit_weights(self) -> FloatArray:
        """[U]: weight of each unit over the groups, sums to one."""
        shares = np.asarray(self.groups @ self.weights, dtype=np.float64)
        return np.asarray(np.bincount(self.units, shares, self.n_units), dtype=np.float64)

    def total(self) -> Square:
        """Mean of |s|² over the cells."""
        value, plug_in, without = 0.0, 0.0, np.zeros(self.n_units)
        for g, w, s, noise in self._each_group():
            square = w * (s**2).sum(axis=1)
            plug_in += g * float(square.sum())
            square = square - w * noise
            value += g * float(square.sum())
            without += g * self._left(float(square.sum()), square, w)
        return Square(value, without, plug_in)

    def level_means(self, levels: Codes) -> Square:
        """Mean of |m_l|², m_l the mean of the level over units of its kind: each level must be in
        several units, and one in a single unit takes the noise of the others."""
        L, U = int(levels.max()) + 1, self.n_units
        pairs, of = np.unique(self.units * L + levels, return_inverse=True)
        unit, level = pairs // L, pairs % L
        value, plug_in, without = 0.0, 0.0, np.zeros(U)
        for g, w, s, _ in self._each_group():
            n = np.bincount(of, w, pairs.size)
            z = _sums(of, w[:, None] * s, pairs.size)
            N, Z = np.bincount(level, n, L), _sums(level, z, L)
            own, whole = (z**2).sum(axis=1), (Z**2).sum(axis=1)
            crossed = whole - np.bincount(level, own, L)
            room = N**2 - np.bincount(level, n**2, L)
            several = room > NO_WEIGHT
            if not several.any():
                return Square(np.nan, np.full(U, np.nan), np.nan)
            square = crossed / np.where(several, room, 1.0)
            seen, inner = N > 0, np.where(n > 0, n, 1.0)
            means = np.bincount(level, own / inner, L)
            noise = float((means - N * square)[several].sum() / N[several].sum())
            alone = whole / np.where(seen, N, 1.0) ** 2 - noise
            square = np.where(several, square, np.where(seen, alone, 0.0))
            part = N * square
            # Each pair left out: its level keeps the other units, or is gone.
            left = N[level] - n
            left_crossed = crossed[level] - 2 * (Z[level] * z).sum(axis=1) + 2 * own
            left_room = room[level] - 2 * N[level] * n + 2 * n**2
            left_several = left_room > NO_WEIGHT
            left_whole = ((Z[level] - z) ** 2).sum(axis=1)
            gone = left <= NO_WEIGHT
            new = np.where(
                left_several,
                left_crossed / np.where(left_several, left_room, 1.0),
                left_whole / np.where(gone, 1.0, left) ** 2 - noise,
            )
            change = np.where(gone, 0.0, left * new) - part[level]
            held = float(part.sum()) + np.bincount(unit, change, U)
            value += g * float(part.sum())
            without += g * held / self._rest(w)
            plug_in += g * float((whole / np.where(seen, N, 1.0))[seen].sum())
        return Square(value, without, plug_in)

    def unit_means(self, levels: Codes) -> Square:
        """Mean of |m_l|² where each level lies within one unit and was sampled with it."""
        L = int(levels.max()) + 1
        owner = np.zeros(L, dtype=np.intp)
        owner[levels] = self.units
        value, plug_in, without = 0.0, 0.0, np.zeros(self.n_units)
        for g, w, s, noise in self._each_group():
            n, z = np.bincount(levels, w, L), _sums(levels, w[:, None] * s, L)
            inner = np.where(n > 0, n, 1.0)
            observed = (z**2).sum(axis=1) / inner
            square = observed - np.bincount(levels, w**2 * noise, L) / inner
            value += g * float(square.sum())
            plug_in += g * float(observed.sum())
            held = float(square.sum()) - np.bincount(owner, square, self.n_units)
            without += g * held / self._rest(w)
        return Square(value, without, plug_in)

    def _each_group(self) -> list[tuple[float, FloatArray, FloatArray, FloatArray]]:
        rows = zip(self.groups.tolist(), self.weights, self.s, self.counting, strict=True)
        return [row for row in rows if row[0] > 0]

    def _rest(self, w: FloatArray) -> FloatArray:
        """[U]: the weight of a group that is left without each unit."""
        left = 1.0 - np.bincount(self.units, w, self.n_units)
        return np.where(left > NO_WEIGHT, left, np.nan)

    def _left(self, whole: float, cells: FloatArray, w: FloatArray) -> FloatArray:
        return (whole - np.bincount(self.units, cells, self.n_units)) / self._rest(w)


def _in_units(w: FloatArray, units: Codes) -> Codes:
    """[X]: in how many units each group has weight."""
    found = [np.unique(units[row > 0]).size for row in w]
    return np.array(found, dtype=np.intp)


def _sums(index: Codes, values: FloatArray, size: int) -> FloatArray:
    """[size, K]: sums of the rows of values [n, K] by index."""
    return np.stack([np.bincount(index, v, size) for v in values.T], axis=1)
