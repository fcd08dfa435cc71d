"""The groups of a run: shares of answers, as dots between two categories or as stacked bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from clinometer.display.numbers import percent
from clinometer.display.text import brief
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.charts.axes import share_axis
from clinometer.report.charts.look import GROUP_ROW, Spec
from clinometer.report.charts.points import points_chart
from clinometer.report.charts.shares import shares_chart
from clinometer.report.figure import Figure
from clinometer.report.figures.distances import distances_figure
from clinometer.report.figures.group_words import (
    clear_text,
    ends_text,
    group_values,
    interval_words,
    selection_text,
    title_of_groups,
    with_room,
)
from clinometer.report.figures.run_words import is_faint, palette
from clinometer.runs.names import context_noun
from clinometer.statistics.arrays import FloatArray


def leans_figure(cells: CellStatistics) -> Figure:
    """Return the groups as the chart of the outcome shows them: of two categories dots with
    intervals, as shares of words or as distances from what all groups get in the same context; of
    more categories stacked shares.

    At most FIRST_GROUPS: the outermost, and evenly spaced ones between; people in panels, where
    they are shown in several ways.
    """
    makers = {
        "distances": distances_figure,
        "dots": _dots_figure,
        "stacks": _stacks_figure,
    }
    return makers[cells.run.outcome.chart](cells)


def _dots_figure(cells: CellStatistics) -> Figure:
    """Return the shares of one of two categories, the lowest first."""
    run = cells.run
    far_end = run.outcome.far_end
    context = context_noun(run)
    thin = f"middle 90 % of its {context}s"
    if cells.whole_range:
        thin = f"lowest to highest {context}"
    intervals = interval_words(run, cells.mean_ends)
    caption = f"Dot: average.{intervals} Thin: {thin}. Ring: not clear."
    return _shares_figure(cells, cells.share[:, far_end], far_end, caption, draw=_dots)


def _stacks_figure(cells: CellStatistics) -> Figure:
    """Return the shares of all categories, the highest risk first."""
    run = cells.run
    caption = (
        f"Share of {run.outcome.each_category}, averaged over {context_noun(run)}s. Grey name: not "
        "clear."
    )
    order = -np.nan_to_num(run.risks.r, nan=-np.inf)
    return _shares_figure(cells, order, -1, caption, draw=_stacks)


def _shares_figure(
    cells: CellStatistics,
    order: FloatArray,
    category: int,
    caption: str,
    *,
    draw: Callable[[CellStatistics, Sequence[int], int], Spec],
) -> Figure:
    """Return the groups in the order of a number [X]; the text alternative has the share of one
    category."""
    run = cells.run
    table = _shares_table(cells)
    answered = cells.answered[np.argsort(order[cells.answered], kind="stable")].tolist()
    groups = with_room(answered)
    name = run.preferences.categories[category]
    share_of = run.outcome.category_noun(name)
    values = group_values(table.iloc[groups], f"share of {name}", percent)
    title = title_of_groups(run)
    return Figure(
        key="groups",
        title=title,
        caption=f"{selection_text(len(groups), len(answered))}{caption}",
        alt=f"{title}. Share of {share_of}: {values}.",
        draw=lambda width: draw(cells, groups, width),
        table=table,
    )


def _shares_table(cells: CellStatistics) -> pd.DataFrame:
    """Return one row per group: shares, ranges, whether its lean is clear."""
    run = cells.run
    low, high = cells.share_range
    names = run.preferences.categories
    table = pd.DataFrame({"group": run.risks.groups})
    for y, name in enumerate(names):
        table[f"share of {name}"] = cells.share[:, y]
        table[f"lowest share of {name}"] = low[:, y]
        table[f"highest share of {name}"] = high[:, y]
    table["leans to"] = [names[y] if y >= 0 else None for y in cells.side]
    table["clear"] = cells.clear
    for risk in ("r", "r_bias", "r_volatility"):
        table[risk] = getattr(run.risks, risk)
    return table


def _dots(cells: CellStatistics, groups: Sequence[int], width: int) -> Spec:
    """Draw the shares of the category at the far end of an axis between two."""
    run = cells.run
    end = run.outcome.far_end
    names = run.preferences.categories
    colours = palette(run)
    share_of = run.outcome.category_noun(names[end])
    low, high = cells.share_range
    mean_low, mean_high = cells.mean_ends
    table = pd.DataFrame(
        {
            "range_low": low[groups, end],
            "range_high": high[groups, end],
            "low": mean_low[groups, end],
            "high": mean_high[groups, end],
            "name": [run.risks.groups[x] for x in groups],
            "value": cells.share[groups, end],
            "ink": [colours[y] for y in cells.side[groups]],
            "clear": cells.clear[groups],
        }
    )
    table["about"] = [
        f"{brief(row['name'], 40)}: {percent(row['value'])} {share_of} on average"
        f"{ends_text(row, percent)}; its {context_noun(run)}s {percent(row['range_low'])} to "
        f"{percent(row['range_high'])}; {clear_text(row)}"
        for row in table.to_dict("records")
    ]
    axis = partial(
        share_axis,
        ends=(f"all {names[1 - end]}", f"all {names[end]}"),
        middle=reference_share(cells, end),
        colours=(colours[1 - end], colours[end]),
    )
    return points_chart(
        table, axis=axis, row=GROUP_ROW, faint=is_faint(run), width=width
    )


def _stacks(cells: CellStatistics, groups: Sequence[int], width: int) -> Spec:
    """Draw the shares of all categories."""
    run = cells.run
    names = run.preferences.categories
    rows = []
    for x in groups:
        group = run.risks.groups[x]
        for y, name in enumerate(names):
            share = cells.share[x, y]
            rows.append(
                {
                    "group": group,
                    "category": name,
                    "share": share,
                    "clear": cells.clear[x],
                    "about": f"{brief(group, 40)}: {percent(share)} {name}",
                }
            )
    table = pd.DataFrame(rows)
    return shares_chart(table, categories=names, faint=is_faint(run), width=width)


def reference_share(cells: CellStatistics, category: int) -> tuple[float, str]:
    """Return the share of a category that is no lean, and what it is called."""
    reference = cells.run.preferences.reference
    share = cells.share[:, category]
    if isinstance(reference, str):
        weights = np.where(np.isnan(share), 0.0, cells.run.risks.group_weights)
        return float(weights @ np.nan_to_num(share) / weights.sum()), "mean"
    if reference is None or np.asarray(reference).ndim != 1:
        return 1 / cells.share.shape[1], "even"
    return float(np.asarray(reference)[category]), "reference"
