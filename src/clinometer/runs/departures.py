"""Who gets more or less than the mean: single groups, and kinds of people.

Groups that are compared with their mean get more or less of an answer in every context; the mean of
that over contexts is a lean, and its interval is what flipping the contexts does not reject. Kinds
of people are corrected for all kinds that were looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clinometer.measure import Preferences
from clinometer.measure.evidence import by_unit, unit_numbers
from clinometer.runs.kinds import Kind, kinds, statements_about
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.estimate import Estimate, around
from clinometer.statistics.intervals.flips import flip_interval

if TYPE_CHECKING:
    from clinometer.runs.run import Run

SHARE_OF_KINDS = 0.2
"""Of the error that intervals may have, what all kinds of people have together.

They are looked at beside single people, and lead where one is clear: with 5 % for single people the
two have 6 % together, and not 10.
"""


def departures(value: FloatArray, group_weights: FloatArray) -> FloatArray:
    """Return how far each cell [X,C] is from the mean of the groups that answer in its context."""
    weights = group_weights[:, None] * np.isfinite(value)
    total = weights.sum(axis=0)
    sums = (weights * np.nan_to_num(value)).sum(axis=0)
    mean = sums / np.where(total > 0, total, np.nan)
    return np.asarray(value - mean)


def mean_departures(
    rows: Sequence[Kind],
    departure: FloatArray,
    preferences: Preferences,
    *,
    level: float,
    clusters: str | None = None,
) -> list[Estimate]:
    """Return the mean departure of each row, with the interval that flips of the contexts do not
    reject; no interval where too few contexts carry the weight."""
    contexts = np.broadcast_to(preferences.context_weights, departure.shape)
    weights = preferences.group_weights[:, None] * contexts * np.isfinite(departure)
    weighted = weights * np.nan_to_num(departure)
    labels = None if clusters is None else preferences.label(clusters)
    units = unit_numbers(labels, departure.shape[1])
    members = [list(row.members) for row in rows]
    row_weights = np.array([weights[groups].sum(axis=0) for groups in members])
    row_sums = np.array([weighted[groups].sum(axis=0) for groups in members])
    total = np.maximum(row_weights.sum(axis=1, keepdims=True), 1e-300)
    unit_weights = by_unit((row_weights / total).T, units).T
    unit_sums = by_unit((row_sums / total).T, units).T
    mean = unit_sums.sum(axis=1)
    residuals = unit_sums - unit_weights * mean[:, None]
    low, high = flip_interval(mean, residuals, unit_weights, level=level)
    return [
        around(*interval, level, "flipped contexts")
        for interval in zip(mean.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def is_clear(lean: Estimate) -> bool:
    """Return whether the interval of a lean excludes 0."""
    if lean.low is None or lean.high is None:
        return False
    return lean.low > ROUNDING or lean.high < -ROUNDING


def joint(level: float, number: int) -> float:
    """Return the level of each of several intervals that are to hold together."""
    return 1 - (1 - level) / max(number, 1)


def kind_leans(run: Run) -> dict[str, Estimate]:
    """Return what people who have something in common get more or less than the mean, with
    intervals that are corrected for all kinds looked at.

    Empty where nobody can get more than others, or the list of people says nothing.
    """
    value = run.outcome.compared_value(run.preferences)
    if value is None:
        return {}
    rows = kinds(run)
    if not rows:
        return {}
    preferences, settings = run.preferences, run.record.settings
    level = 1 - SHARE_OF_KINDS * (1 - joint(settings.level, statements_about(rows)))
    leans = mean_departures(
        rows,
        departures(value, preferences.group_weights),
        preferences,
        level=level,
        clusters=settings.clusters,
    )
    return {row.name: lean for row, lean in zip(rows, leans, strict=True)}
