"""Risks that are means over contexts: what the groups share, and how they differ in a context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class ContextCells:
    """The stereotypes of all cells and the weights that they have in R."""

    s: FloatArray
    """[X,C,K], the stereotypes."""

    weights: FloatArray
    """[X,C], the weights of the cells; they sum to one, and a missing cell has none."""

    criterion: Criterion
    """How a departure counts as risk."""

    @classmethod
    def of(cls, grid: PreferenceGrid) -> ContextCells:
        """Return the cells of a grid, weighted as in R.

        The weights of a group are renormalised over its observed cells.
        """
        within_groups, of_groups = grid.shares()
        weights = within_groups * of_groups[:, None]
        return cls(grid.stereotypes(), weights, grid.criterion)

    @property
    def context_weights(self) -> FloatArray:
        """Return the weight of each context [C]; they sum to one."""
        weights: FloatArray = self.weights.sum(axis=0)
        return np.asarray(weights / weights.sum())

    @cached_property
    def group_shares(self) -> FloatArray:
        """Return how much each group counts in a context [X,C]; each column sums to one."""
        totals = self.weights.sum(axis=0)
        return np.asarray(self.weights / np.where(totals > 0, totals, 1.0))

    @cached_property
    def mean_stereotypes(self) -> FloatArray:
        """Return s̄(c) [C,K], the mean over the groups in each context."""
        return np.asarray(np.einsum("xc,xck->ck", self.group_shares, self.s))


def shared_risk(cells: ContextCells) -> FloatArray:
    """Return J(s̄(c)) [C], the risk of the average group in each context.

    Its mean is R_shared, the risk of a model that answers for every group as this one does for
    the average group. J is convex, so R_shared <= R.
    """
    return cells.criterion(cells.mean_stereotypes)


def risk_between(cells: ContextCells) -> FloatArray:
    """Return the mean over the groups of J(s(x,c) - s̄(c)) [C].

    Its mean is R_between, the risk against the average group in the same context instead of the
    reference. J(a + b) <= J(a) + J(b), so R <= R_shared + R_between. The two do not add up to R
    where a group leans the same way as the others, only more or less: their sum exceeds R by at
    most R_between. docs/measure.md has the derivation.
    """
    departures = cells.criterion(cells.s - cells.mean_stereotypes)
    between: FloatArray = (cells.group_shares * departures).sum(axis=0)
    return between
