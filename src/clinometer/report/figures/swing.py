"""The groups and contexts that swing most, as a map of single answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clinometer.display.text import brief
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.charts.answers import MOST_GROUPS, MOST_ON_A_PHONE, answers_chart
from clinometer.report.charts.look import DECISION, MARK
from clinometer.report.figure import Figure
from clinometer.report.figures.run_words import basis, palette
from clinometer.runs import Run
from clinometer.runs.names import context_noun, groups_noun
from clinometer.statistics.arrays import FloatArray
from clinometer.topics.conversation import CASE
from clinometer.topics.shortened import gaps_shown, question_label

_SWING_CONTEXTS = 15
"""Contexts of the figure of swing."""


def swing_figure(cells: CellStatistics) -> Figure | None:
    """Return the groups with the highest volatility risk in the contexts that swing most; None
    where nothing swings."""
    run = cells.run
    p = run.preferences
    risk = np.nan_to_num(run.risks.r_volatility, nan=-np.inf)
    order = np.argsort(-risk, kind="stable")[:MOST_GROUPS].tolist()
    groups = [x for x in order if risk[x] > 1e-9]
    if not groups or len(p.contexts) < 2:
        return None
    contexts = _contexts_that_swing(cells, groups)
    look = _look(cells)
    labels = _context_labels(run)
    rows = []
    for c in contexts:
        for x in groups:
            if not np.isnan(cells.strength[x, c]):
                rows.append(
                    {
                        "group": p.groups[x],
                        "template": labels[c],
                        "strength": cells.depth[x, c],
                        "leans": look.sides[look.side[x, c]],
                        "text": f"{look.values[x, c]:.{look.digits}f}",
                    }
                )
    table = pd.DataFrame(rows)
    context = context_noun(run)
    highest = "; ".join(f"{brief(p.groups[x], 30)} {risk[x]:.3f}" for x in groups[:8])
    return Figure(
        key="swing",
        title=f"The most swinging {groups_noun(run)}, {context} by {context}",
        caption=(
            f"The {len(groups)} of {len(p.groups)} {groups_noun(run)} with the highest volatility "
            f"risk, in the {len(contexts)} of {len(p.contexts):,} {context}s that move them most: "
            f"a selection, not the average; a phone shows the first {MOST_ON_A_PHONE}. "
            f"Colour: {look.colour_name}, the deeper the further from the reference; number: "
            f"{look.value_name}; blank: no answer. {basis(run)}."
        ),
        alt=f"Heat map. Volatility risk of the groups shown: {highest}.",
        draw=lambda width: answers_chart(
            table, categories=look.sides, colours=look.colours, width=width
        ),
    )


def _contexts_that_swing(cells: CellStatistics, groups: list[int]) -> list[int]:
    """Return the contexts in which groups are furthest from their means, by their pull."""
    means = np.asarray(cells.run.risks.mean_stereotype)[groups][:, None, :]
    distance = np.abs(cells.s[groups] - means).max(axis=2)
    mean_distance = np.nan_to_num(distance).mean(axis=0)
    furthest = np.argsort(-mean_distance, kind="stable")[:_SWING_CONTEXTS]
    pull = np.nan_to_num(cells.context_mean[furthest, -1])
    return [int(c) for c in furthest[np.argsort(pull, kind="stable")]]


def _context_labels(run: Run) -> Sequence[str]:
    """Return a short name for each context."""
    p = run.preferences
    if CASE in p.labels:
        return p.labels[CASE]
    shorten = question_label if run.outcome.asks_questions else gaps_shown
    return [shorten(template) for template in p.templates or p.contexts]


@dataclass(frozen=True, eq=False)
class _CellLook:
    """What the colour and the number of each cell are."""

    side: np.ndarray
    """[X, C]: index of the side that the answer is on."""

    sides: tuple[str, ...]
    """The names of the sides."""

    colours: Sequence[str]
    """The colour of each side."""

    colour_name: str
    """What the colour stands for."""

    values: FloatArray
    """[X, C]: the number of the cell."""

    digits: int
    """Its digits after the point."""

    value_name: str
    """What the number is."""


def _look(cells: CellStatistics) -> _CellLook:
    """Return how cells look: the favoured category and its share; or a score, or the share of the
    favourable answer, beside its mean."""
    run = cells.run
    p = run.preferences
    favourable = run.outcome.coloured
    values = run.outcome.value(p)
    if favourable is None or values is None:
        favoured = cells.favoured
        share = np.take_along_axis(p.values, favoured[..., None], axis=2)[..., 0]
        return _CellLook(
            side=favoured,
            sides=p.categories,
            colours=palette(run),
            colour_name="the favoured category",
            values=100 * share,
            digits=0,
            value_name="its share in per cent",
        )
    return _CellLook(
        side=(cells.s[..., favourable] > 0).astype(int),
        sides=("below the mean", "above the mean"),
        colours=[MARK, DECISION],
        colour_name="below or above the mean",
        values=values,
        digits=run.outcome.value_digits,
        value_name=run.outcome.value_name,
    )
