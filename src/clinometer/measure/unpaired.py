"""Differences between models over the same groups, each asked in its own contexts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from clinometer.measure.bracket import Bracket, bracket
from clinometer.measure.comparison import (
    DifferenceArrays,
    group_differences,
    level_of_each,
    overall_differences,
    values_by_measure,
)
from clinometer.measure.differences import (
    Comparison,
    ContextCount,
    Difference,
    ranks_from_tests,
)
from clinometer.measure.evidence import Evidence
from clinometer.measure.preferences import Preferences
from clinometer.measure.risks import MEASURES
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap
from clinometer.statistics.intervals.reach import student_reach


def compare_unpaired(
    models: Sequence[Preferences],
    *,
    names: Sequence[str],
    clusters: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Return differences between models over the same groups, each in its own contexts.

    All have the same groups, group weights and categories. Contexts are told apart by their ids, or
    by the label of their cluster. Intervals and p-values are those of both audits, joined, less
    what units that both models have share. There is neither interval nor p-value where a model has
    a single unit.
    """
    labels: list[list[str]] = []
    units: list[list[str]] = []
    evidence: list[Evidence] = []
    for model in models:
        names_of_units = model.contexts if clusters is None else model.label(clusters)
        labels.append(list(map(str, names_of_units)))
        units.append(list(dict.fromkeys(labels[-1])))
        evidence.append(
            Evidence.of(model.grid, clusters=names_of_units, samples=model.samples)
        )

    pairs = list(itertools.combinations(range(len(models)), 2))
    joint_level = level_of_each(level, len(pairs))
    brackets = [bracket(part, level=level, seed=seed) for part in evidence]
    joint_brackets = [bracket(part, level=joint_level, seed=seed) for part in evidence]
    overall: list[Difference] = []
    by_group: list[Difference] = []
    for i, j in pairs:
        pair = names[i], names[j]
        shared = _shared_units(units[i], units[j])
        groups = _unpaired(brackets[i], brackets[j], shared).columns(slice(-1))
        by_group += group_differences(pair, models[0].groups, groups)
        whole = _unpaired(joint_brackets[i], joint_brackets[j], shared)
        all_groups = whole.columns(slice(-1, None))
        overall += overall_differences(pair, MEASURES, all_groups, pairs=len(pairs))

    values = values_by_measure(brackets)
    sizes = tuple(
        ContextCount(model.grid.shape[1], part.n_eff)
        for model, part in zip(models, evidence, strict=True)
    )
    clustered = any(
        len(of_model) < len(model.contexts)
        for of_model, model in zip(units, models, strict=True)
    )
    return Comparison(
        models=tuple(names),
        groups=models[0].groups,
        overall=tuple(overall),
        by_group=tuple(by_group),
        ranks=tuple(ranks_from_tests(values, overall, tuple(names), level)),
        n_contexts=sum(size.contexts for size in sizes),
        n_eff=min(size.n_eff for size in sizes),
        n_clusters=len(set().union(*units)) if clustered else None,
        missing_cells=sum(model.grid.missing_cells for model in models),
        level=float(level),
        seed=int(seed),
        own_contexts=sizes,
    )


@dataclass(frozen=True, eq=False)
class SharedUnits:
    """Places of the units that two models share, in the lists of either."""

    in_a: NDArray[np.intp]
    in_b: NDArray[np.intp]


def _shared_units(a: list[str], b: list[str]) -> SharedUnits:
    """Return the places of the names that two lists share."""
    _, in_a, in_b = np.intersect1d(a, b, return_indices=True)
    return SharedUnits(in_a, in_b)


def _unpaired(a: Bracket, b: Bracket, shared: SharedUnits) -> DifferenceArrays:
    """Return differences of two models in their own units, [3,X+1].

    The arms of both intervals are joined by their squares (MOVER, Zou and Donner 2008), and p goes
    through the end that is nearer to 0. Its tail is Student's with the degrees of freedom of the
    smaller sample: far tails are those of its errors.
    """
    rho = _correlation(a, b, shared)
    gap = snap(a.value - b.value)
    below = _joined_arm(a.value - a.low, b.high - b.value, rho)
    above = _joined_arm(a.high - a.value, b.value - b.low, rho)

    degrees = np.minimum(_degrees_of_freedom(a), _degrees_of_freedom(b))
    single_unit = degrees <= ROUNDING
    degrees = np.maximum(degrees, 1.0)
    arm_to_zero = np.where(gap > 0, below, above)
    scaled_gap = student_reach(np.abs(gap), degrees, level=a.level)
    # No spread, and yet a difference: that says little.
    t = np.divide(
        scaled_gap,
        arm_to_zero,
        out=np.where(scaled_gap > 0, np.nan, 0.0),
        where=arm_to_zero > ROUNDING,
    )
    t = np.where(single_unit, np.nan, t)
    unknown = np.isnan(t)
    return DifferenceArrays(
        value=gap,
        low=np.where(unknown, np.nan, gap - below),
        high=np.where(unknown, np.nan, gap + above),
        p_value=2 * stdtr(degrees, -t),
    )


def _joined_arm(of_a: FloatArray, of_b: FloatArray, rho: FloatArray) -> FloatArray:
    """Return the arm of a difference from those of two numbers whose correlation is rho."""
    square = of_a**2 + of_b**2 - 2 * rho * of_a * of_b
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))


def _degrees_of_freedom(risks: Bracket) -> FloatArray:
    """Return the effective units less one, [X+1]."""
    sum_w2 = (risks.weights**2).sum(axis=0)
    return np.asarray(1 / np.maximum(sum_w2, ROUNDING) - 1.0)


def _weighted_residuals(risks: Bracket) -> FloatArray:
    """Return what each unit moves the risks from their means by, [3,U,X+1]."""
    means = (risks.weights * risks.contributions).sum(axis=1, keepdims=True)
    return np.asarray(risks.weights * (risks.contributions - means))


def _correlation(a: Bracket, b: Bracket, shared: SharedUnits) -> FloatArray:
    """Return the correlation of the errors of two models [3,X+1], from the units that both have.

    0 where nothing varies.
    """
    residuals_a = _weighted_residuals(a)
    residuals_b = _weighted_residuals(b)
    variance_a = (residuals_a**2).sum(axis=1)
    variance_b = (residuals_b**2).sum(axis=1)
    size = np.sqrt(variance_a * variance_b)
    covariance = residuals_a[:, shared.in_a] * residuals_b[:, shared.in_b]
    rho = np.divide(
        covariance.sum(axis=1), size, out=np.zeros_like(size), where=size > 0
    )
    return np.asarray(np.clip(rho, -1.0, 1.0))
