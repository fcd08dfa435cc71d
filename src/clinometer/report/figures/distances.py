"""The groups as distances from what all groups get in the same context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from clinometer.display.text import brief
from clinometer.measure import Preferences
from clinometer.measure.leaning import GroupLean
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.charts.axes import distance_axis
from clinometer.report.charts.look import GROUP_ROW, Spec
from clinometer.report.charts.points import points_chart
from clinometer.report.figure import Figure
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
from clinometer.runs import Run
from clinometer.runs.departures import joint
from clinometer.runs.kinds import kinds_shown
from clinometer.runs.names import context_noun, groups_noun


def distances_figure(cells: CellStatistics) -> Figure:
    """Return distances from what all groups get in the same context; people in panels, each from
    the average of its panel."""
    run = cells.run
    whole = cells.whole or run
    unit = run.outcome.unit.name
    kinds = kinds_shown(whole)
    columns = ["group", unit, "low", "high", "clear"]
    if len(kinds) > 1:
        table = _distances_by_kind(whole, kinds)
        mean = "the mean named over its panel"
        columns = ["shown as", *columns]
    else:
        table = distances(run)
        mean = f"what all {groups_noun(run)} get"
    drawn = pd.concat(
        part.iloc[with_room(list(range(len(part))))]
        for _, part in table.groupby("panel", sort=False)
    )
    title = title_of_groups(run)
    names = {"panel": "shown as", "away": unit, "away_low": "low", "away_high": "high"}
    values = group_values(drawn.head(40), "away", signed_text)
    return Figure(
        key="groups",
        title=title,
        caption=(
            f"{selection_text(len(drawn), len(table))}Dot: from {mean} in the same "
            f"{context_noun(run)}, in {unit}.{interval_words(run, drawn['away_low'])} Ring: not "
            "clear."
        ),
        alt=f"{title}. {unit.capitalize()} from {mean}: {values}.",
        draw=lambda width: _draw(run, drawn, width),
        table=drawn.rename(columns=names)[columns],
    )


def _distances_by_kind(run: Run, kinds: Mapping[str, Preferences]) -> pd.DataFrame:
    """Return `distances` of each kind from its own mean, its panel named after kind and mean; of
    single groups those that are said of them everywhere, from the mean of all."""
    settings = run.record.settings
    level = joint(settings.level, len(kinds))
    frames = []
    for kind, preferences in kinds.items():
        if set(preferences.groups) <= set(run.preferences.groups):
            leans = [lean for lean in run.leans if lean.group in preferences.groups]
            mean = f"mean of all {_mean_answer(run, run.preferences)}"
        else:
            leans = list(preferences.leans(level=level, clusters=settings.clusters))
            mean = f"average {_mean_answer(run, preferences)}"
        frame = distances(run, leans)
        frames.append(frame.assign(panel=f"{kind.capitalize()}, {mean}"))
    return pd.concat(frames, ignore_index=True)


def _mean_answer(run: Run, preferences: Preferences) -> str:
    """Return the mean answer over the groups that have one, in words."""
    shares = preferences.grid.mean(preferences.values)
    answered = ~np.isnan(shares).any(axis=1)
    weights = preferences.group_weights[answered]
    return run.outcome.mean_text(np.average(shares[answered], axis=0, weights=weights))


def distances(run: Run, leans: Sequence[GroupLean] | None = None) -> pd.DataFrame:
    """Return one row per group with an answer, the lowest first: its distance from the mean and the
    ends of the interval that decides whether it is clear (NaN without one), in points of the scale
    or percentage points."""
    far_category = run.preferences.categories[run.outcome.far_end]
    rows = []
    for lean in run.leans if leans is None else leans:
        if lean.lean is None:
            continue
        scale = run.outcome.span
        if lean.favoured != far_category:
            scale = -scale
        ends = [np.nan, np.nan]
        if lean.low is not None and lean.high is not None:
            ends = sorted((scale * lean.low, scale * lean.high))
        is_clear = lean.category is not None
        rows.append((lean.group, scale * lean.lean, *ends, is_clear))
    columns = ["group", "away", "away_low", "away_high", "clear"]
    frame = pd.DataFrame(rows, columns=columns).assign(panel="")
    return frame.sort_values("away", kind="stable", ignore_index=True)


def _draw(run: Run, table: pd.DataFrame, width: int) -> Spec:
    outcome = run.outcome
    unit = outcome.unit.name
    colours = palette(run)
    far_end = outcome.far_end
    columns = {"group": "name", "away": "value", "away_low": "low", "away_high": "high"}
    rows = table.rename(columns=columns)
    rows["ink"] = np.where(rows["value"] < 0, colours[1 - far_end], colours[far_end])
    rows["about"] = [
        f"{brief(row['name'], 40)}: {signed_text(row['value'])} {unit}"
        f"{ends_text(row, signed_text)}; {clear_text(row)}"
        for row in rows.to_dict("records")
    ]
    if not table["panel"].any():
        unit = f"{unit} from the average"
    axis = partial(distance_axis, ends=outcome.ends, unit=unit)
    return points_chart(
        rows, axis=axis, row=GROUP_ROW, faint=is_faint(run), width=width
    )


def signed_text(value: float) -> str:
    """Return +1.2 or −0.35: a distance on the axis of a chart."""
    return f"{value:+.2g}".replace("-", "−")
