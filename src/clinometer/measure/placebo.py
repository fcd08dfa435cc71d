"""How far groups differ beside irrelevant edits of the same texts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from clinometer.measure.components import CellMoments, Deviations
from clinometer.measure.criterion import Criterion
from clinometer.measure.preferences import Preferences
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.intervals.student import fieller

LEAST_UNITS = 3
"""An interval of the ratio takes at least so many units."""


@dataclass(frozen=True)
class Placebo:
    """Irrelevant edits beside the groups: how far two of each differ, without dice."""

    edits: tuple[str, ...]
    """What was edited; the first is the text as it was."""

    groups: float
    """How far two groups differ (root mean square), in points of the scale or shares."""

    edit: float
    """How far two edits of one text differ."""

    ratio: float | None
    """Groups to edits; None where the edits move nothing."""

    low: float | None
    """The lower end of Fieller's interval of the ratio."""

    high: float | None
    """Its upper end; None where the edits may move nothing."""

    level: float
    """The level of the interval."""


def placebo_of(
    preferences: Preferences,
    edits: Preferences,
    criterion: Criterion,
    *,
    level: float,
    clusters: str | None,
) -> Placebo:
    """Return how far groups differ beside irrelevant edits.

    Args:
        preferences: of the groups.
        edits: edits × texts, whose label `context` is the context of `preferences` that they edit.
        criterion: how both are measured.
        level: of the interval of the ratio.
        clusters: the label of contexts that are one unit.
    """
    numbers = {context: c for c, context in enumerate(preferences.contexts)}
    edited_contexts = [numbers.get(name, -1) for name in edits.labels["context"]]
    texts = [i for i, c in enumerate(edited_contexts) if c >= 0]
    contexts = np.array([edited_contexts[i] for i in texts], dtype=int)
    of_groups = CellMoments.of(
        replace(preferences, criterion=criterion).grid,
        preferences.answers,
        clusters=None if clusters is None else preferences.label(clusters),
    )
    in_run = replace(edits, criterion=criterion).only(contexts=texts)
    of_edits = CellMoments.of(in_run.grid, in_run.answers)
    between_groups, weights = pair_squares(of_groups)
    n_contexts = len(between_groups)

    # The texts of a context are averaged; a context without edits weighs nothing.
    squares, shares = pair_squares(of_edits)
    share = np.bincount(contexts, shares, n_contexts)
    sums = np.bincount(contexts, shares * squares, n_contexts)
    between_edits = sums / np.where(share > 0, share, 1.0)
    weights = np.where(share > 0, weights, 0.0)
    weights = weights / (weights.sum() or 1.0)

    units = of_groups.units
    group_parts = np.bincount(units, weights * between_groups).astype(float)
    edit_parts = np.bincount(units, weights * between_edits).astype(float)
    has_both = np.bincount(units, weights) > 0
    n_units = int(has_both.sum())
    low: float | None = None
    high: float | None = None
    if n_units >= LEAST_UNITS:
        low, high = fieller(
            n_units * group_parts[has_both], n_units * edit_parts[has_both], level=level
        )
    group_square = max(float(group_parts.sum()), 0.0)
    edit_square = float(edit_parts.sum())
    moves = edit_square > ROUNDING
    return Placebo(
        edits=edits.groups,
        groups=math.sqrt(group_square),
        edit=math.sqrt(max(edit_square, 0.0)),
        ratio=math.sqrt(group_square / edit_square) if moves else None,
        low=None if low is None else math.sqrt(max(low, 0.0)),
        high=None if high is None else math.sqrt(max(high, 0.0)),
        level=level,
    )


def pair_squares(cells: CellMoments) -> tuple[FloatArray, FloatArray]:
    """Return how far two of the groups differ in each context [C], squared and without dice, and
    the weights of the contexts [C]; 0 for a context with fewer than two groups."""
    deviations = Deviations.of(replace(cells, centre=None))
    shares = np.where(cells.n > 0, deviations.groups[:, None], 0.0)
    shares = shares / np.maximum(shares.sum(axis=0), 1e-300)
    of_different_groups = 1 - (shares**2).sum(axis=0)
    square = (deviations.d**2).sum(axis=-1) - deviations.noise
    both = 2 * (shares * square).sum(axis=0)
    several = (cells.n > 0).sum(axis=0) > 1
    squares = np.where(several, both / np.where(several, of_different_groups, 1.0), 0.0)
    weights = np.where(several, cells.weights, 0.0)
    return squares, weights / (weights.sum() or 1.0)
