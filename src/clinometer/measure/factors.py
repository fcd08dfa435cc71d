"""How much of the swing between contexts each factor explains: wording, order of options, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference import jackknife
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.weights import effective_size

# --- Mean squares of the stereotype by level of a factor, without the noise of the units sampled


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
        samples: FloatArray | None = None,
    ) -> Moments:
        """The stereotypes of a grid; `samples` [X, C] are the answers behind each cell."""
        evidence = Evidence.of(grid)
        w, s = evidence.weights.T, np.moveaxis(evidence.s, 0, 1)
        # What varies between units is unknown of a group that lies in one of them.
        seen = np.asarray(w.any(axis=1))
        several = seen & (_in_units(w, units) > 1)
        groups = grid.observed_weights(several if several.any() else seen)
        counting = np.zeros(w.shape)
        if samples is not None:
            p = grid.block(slice(0, w.shape[0]), slice(0, w.shape[1]))
            none = np.zeros_like(grid.reference)
            # s is linear in p: this is what one answer more is worth.
            once = grid.criterion.stereotypes(none + 1.0, grid.reference)
            slope = once - grid.criterion.stereotypes(none, grid.reference)
            counting = (p * (1 - p) * slope**2).sum(axis=-1) / np.maximum(samples - 1, 1)
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


# --- How much of the swing between contexts each factor explains: wording, order of options, … ---


Levels = Sequence[object] | NDArray[Any]
"""The level of a factor in each context."""

LEAST_UNITS = 4.0
"""Fewer effective units give no interval, as for R^v."""

COUNTS = frozenset({"articles"})
"""Columns of a context set that hold numbers, not levels."""

_LISTED = 3
"""The most pairs of factors that go together and are named."""


@dataclass(frozen=True)
class FactorShare(Plain):
    """A factor and the share of the variance between contexts that lies between its levels.

    `share` is None where it is unknown, and `note` says why.
    """

    name: str
    n_levels: int
    share: Estimate | None
    note: str | None = None


@dataclass(frozen=True)
class FactorShares(Plain):
    """What makes the answers swing, as `factor_shares` gives it.

    Attributes:
        unit: the factor whose levels are a sample; None: the contexts themselves are.
        n_units: how many there are.
        variance: of s between contexts, a mean over the groups.
        factors: one entry for each factor.
        rest: the share of no factor alone: what they do together, and all else.
        note: where levels of two factors go together, so that shares overlap; else None.
    """

    unit: str | None
    n_units: int
    variance: float
    factors: list[FactorShare]
    rest: Estimate
    note: str | None = None


def factor_shares(
    grid: PreferenceGrid,
    factors: Mapping[str, Levels],
    *,
    unit: str | None = None,
    level: float = 0.95,
    samples: FloatArray | None = None,
    exact: bool = False,
) -> FactorShares | None:
    """Split the variance of s between contexts into shares of factors, and a rest.

    With V = mean over groups of Var_c s(x, c), summed over the categories, the share of a factor
    is V_f / V, V_f the variance of the mean of s given its level: Sobol's first-order index. On
    crossed factors the shares and the rest add up to 1. docs/measure.md has the derivation.

    Args:
        grid: the preferences.
        factors: name -> [C] levels.
        unit: the factor whose levels are a sample of their kind, with all contexts of a level
            resampled together; None: the one that `sampled_factor` finds, or the contexts. The
            levels of all other factors are taken as they are.
        level: of the intervals.
        samples: [X, C] answers behind each cell, whose counting noise is taken out.
        exact: the contexts are no sample: shares as observed, without intervals.

    Returns:
        None where there is no factor, or nothing varies. Factors with one level, or another one in
        each context, are left out.

    >>> from clinometer.measure.grid import read_preferences
    >>> up = np.array([0.6, 0.7, 0.6, 0.7])                # the order matters, the wording does not
    >>> cells = read_preferences(np.stack([up, 1 - up], axis=-1))
    >>> labels = {"wording": ["a", "a", "b", "b"], "order": [1, 2, 1, 2]}
    >>> found = factor_shares(cells, labels, exact=True)
    >>> [(f.name, round(f.share.value, 3)) for f in found.factors]
    [('wording', 0.0), ('order', 1.0)]
    """
    codes = _codes(factors, grid.n_contexts)
    if not codes:
        return None
    unit = sampled_factor(factors) if unit is None else unit
    if unit is not None and unit not in factors:
        raise SettingsError(f"unit: expected one of {', '.join(factors)}, found {unit!r}")
    units = np.arange(grid.n_contexts) if unit is None else _encoded(factors[unit])
    moments = Moments.of(grid, units, samples=samples)
    weights = moments.unit_weights
    whole, middle = moments.total(), moments.level_means(np.zeros_like(units))
    variance = whole.plug_in - middle.plug_in if exact else whole.value - middle.value
    if not variance > ROUNDING**2 or np.count_nonzero(weights) < 2:
        return None
    enough = effective_size(weights) >= LEAST_UNITS and not exact
    variances = whole.without - middle.without

    def estimate(part: float, without: FloatArray) -> Estimate:
        share = min(max(part / variance, 0.0), 1.0)
        if not enough:
            return Estimate(share)
        ends = jackknife(part / variance, without / variances, weights, level=level)
        low, high = (min(max(end, 0.0), 1.0) for end in ends)
        return Estimate(share, min(low, share), max(high, share), level, "jackknife")

    shares, rest, others = [], variance, variances.copy()
    for name, levels in codes.items():
        square, note = _between(moments, levels)
        if square is None or (np.isnan(square.value) and not exact):
            shares.append(FactorShare(name, int(levels.max()) + 1, None, note))
            continue
        part = (square.plug_in - middle.plug_in) if exact else (square.value - middle.value)
        without = square.without - middle.without
        rest, others = rest - part, others - without
        shares.append(FactorShare(name, int(levels.max()) + 1, estimate(part, without)))
    return FactorShares(
        unit=unit,
        n_units=int(np.count_nonzero(weights)),
        variance=float(variance),
        factors=shares,
        rest=estimate(rest, others),
        note=_overlap(codes, moments.groups @ moments.weights),
    )


def sampled_factor(factors: Mapping[str, Levels]) -> str | None:
    """The factor whose levels are the sample, where factors are crossed: the one with the most.

    Crossed means that no two contexts have the same levels throughout: then contexts are no
    independent draws, since each level comes back with the levels of the others. None where
    levels do come back together: then contexts are the sample.

    >>> sampled_factor({"wording": list("aabbcc"), "order": [1, 2, 1, 2, 1, 2]})
    'wording'
    >>> sampled_factor({"source": list("aabbcc")}) is None
    True
    """
    sizes = {len(values) for values in factors.values()}
    codes = _codes(factors, sizes.pop()) if len(sizes) == 1 else {}
    if len(codes) < 2:
        return None
    rows = np.stack(list(codes.values()), axis=1)
    if len(np.unique(rows, axis=0)) < len(rows):
        return None
    return max(codes, key=lambda name: int(codes[name].max()))


def _between(moments: Moments, levels: Codes) -> tuple[Square | None, str | None]:
    """Mean square of the level means, or why it is unknown."""
    L, U = int(levels.max()) + 1, moments.n_units
    pairs = np.unique(levels * U + moments.units)
    if pairs.size > L:
        return moments.level_means(levels), "no level has observed cells in two units"
    if moments.units.size == U:
        return None, "each context has another level"
    return moments.unit_means(levels), None


def _overlap(codes: Mapping[str, Codes], weights: FloatArray) -> str | None:
    """Which factors go together: the weights of pairs of levels are no products."""
    found, names = [], list(codes)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            rows, columns = int(codes[a].max()) + 1, int(codes[b].max()) + 1
            table = np.bincount(codes[a] * columns + codes[b], weights, rows * columns)
            table = table.reshape(rows, columns)
            expected = np.outer(table.sum(axis=1), table.sum(axis=0))
            if np.abs(table - expected).sum() > 0.02:
                found.append(f"{a} and {b}")
    if not found:
        return None
    listed = f"levels of {'; of '.join(found)}" if len(found) <= _LISTED else "levels of factors"
    return f"{listed} go together in these contexts: their shares overlap and need not add up"


def _codes(factors: Mapping[str, Levels], C: int) -> dict[str, Codes]:
    """Levels as numbers from 0, of the factors that have several levels but not one a context."""
    out = {}
    for name, values in factors.items():
        if isinstance(values, str) or len(values) != C:
            raise SettingsError(
                f"factors: expected {C} levels, one a context, for {name!r}, found {len(values)}"
            )
        levels = _encoded(values)
        if name not in COUNTS and 1 < int(levels.max()) + 1 < C:
            out[name] = levels
    return out


def _encoded(values: Levels) -> Codes:
    return np.unique([str(v) for v in values], return_inverse=True)[1].reshape(-1)
