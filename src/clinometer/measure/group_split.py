"""How much of R all groups share, and how much differs between them in the same context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clinometer.measure.grid import PreferenceGrid, read_preferences
from clinometer.measure.intervals import estimate_grid
from clinometer.statistics.arrays import BLOCK, FloatArray, blocks, snap
from clinometer.statistics.estimate import Estimate


@dataclass(frozen=True)
class GroupSplit:
    """R seen from the mean of the groups; R_shared <= R <= R_shared + R_between.

    Attributes:
        R_shared: mean over the contexts of J(mean of s over the groups): the risk of a model that
            answers for every group as this one does for the average group.
        R_between: mean of J(s minus that mean): the risk against the average group in the same
            context instead of the reference.
    """

    R_shared: Estimate
    R_between: Estimate

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return {"R_shared": self.R_shared.to_dict(), "R_between": self.R_between.to_dict()}


def group_split(
    grid: PreferenceGrid, *, intervals: bool = False, **resampling: Any
) -> GroupSplit | None:
    """How much of R the groups share, and how far apart they are; None for one group.

    With s̄(c) the mean of s(x,c) over the groups,

    R_shared  = sum of w_c J(s̄(c)),
    R_between = sum of w_x w_c J(s(x,c) - s̄(c)).

    J is convex, so R_shared <= R; and J(a + b) <= J(a) + J(b), so R <= R_shared + R_between. The
    two do not add up to R where a group leans the same way as the others, only more or less:
    their sum exceeds R by at most R_between. docs/measure.md has the derivation.

    Both are means over the contexts, without the small-sample bias of R^b. With `intervals`,
    `resampling` (level, unit, clusters) is as for `estimate_risks`; groups that are a sample
    themselves have no interval.

    >>> p = np.array([[[0.8, 0.2]], [[0.6, 0.4]]])         # both lean, one more than the other
    >>> found = group_split(read_preferences(p))
    >>> round(found.R_shared.value, 3), round(found.R_between.value, 3)
    (0.4, 0.2)
    """
    if np.count_nonzero(grid.group_weights) < 2 or not _met(grid):
        return None
    weight, shared, between = context_means(grid)
    level = resampling.get("level", 0.95)
    found = []
    for values in (shared, between):
        value = float(snap(np.array(weight @ values)))
        arms = _arms(grid, weight, values, **resampling) if intervals else None
        if arms is None:
            found.append(Estimate(value))
            continue
        low, high = max(value - arms[0], 0.0), value + arms[1]
        found.append(Estimate(value, low, high, level, "mean over contexts"))
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


def _arms(
    grid: PreferenceGrid, weight: FloatArray, values: FloatArray, **options: Any
) -> tuple[float, float] | None:
    """How far the interval of a mean over the contexts extends below and above it.

    One value per context is the risk of one group with two categories: R of that group is the
    mean, and its interval is computed like every other one.
    """
    top = max(1.0, float(values.max(initial=0.0)))
    up = (1 + values / top) / 2
    given = weight if grid.given is None or grid.given.ndim > 1 else grid.given
    one = read_preferences(
        np.stack([up, 1 - up], axis=-1),
        context_weights=given,
        mask=(weight > 0)[None],
    )
    report, _ = estimate_grid(one, correct=False, **options)
    R = report.R
    if R.low is None or R.high is None:
        return None
    return (R.value - R.low) * top, (R.high - R.value) * top
