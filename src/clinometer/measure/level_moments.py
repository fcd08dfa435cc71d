"""Mean squares of the stereotype by level of a factor, without the noise of the units sampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinometer.measure.evidence import Evidence, by_unit, unit_numbers
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import FloatArray

Codes = NDArray[np.intp]
"""[C], the number of the level, or of the unit, that each context has."""

NO_WEIGHT = 1e-12
"""Weights below this are rounding."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Contexts that belong to U units, of the G groups observed in several of them.

    Mean squares are [1+U]: over all units, NaN where no level has two of them, then without each
    unit.
    """

    groups: FloatArray
    """[G], weights of the groups, sum to one."""

    weights: FloatArray
    """[C,G], of the cells of each group, sum to one over its observed cells."""

    s: FloatArray
    """[C,G,K], 0 where not observed."""

    counting: FloatArray
    """[C,G], expected square of the counting noise of sampled answers; 0: exact."""

    units: Codes
    """[C], which unit each context belongs to."""

    @classmethod
    def of(
        cls, grid: PreferenceGrid, units: Codes, *, samples: FloatArray | None = None
    ) -> Moments:
        """Return the stereotypes of a grid; `samples` [X,C] are the answers behind each cell."""
        evidence = Evidence.of(grid)
        weights = evidence.weights
        # What varies between units is unknown of a group that lies in one of them.
        observed = np.asarray(weights.any(axis=0))
        units_of_group = np.count_nonzero(by_unit(weights, units), axis=0)
        in_several = observed & (units_of_group > 1)
        groups = grid.observed_weights(in_several if in_several.any() else observed)
        counted = groups > 0
        counting = np.zeros(weights.shape)
        if samples is not None:
            p = grid.block()
            worth = grid.criterion.worth(grid.reference)
            variance_of_a_reply = (p * (1 - p) * worth**2).sum(axis=-1)
            counting = (variance_of_a_reply / np.maximum(samples - 1, 1)).T
        return cls(
            groups=groups[counted] / groups.sum(),
            weights=weights[:, counted],
            s=evidence.s[:, counted],
            counting=counting[:, counted],
            units=units,
        )

    def unit_means(self, levels: Codes) -> FloatArray:
        """Return the mean of |m_l|² [1+U], m_l the mean of s in level l, where each level lies
        within one unit and was sampled with it."""
        n = by_unit(self.weights, levels)
        z = self._weighted_sums(levels)
        noise = by_unit(self.weights**2 * self.counting, levels)
        squares = ((z**2).sum(axis=-1) - noise) / np.where(n > 0, n, 1.0)
        unit_of_level = np.zeros(len(n), dtype=np.intp)
        unit_of_level[levels] = self.units
        return self._mean_squares(squares.sum(axis=0), squares, unit_of_level)

    def level_means(self, levels: Codes) -> FloatArray:
        """Return the mean of |m_l|² [1+U], m_l the mean of the level over units of its kind.

        Each level must be in several units, and one in a single unit takes the noise of the others.
        Products of two different units have no noise, so that |m_l|² is estimated by the sum of
        products of a level's units over the sum of products of their weights.
        """
        # Each pair of a unit and a level, P of them; by pair [P,G], by level [L,G].
        pairs = unit_numbers([*zip(self.units, levels, strict=True)], len(levels))
        first_context = np.unique(pairs, return_index=True)[1]
        unit = self.units[first_context]
        level = levels[first_context]
        pair_weights = by_unit(self.weights, pairs)
        pair_sums = self._weighted_sums(pairs)
        pair_squares = (pair_sums**2).sum(axis=-1)
        level_weights = by_unit(pair_weights, level)
        level_sums = by_unit(pair_sums, level)
        level_squares = (level_sums**2).sum(axis=-1)

        products = level_squares - by_unit(pair_squares, level)
        product_weights = level_weights**2 - by_unit(pair_weights**2, level)
        in_several = product_weights > NO_WEIGHT
        if not in_several.any(axis=0).all():
            return np.full(int(self.units.max()) + 2, np.nan)
        square = products / np.where(in_several, product_weights, 1.0)

        pair_means = pair_squares / np.where(pair_weights > 0, pair_weights, 1.0)
        noise_of_level = (
            by_unit(pair_means, level) - level_weights * square
        ) * in_several
        noise = noise_of_level.sum(axis=0) / (level_weights * in_several).sum(axis=0)
        observed = level_weights > 0
        of_one_unit = (
            level_squares / np.where(observed, level_weights, 1.0) ** 2 - noise
        )
        square = np.where(in_several, square, np.where(observed, of_one_unit, 0.0))
        contributions = level_weights * square

        # Each pair left out: its level keeps the other units, or is gone.
        others_weights = level_weights[level] - pair_weights
        sums_product = (level_sums[level] * pair_sums).sum(axis=-1)
        others_products = products[level] - 2 * sums_product + 2 * pair_squares
        others_product_weights = (
            product_weights[level]
            - 2 * level_weights[level] * pair_weights
            + 2 * pair_weights**2
        )
        others_in_several = others_product_weights > NO_WEIGHT
        others_squares = ((level_sums[level] - pair_sums) ** 2).sum(axis=-1)
        is_gone = others_weights <= NO_WEIGHT
        square_without = np.where(
            others_in_several,
            others_products / np.where(others_in_several, others_product_weights, 1.0),
            others_squares / np.where(is_gone, 1.0, others_weights) ** 2 - noise,
        )
        contributions_without = np.where(is_gone, 0.0, others_weights * square_without)
        changes = contributions[level] - contributions_without
        return self._mean_squares(contributions.sum(axis=0), changes, unit)

    def _weighted_sums(self, index: Codes) -> FloatArray:
        """Return weighted sums of s by index [C], [I,G,K]."""
        return by_unit(self.weights[..., None] * self.s, index)

    def _mean_squares(
        self, squares: FloatArray, changes: FloatArray, unit: Codes
    ) -> FloatArray:
        """Return mean squares [1+U] over the groups.

        Args:
            squares: [G], of all units.
            changes: [P,G], what each part of a unit adds to them.
            unit: [P], the unit of each part.
        """
        weight_of_others = 1.0 - by_unit(self.weights, self.units)
        divisor = np.where(weight_of_others > NO_WEIGHT, weight_of_others, np.nan)
        without = (squares - by_unit(changes, unit)) / divisor
        return np.append(squares @ self.groups, without @ self.groups)
