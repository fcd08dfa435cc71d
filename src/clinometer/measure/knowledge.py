"""Knowledge and confidence: the framework with a concave criterion (appendix E.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.grid import (
    NEGATIVE_TOLERANCE,
    PreferenceArguments,
    read_preferences,
)
from clinometer.settings import SHARE_ABOVE_0
from clinometer.statistics.arrays import (
    FloatArray,
    as_real,
    read_only,
    snap,
    weighted_mean,
)
from clinometer.statistics.estimate import Estimate


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


def knowledge(
    p_correct: ArrayLike,
    *,
    exponent: float = 0.5,
    **given: Unpack[PreferenceArguments],
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
    array = np.asarray(as_real(p_correct, name="p_correct"), dtype=np.float64)
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2:
        raise SettingsError(
            f"p_correct: expected shape [groups, contexts], found {array.ndim} dimensions"
        )
    p = np.clip(array, 0.0, 1.0)
    grid = read_preferences(np.stack([p, 1.0 - p], axis=-1), **given)
    off = np.abs(array - p) > NEGATIVE_TOLERANCE
    if grid.mask is not None:
        off &= grid.mask
    if off.any():
        x, c = (int(i) for i in np.argwhere(off)[0])
        raise SettingsError(
            f"p_correct: expected probabilities from 0 to 1, found {array[x, c]} in "
            f"{grid.place(x, c)}"
        )
    w, p = grid.cell_weights(), grid.block()[..., 0]
    total = w.sum(axis=1)
    weights = grid.observed_weights(total > 0)
    divisor = np.where(total > 0, total, np.nan)
    known = snap((w * p**exponent).sum(axis=1) / divisor)
    deterministic = snap(((w * p).sum(axis=1) / divisor) ** exponent)
    gap = snap(deterministic - known)
    return KnowledgeReport(
        grid.groups,
        read_only(known),
        read_only(deterministic),
        read_only(gap),
        grid.group_weights,
        overall_knowledge=Estimate(weighted_mean(known, weights)),
        overall_deterministic=Estimate(weighted_mean(deterministic, weights)),
        overall_confidence_gap=Estimate(weighted_mean(gap, weights)),
        missing_groups=grid.missing(total),
    )
