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
    PreferenceGrid,
    read_preferences,
)
from clinometer.settings import SHARE_ABOVE_0
from clinometer.statistics.arrays import (
    FloatArray,
    as_real,
    read_only,
    snap,
)
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.weights import weighted_mean


@dataclass(frozen=True, eq=False)
class KnowledgeReport:
    """Knowledge per group and overall, as `knowledge` gives it. Arrays are read-only."""

    groups: tuple[str, ...]
    """The labels of X groups."""

    knowledge: FloatArray
    """[X], E[J(p)]."""

    deterministic: FloatArray
    """[X], J(E[p]): the score of a model that answers alike in every context."""

    confidence_gap: FloatArray
    """[X], deterministic - knowledge, at least 0; 0 for a steady model."""

    group_weights: FloatArray
    """[X], sum to one over all groups."""

    overall_knowledge: Estimate
    """The mean over the groups, as the following two are."""

    overall_deterministic: Estimate
    overall_confidence_gap: Estimate

    missing_groups: tuple[str, ...]
    """Groups without any observed weight."""


def knowledge(
    p_correct: ArrayLike,
    *,
    exponent: float = 0.5,
    **arguments: Unpack[PreferenceArguments],
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
    grid = _read_correct(p_correct, arguments)
    weights = grid.cell_weights()
    p = grid.block()[..., 0]
    total = weights.sum(axis=1)
    divisor = np.where(total > 0, total, np.nan)
    mean_of_scores = snap((weights * p**exponent).sum(axis=1) / divisor)
    score_of_mean = snap(((weights * p).sum(axis=1) / divisor) ** exponent)
    gap = snap(score_of_mean - mean_of_scores)
    group_weights = grid.observed_weights(total > 0)
    return KnowledgeReport(
        groups=grid.groups,
        knowledge=read_only(mean_of_scores),
        deterministic=read_only(score_of_mean),
        confidence_gap=read_only(gap),
        group_weights=grid.group_weights,
        overall_knowledge=Estimate(weighted_mean(mean_of_scores, group_weights)),
        overall_deterministic=Estimate(weighted_mean(score_of_mean, group_weights)),
        overall_confidence_gap=Estimate(weighted_mean(gap, group_weights)),
        missing_groups=grid.missing(total),
    )


def _read_correct(
    p_correct: ArrayLike, arguments: PreferenceArguments
) -> PreferenceGrid:
    """Read probabilities of the correct answer as preferences between it and all others."""
    array = np.asarray(as_real(p_correct, name="p_correct"), dtype=np.float64)
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2:
        raise SettingsError(
            f"p_correct: expected shape [groups, contexts], found {array.ndim} dimensions"
        )
    p = np.clip(array, 0.0, 1.0)
    grid = read_preferences(np.stack([p, 1.0 - p], axis=-1), **arguments)
    is_outside = np.abs(array - p) > NEGATIVE_TOLERANCE
    if grid.mask is not None:
        is_outside &= grid.mask
    if is_outside.any():
        x, c = np.argwhere(is_outside)[0].tolist()
        raise SettingsError(
            f"p_correct: expected probabilities from 0 to 1, found {array[x, c]} in "
            f"{grid.place(x, c)}"
        )
    return grid
