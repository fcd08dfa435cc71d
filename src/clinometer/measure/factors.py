"""How much of the swing between contexts each factor explains: wording, order of options, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.measure.evidence import Evidence, by_unit, unit_numbers
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import ROUNDING, FloatArray, effective_size
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.means import jackknife

# --- Mean squares of the stereotype by level of a factor, without the noise of the units sampled


Codes = NDArray[np.intp]

NO_WEIGHT = 1e-12
"""Weights below this are rounding."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean squares of s over contexts that belong to U units, of the G groups observed in several.
    Each is [1+U]: over all units, NaN where no level has two of them, then without each unit.

    groups      [G], weights, sum to one
    weights     [C, G], of the cells of each group, sum to one over its observed cells
    s           [C, G, K], 0 where not observed
    counting    [C, G], expected square of the counting noise of sampled answers; 0: exact
    units       [C], which unit each context belongs to
    """

    groups: FloatArray
    weights: FloatArray
    s: FloatArray
    counting: FloatArray
    units: Codes

    @classmethod
    def of(
        cls, grid: PreferenceGrid, units: Codes, *, samples: FloatArray | None = None
    ) -> Moments:
        """The stereotypes of a grid; `samples` [X, C] are the answers behind each cell."""
        evidence = Evidence.of(grid)
        w = evidence.weights
        # What varies between units is unknown of a group that lies in one of them.
        seen = np.asarray(w.any(axis=0))
        several = seen & (np.count_nonzero(by_unit(w, units), axis=0) > 1)
        groups = grid.observed_weights(several if several.any() else seen)
        kept = groups > 0
        counting = np.zeros(w.shape)
        if samples is not None:
            p, worth = grid.block(), grid.criterion.worth(grid.reference)
            counting = (
                (p * (1 - p) * worth**2).sum(axis=-1) / np.maximum(samples - 1, 1)
            ).T
        return cls(
            groups[kept] / groups.sum(),
            w[:, kept],
            evidence.s[:, kept],
            counting[:, kept],
            units,
        )

    def unit_means(self, levels: Codes) -> FloatArray:
        """Mean of |m_l|² where each level lies within one unit and was sampled with it."""
        n, z = self._sums(levels)
        inner = np.where(n > 0, n, 1.0)
        noise = by_unit(self.weights**2 * self.counting, levels)
        square = ((z**2).sum(axis=-1) - noise) / inner
        owner = np.zeros(len(n), dtype=np.intp)
        owner[levels] = self.units
        return self._square(square.sum(axis=0), square, owner)

    def level_means(self, levels: Codes) -> FloatArray:
        """Mean of |m_l|², m_l the mean of the level over units of its kind: each level must be in
        several units, and one in a single unit takes the noise of the others."""
        pairs = unit_numbers([*zip(self.units, levels, strict=True)], len(levels))
        first = np.unique(pairs, return_index=True)[1]
        unit, level = self.units[first], levels[first]
        n, z = self._sums(pairs)
        N, Z = by_unit(n, level), by_unit(z, level)
        own, whole = (z**2).sum(axis=-1), (Z**2).sum(axis=-1)
        seen = N > 0
        crossed, room = whole - by_unit(own, level), N**2 - by_unit(n**2, level)
        several = room > NO_WEIGHT
        if not several.any(axis=0).all():
            return np.full(int(self.units.max()) + 2, np.nan)
        square = crossed / np.where(several, room, 1.0)
        means = by_unit(own / np.where(n > 0, n, 1.0), level)
        noise = ((means - N * square) * several).sum(axis=0) / (N * several).sum(axis=0)
        alone = whole / np.where(seen, N, 1.0) ** 2 - noise
        part = N * np.where(several, square, np.where(seen, alone, 0.0))
        # Each pair left out: its level keeps the other units, or is gone.
        left = N[level] - n
        left_crossed = crossed[level] - 2 * (Z[level] * z).sum(axis=-1) + 2 * own
        left_room = room[level] - 2 * N[level] * n + 2 * n**2
        left_several = left_room > NO_WEIGHT
        left_whole = ((Z[level] - z) ** 2).sum(axis=-1)
        gone = left <= NO_WEIGHT
        new = np.where(
            left_several,
            left_crossed / np.where(left_several, left_room, 1.0),
            left_whole / np.where(gone, 1.0, left) ** 2 - noise,
        )
        lost = part[level] - np.where(gone, 0.0, left * new)
        return self._square(part.sum(axis=0), lost, unit)

    def _sums(self, index: Codes) -> tuple[FloatArray, FloatArray]:
        """Weights and weighted sums of s by index."""
        return by_unit(self.weights, index), by_unit(
            self.weights[..., None] * self.s, index
        )

    def _square(self, value: FloatArray, lost: FloatArray, unit: Codes) -> FloatArray:
        """From the squares of the groups [G] and what each part of a unit adds to them."""
        left = 1.0 - by_unit(self.weights, self.units)
        held = (value - by_unit(lost, unit)) / np.where(left > NO_WEIGHT, left, np.nan)
        return np.append(value @ self.groups, held @ self.groups)


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

    Returns:
        None where there is no factor, or nothing varies. Factors with one level, or another one in
        each context, are left out.

    >>> from clinometer.measure.grid import read_preferences
    >>> up = np.array([0.6, 0.7, 0.6, 0.7])                # the order matters, the wording does not
    >>> cells = read_preferences(np.stack([up, 1 - up], axis=-1))
    >>> labels = {"wording": ["a", "a", "b", "b"], "order": [1, 2, 1, 2]}
    >>> [(f.name, round(f.share.value, 3)) for f in factor_shares(cells, labels).factors]
    [('wording', 0.0), ('order', 1.0)]
    """
    codes = _codes(factors, grid.shape[1])
    if not codes:
        return None
    unit = sampled_factor(factors) if unit is None else unit
    if unit is not None and unit not in factors:
        raise SettingsError(
            f"unit: expected one of {', '.join(factors)}, found {unit!r}"
        )
    units = unit_numbers(None if unit is None else factors[unit], grid.shape[1])
    moments = Moments.of(grid, units, samples=samples)
    weights = by_unit(moments.weights, units) @ moments.groups
    middle = moments.level_means(np.zeros_like(units))
    variance = moments.unit_means(np.arange(grid.shape[1])) - middle
    if not variance[0] > ROUNDING**2 or np.count_nonzero(weights) < 2:
        return None
    enough = effective_size(weights) >= LEAST_UNITS

    def estimate(part: FloatArray) -> Estimate:
        parts = part / variance
        share = min(max(float(parts[0]), 0.0), 1.0)
        if not enough:
            return Estimate(share)
        part_of_all = jackknife(parts[0], parts[1:], weights, level=level)
        low = min(max(part_of_all.low or 0.0, 0.0), 1.0)
        high = min(max(part_of_all.high or 0.0, 0.0), 1.0)
        return Estimate(share, min(low, share), max(high, share), level, "jackknife")

    shares, rest = [], variance
    for name, levels in codes.items():
        L = int(levels.max()) + 1
        within = len(set(zip(levels.tolist(), units.tolist(), strict=True))) == L
        square = moments.unit_means(levels) if within else moments.level_means(levels)
        if np.isnan(square[0]):
            note = "no level has observed cells in two units"
            shares.append(FactorShare(name, L, None, note))
            continue
        rest = rest - (square - middle)
        shares.append(FactorShare(name, L, estimate(square - middle)))
    return FactorShares(
        unit=unit,
        n_units=int(np.count_nonzero(weights)),
        variance=float(variance[0]),
        factors=shares,
        rest=estimate(rest),
        note=_overlap(codes, moments.weights @ moments.groups),
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
    listed = (
        f"levels of {'; of '.join(found)}"
        if len(found) <= _LISTED
        else "levels of factors"
    )
    return f"{listed} go together in these contexts: their shares overlap and need not add up"


def _codes(factors: Mapping[str, Levels], C: int) -> dict[str, Codes]:
    """Levels as numbers from 0, of the factors that have several levels but not one a context."""
    out = {}
    for name, values in factors.items():
        if isinstance(values, str) or len(values) != C:
            raise SettingsError(
                f"factors: expected {C} levels, one a context, for {name!r}, found {len(values)}"
            )
        levels = unit_numbers(values, C)
        if name not in COUNTS and 1 < int(levels.max()) + 1 < C:
            out[name] = levels
    return out
