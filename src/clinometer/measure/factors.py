"""How much of the swing between contexts each factor explains: wording, order of options, …"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.measure.evidence import by_unit, unit_numbers
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.level_moments import Codes, Moments
from clinometer.statistics.arrays import (
    ROUNDING,
    FloatArray,
)
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.means import jackknife
from clinometer.statistics.weights import effective_size

Levels = Sequence[object] | NDArray[Any]
"""The level of a factor in each context."""

LEAST_UNITS = 4.0
"""Fewer effective units give no interval, as for R^v."""

COUNTS = frozenset({"articles"})
"""Columns of a context set that hold numbers, not levels."""

_LISTED = 3
"""The most pairs of factors that go together and are named."""

_TOGETHER = 0.02
"""Factors go together where the weights of their pairs of levels differ from products by more."""


@dataclass(frozen=True)
class FactorShare(Plain):
    """A factor and the share of the variance between contexts that lies between its levels."""

    name: str
    """Name of the factor."""

    n_levels: int
    """How many levels it has."""

    share: Estimate | None
    """The share; None where it is unknown, and `note` says why."""

    note: str | None = None
    """Why the share is unknown."""


@dataclass(frozen=True)
class FactorShares(Plain):
    """What makes the answers swing, as `factor_shares` gives it."""

    unit: str | None
    """The factor whose levels are a sample; None: the contexts themselves are."""

    n_units: int
    """How many units there are."""

    variance: float
    """Variance of s between contexts, a mean over the groups."""

    factors: list[FactorShare]
    """One entry for each factor."""

    rest: Estimate
    """The share of no factor alone: what they do together, and all else."""

    note: str | None = None
    """Where levels of two factors go together, so that shares overlap; else None."""


def factor_shares(
    grid: PreferenceGrid,
    factors: Mapping[str, Levels],
    *,
    unit: str | None = None,
    level: float = 0.95,
    samples: FloatArray | None = None,
) -> FactorShares | None:
    """Return the variance of s between contexts, split into shares of factors and a rest.

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
    C = grid.shape[1]
    codes = _codes(factors, C)
    if not codes:
        return None
    unit = sampled_factor(factors) if unit is None else unit
    if unit is not None and unit not in factors:
        raise SettingsError(
            f"unit: expected one of {', '.join(factors)}, found {unit!r}"
        )
    units = unit_numbers(None if unit is None else factors[unit], C)
    moments = Moments.of(grid, units, samples=samples)
    weights = by_unit(moments.weights, units) @ moments.groups
    square_of_mean = moments.level_means(np.zeros_like(units))
    variance = moments.unit_means(np.arange(C)) - square_of_mean
    if not variance[0] > ROUNDING**2 or np.count_nonzero(weights) < 2:
        return None

    shares = []
    rest = variance
    for name, levels in codes.items():
        n_levels = int(levels.max()) + 1
        if _lie_within_units(levels, units):
            square = moments.unit_means(levels)
        else:
            square = moments.level_means(levels)
        if np.isnan(square[0]):
            note = "no level has observed cells in two units"
            shares.append(FactorShare(name, n_levels, None, note))
            continue
        between_levels = square - square_of_mean
        rest = rest - between_levels
        share = _share(between_levels / variance, weights, level)
        shares.append(FactorShare(name, n_levels, share))
    return FactorShares(
        unit=unit,
        n_units=int(np.count_nonzero(weights)),
        variance=float(variance[0]),
        factors=shares,
        rest=_share(rest / variance, weights, level),
        note=_overlap(codes, moments.weights @ moments.groups),
    )


def _lie_within_units(levels: Codes, units: Codes) -> bool:
    """Return whether each level occurs in a single unit."""
    pairs = set(zip(levels.tolist(), units.tolist(), strict=True))
    return len(pairs) == int(levels.max()) + 1


def _share(parts: FloatArray, weights: FloatArray, level: float) -> Estimate:
    """Return a share from 0 to 1 with its interval, from parts [1+U]: of all units, and without
    each of them. No interval from fewer than LEAST_UNITS effective units."""
    value = _from_0_to_1(float(parts[0]))
    if effective_size(weights) < LEAST_UNITS:
        return Estimate(value)
    estimate = jackknife(float(parts[0]), parts[1:], weights, level=level)
    low = _from_0_to_1(estimate.low or 0.0)
    high = _from_0_to_1(estimate.high or 0.0)
    method = estimate.method
    return Estimate(value, min(low, value), max(high, value), level, method)


def _from_0_to_1(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def sampled_factor(factors: Mapping[str, Levels]) -> str | None:
    """Return the factor whose levels are the sample, where factors are crossed: the one with the
    most.

    Crossed means that no two contexts have the same levels throughout: then contexts are no
    independent draws, since each level comes back with the levels of the others. None where
    levels do come back together: then contexts are the sample.

    >>> sampled_factor({"wording": list("aabbcc"), "order": [1, 2, 1, 2, 1, 2]})
    'wording'
    >>> sampled_factor({"source": list("aabbcc")}) is None
    True
    """
    sizes = {len(values) for values in factors.values()}
    if len(sizes) != 1:
        return None
    codes = _codes(factors, sizes.pop())
    if len(codes) < 2:
        return None
    rows = np.stack(list(codes.values()), axis=1)
    if len(np.unique(rows, axis=0)) < len(rows):
        return None
    return max(codes, key=lambda name: int(codes[name].max()))


def _overlap(codes: Mapping[str, Codes], weights: FloatArray) -> str | None:
    """Return which factors go together, as a sentence: the weights [C] of pairs of their levels are
    no products. None where none do."""
    pairs = []
    for first, second in itertools.combinations(codes, 2):
        table = _weights_of_pairs(codes[first], codes[second], weights)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0))
        if np.abs(table - expected).sum() > _TOGETHER:
            pairs.append(f"{first} and {second}")
    if not pairs:
        return None
    listed = "levels of factors"
    if len(pairs) <= _LISTED:
        listed = f"levels of {'; of '.join(pairs)}"
    return f"{listed} go together in these contexts: their shares overlap and need not add up"


def _weights_of_pairs(first: Codes, second: Codes, weights: FloatArray) -> FloatArray:
    """Return the weight of each pair of levels of two factors."""
    rows = int(first.max()) + 1
    columns = int(second.max()) + 1
    sums = np.bincount(first * columns + second, weights, rows * columns)
    return np.asarray(sums.reshape(rows, columns))


def _codes(factors: Mapping[str, Levels], C: int) -> dict[str, Codes]:
    """Return levels as numbers from 0, of the factors that have several levels but not one a
    context."""
    codes = {}
    for name, values in factors.items():
        if isinstance(values, str) or len(values) != C:
            raise SettingsError(
                f"factors: expected {C} levels, one a context, for {name!r}, found {len(values)}"
            )
        levels = unit_numbers(values, C)
        n_levels = int(levels.max()) + 1
        if name not in COUNTS and 1 < n_levels < C:
            codes[name] = levels
    return codes
