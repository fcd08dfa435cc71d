"""How much of R all groups share, and how much differs between them in the same context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.display.text import Plain
from clinometer.measure.evidence import by_unit, unit_numbers
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference import LEAST_EFFECTIVE, interval_of_means
from clinometer.statistics.arrays import BLOCK, FloatArray, blocks, snap
from clinometer.statistics.estimate import Estimate


@dataclass(frozen=True)
class GroupSplit(Plain):
    """R seen from the mean of the groups; R_shared <= R <= R_shared + R_between.

    Attributes:
        R_shared: mean over the contexts of J(mean of s over the groups): the risk of a model that
            answers for every group as this one does for the average group.
        R_between: mean of J(s minus that mean): the risk against the average group in the same
            context instead of the reference.
    """

    R_shared: Estimate
    R_between: Estimate


def group_split(
    grid: PreferenceGrid,
    *,
    level: float | None = None,
    clusters: Sequence[object] | None = None,
    draws: float | None = None,
) -> GroupSplit | None:
    """How much of R the groups share, and how far apart they are; None for one group.

    With s̄(c) the mean of s(x,c) over the groups,

    R_shared  = sum of w_c J(s̄(c)),
    R_between = sum of w_x w_c J(s(x,c) - s̄(c)).

    J is convex, so R_shared <= R; and J(a + b) <= J(a) + J(b), so R <= R_shared + R_between. The
    two do not add up to R where a group leans the same way as the others, only more or less:
    their sum exceeds R by at most R_between. docs/measure.md has the derivation.

    Both are means over the contexts, without the small-sample bias of R^b. With a `level` they have
    intervals; clusters and draws as for `estimate_risks`.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.array([[[0.8, 0.2]], [[0.6, 0.4]]])         # both lean, one more than the other
    >>> found = group_split(read_preferences(p))
    >>> round(found.R_shared.value, 3), round(found.R_between.value, 3)
    (0.4, 0.2)
    """
    if np.count_nonzero(grid.group_weights) < 2 or not _met(grid):
        return None
    weight, shared, between = context_means(grid)
    found = []
    units = unit_numbers(clusters, len(weight))
    share = by_unit(weight, units) / weight.sum()
    for values in (shared, between):
        value = float(snap(np.array(weight @ values)))
        if level is None or (1 / float(share @ share) < LEAST_EFFECTIVE and draws is None):
            found.append(Estimate(value))
            continue
        each = by_unit(weight * values, units) / weight.sum() / np.where(share > 0, share, 1.0)
        _, low, high, _ = interval_of_means(each[:, None], share[:, None], level=level, draws=draws)
        ends = max(min(float(low[0]), value), 0.0), max(float(high[0]), value)
        found.append(Estimate(value, *ends, level, "mean over contexts"))
    return GroupSplit(*found)


def _met(grid: PreferenceGrid) -> bool:
    """Whether any context has two groups to compare."""
    if grid.mask is None:
        return True
    return bool((grid.mask[grid.group_weights > 0].sum(axis=0) > 1).any())


def context_means(grid: PreferenceGrid) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each context [C]: its share of R's weight, J(s̄) and the mean of J(s - s̄).

    Cells have the same weights as in R: missing cells are left out of both means, and the
    weights of a group are renormalised over the others.
    """
    (X, C), K = grid.shape, len(grid.categories)
    total = np.zeros(X)
    for rows, columns in blocks(grid.shape):
        total[rows] += grid.cell_weights(rows, columns).sum(axis=1)
    seen = total > 0
    groups = grid.observed_weights(seen)
    by_group = groups / groups.sum() / np.where(seen, total, 1.0)
    weight, shared, between = np.zeros(C), np.zeros(C), np.zeros(C)
    step, everyone = max(1, BLOCK // (X * K)), slice(0, X)
    for start in range(0, C, step):
        columns = slice(start, min(start + step, C))
        w = grid.cell_weights(everyone, columns) * by_group[:, None]
        s = grid.stereotypes(everyone, columns)
        weight[columns] = w.sum(axis=0)
        inner = w / np.where(weight[columns] > 0, weight[columns], 1.0)
        middle = np.einsum("xc,xcy->cy", inner, s)
        shared[columns] = grid.criterion(middle)
        between[columns] = (inner * grid.criterion(s - middle)).sum(axis=0)
    return weight, shared, between
