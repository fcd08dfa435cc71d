"""Knowledge and confidence: the framework with a concave criterion (appendix E.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.grid import (
    NEGATIVE_TOLERANCE,
    Grid,
    GridArguments,
    read_grid,
)
from clinometer.settings import SHARE_ABOVE_0
from clinometer.statistics.arrays import FloatArray, as_real, blocks, read_only, snap
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.weights import weighted_mean


@dataclass(frozen=True, eq=False)
class KnowledgeReport:
    """Knowledge per group and overall, as `knowledge` gives it. Arrays are read-only.

    Attributes:
        groups: labels, X of them.
        knowledge: [X], E[J(p)].
        deterministic: [X], J(E[p]): the score of a model that answers alike in every context.
        confidence_gap: [X], deterministic - knowledge, at least 0; 0 for a steady model.
        group_weights: [X], sum to one over all groups.
        overall_knowledge, overall_deterministic, overall_confidence_gap: means over groups.
        missing_groups: groups without any observed weight.
    """

    groups: tuple[str, ...]
    knowledge: FloatArray
    deterministic: FloatArray
    confidence_gap: FloatArray
    group_weights: FloatArray
    overall_knowledge: Estimate
    overall_deterministic: Estimate
    overall_confidence_gap: Estimate
    missing_groups: tuple[str, ...]

    def __post_init__(self) -> None:
        """Make the arrays unwritable."""
        for array in (self.knowledge, self.deterministic, self.confidence_gap):
            read_only(array)


def knowledge(
    p_correct: ArrayLike,
    *,
    exponent: float = 0.5,
    **given: Unpack[GridArguments],
) -> KnowledgeReport:
    """Split what a model knows into its average and the cost of inconsistency (E.1).

    With the concave J(p) = p^a of the probability of the correct answer, E[J(p)] <= J(E[p])
    (Jensen): the first is `knowledge`, the second `deterministic`, their difference
    `confidence_gap`.

    Args:
        p_correct: [X,C], from 0 to 1; [C] for one group (here: one question).
        exponent: a, above 0 and at most 1. At 1 J is linear and the gap is 0.
        context_weights, group_weights, mask, groups: as in `decompose`.

    Returns:
        `KnowledgeReport`. 1: always certain of the correct answer; 0: never.

    Missing cells and groups are treated as in `decompose`; values below 1e-12 are reported as 0.
    One context gives a gap of 0. NaN in an observed cell, and p outside [0, 1] by more than
    1e-9, are errors.

    >>> report = knowledge([[1.0, 0.0]])
    >>> report.overall_knowledge.value, round(report.overall_confidence_gap.value, 6)
    (0.5, 0.207107)
    """
    SHARE_ABOVE_0.check("exponent", exponent)
    array = as_real(p_correct, name="p_correct")
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2:
        raise SettingsError(
            f"p_correct: expected shape [groups, contexts], found {array.ndim} dimensions"
        )
    X, C = array.shape
    grid = read_grid((X, C), **given)
    total, first, mean = np.zeros(X), np.zeros(X), np.zeros(X)
    for rows, columns in blocks((X, C)):
        w = grid.cell_weights(rows, columns)
        block = np.asarray(array[rows, columns], dtype=np.float64)
        block = _checked(block, grid, rows=rows, columns=columns)
        total[rows] += w.sum(axis=1)
        first[rows] += (w * block**exponent).sum(axis=1)
        mean[rows] += (w * block).sum(axis=1)

    observed = total > 0
    weights = grid.observed_weights(observed)
    divisor = np.where(observed, total, np.nan)
    known = snap(first / divisor)
    deterministic = snap((mean / divisor) ** exponent)
    gap = snap(deterministic - known)
    return KnowledgeReport(
        groups=grid.groups,
        knowledge=known,
        deterministic=deterministic,
        confidence_gap=gap,
        group_weights=grid.group_weights,
        overall_knowledge=Estimate(weighted_mean(known, weights)),
        overall_deterministic=Estimate(weighted_mean(deterministic, weights)),
        overall_confidence_gap=Estimate(weighted_mean(gap, weights)),
        missing_groups=tuple(g for g, seen in zip(grid.groups, observed, strict=True) if not seen),
    )


def _checked(block: FloatArray, grid: Grid, *, rows: slice, columns: slice) -> FloatArray:
    """The block cut to [0, 1], with 0 (of weight 0) in cells that were not observed."""
    if grid.mask is not None:
        block = np.where(grid.mask[rows, columns], block, 0.0)
    fits = (block >= -NEGATIVE_TOLERANCE) & (block <= 1 + NEGATIVE_TOLERANCE)
    if not fits.all():
        x, c = (int(i) for i in np.argwhere(~fits)[0])
        place = grid.place(rows.start + x, columns.start + c)
        raise SettingsError(
            f"p_correct: expected probabilities from 0 to 1, found {block[x, c]} in {place}; "
            "if cells are missing, pass mask (True = observed)"
        )
    return np.clip(block, 0.0, 1.0)
