"""Points: a dot with its interval for each group, statement or model, and a panel per number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import brief
from clinometer.report.charts.axes import group_axis, name_width
from clinometer.report.charts.look import (
    INK,
    LINE,
    MARK,
    PAGE,
    WIDE,
    Spec,
    fitted,
    is_narrow,
    several_views,
    wrapped,
)
from clinometer.report.charts.marks import (
    ABOUT,
    described,
    floats,
    label_by_name,
    layers,
    literal,
    mark,
    quantitative,
)

Axis = Callable[[pd.DataFrame, int], Spec]
"""The options of a horizontal channel for the numbers of a table, in a width."""

_NUMBERS = (
    "value",
    "low",
    "high",
    "range_low",
    "range_high",
    "chance_low",
    "chance_high",
)
"""The columns of `points` that are numbers."""


@dataclass(frozen=True)
class Panel:
    """One number of every row."""

    name: str = ""
    """Its title, and the value of the column `panel`."""

    about: str = ""
    """What the number is."""

    ink: str = INK
    """Its colour."""

    end: float | None = None
    """Where its axis from 0 ends; panels without an end share one."""


def points_chart(
    table: pd.DataFrame,
    *,
    axis: Axis | None = None,
    panels: Sequence[Panel] = (),
    row: int = 24,
    room: int = 170,
    faint: bool = False,
    width: int = WIDE,
) -> Spec:
    """Return one row per name: a dot at its value, thick its interval, thin its range. Panels stand
    next to each other on a page and below each other on a phone; on one axis always below each
    other.

    table: name and value, in display order; about (in words, else text says the value); and
    optionally panel, low and high (the interval), range_low and range_high, chance_low and
    chance_high (a grey band behind the dot), each NaN where there is none; clear (a ring where it
    is not); ink (its colour where it is clear, else that of its panel); pale (True for rows that
    serve as a comparison); label (of the row, in full). axis: of all panels; without it each begins
    at 0. room: for the names, in pixels. faint: as a background, because the words carry hardly any
    probability.
    """
    fade = 0.35 if faint else 1.0
    rows = _complete(table)
    if not panels:
        panels = [Panel(name) for name in rows["panel"].unique()]
    rows = _coloured(rows, panels, fade)
    first = panels[0]
    largest = float(rows[["value", "high", "chance_high"]].max().max() or 1.0)
    ticks = 5 if is_narrow(width) or len(panels) == 1 else 3
    from_zero = {"orient": "top", "format": "~r", "tickCount": ticks}

    def draw(panel: Panel, _: pd.DataFrame) -> list[Spec]:
        if axis is None:
            scale = {"domain": [0, 1.02 * (panel.end or largest)], "nice": True}
            return _marks({"title": None, "scale": scale, "axis": from_zero}, fade)
        x = axis(rows, width)
        if panel is not first:
            x["title"] = None
        return _marks(x, fade)

    if first.name:
        return in_panels(rows, panels, draw, width, side_by_side=axis is None, row=row)
    y = group_axis(rows["label"], width, room=room)
    chart = layers(*draw(first, rows), data=rows, y=y)
    return fitted(chart, width, row * len(rows))


def _complete(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `points` with every column, those that the caller left out as usual."""
    usual: dict[str, Any] = {"panel": "", "clear": True, "pale": False}
    lacking = {name: value for name, value in usual.items() if name not in table}
    rows = floats(table.reset_index(drop=True).assign(**lacking), *_NUMBERS)
    if "label" not in rows:
        rows["label"] = rows["name"].map(label_by_name(rows["name"], 40))
    if "about" not in rows:
        rows = described(rows, "{label}: {panel} {text}")
    return rows


def _coloured(rows: pd.DataFrame, panels: Sequence[Panel], fade: float) -> pd.DataFrame:
    """Return the rows with the colour, the filling and the opacity of their dots."""
    clear = rows["clear"].astype(bool)
    if "ink" in rows:
        rows["ink"] = rows["ink"].where(clear, MARK)
    else:
        rows["ink"] = rows["panel"].map({panel.name: panel.ink for panel in panels})
    rows["fill"] = rows["ink"].where(clear, PAGE)
    rows["seen"] = np.where(rows["pale"].eq(True), 0.4, fade)
    return rows


def _marks(x: Spec, fade: float) -> list[Spec]:
    """Return the marks of `points`, each behind the next."""
    ink = literal("ink")
    grey = {"value": LINE}
    thin = {"strokeWidth": 1, "opacity": 0.5 * fade}
    thick = {"height": 6, "cornerRadius": 3, "opacity": 0.45 * fade}
    dot = mark(
        "point",
        look={"size": 80, "strokeWidth": 1.5},
        x=quantitative("value", **x),
        fill=literal("fill"),
        stroke=ink,
        description=ABOUT,
        opacity=quantitative("seen", scale=None),
    )
    return [
        _from_low_to_high("bar", "chance_", x, color=grey, look={"height": 16}),
        _from_low_to_high("rule", "range_", x, color=ink, look=thin),
        _from_low_to_high("bar", "", x, color=ink, look=thick),
        dot,
    ]


def _from_low_to_high(
    kind: str, prefix: str, x: Spec, *, color: Spec, look: Spec
) -> Spec:
    """Return a mark that lies between the columns `low` and `high` of a prefix."""
    low = f"{prefix}low"
    high = {"field": f"{prefix}high"}
    start = quantitative(low, **x)
    return mark(kind, look=look, needs=low, x=start, x2=high, color=color)


def in_panels(
    table: pd.DataFrame,
    panels: Sequence[Panel],
    draw: Callable[[Panel, pd.DataFrame], list[Spec]],
    width: int,
    *,
    side_by_side: bool = True,
    row: int = 24,
) -> Spec:
    """Return a panel for each number, a row for each label; `draw` makes the marks of a panel of
    its part of the table.

    Panels that are never side by side have rows of their own.
    """
    labels = list(dict.fromkeys(table["label"]))
    left = name_width(labels, width)
    columns = len(panels)
    if is_narrow(width) or not side_by_side:
        columns = 1
    plot_width = (width - left - 26 * (columns - 1) - 16) / columns
    views = []
    for i, panel in enumerate(panels):
        part = table[table["panel"] == panel.name]
        rows = labels if side_by_side else list(part["label"])
        y = group_axis(rows, width, extent=left)
        if i and columns > 1:
            y["axis"] = {"labels": False, "minExtent": 0}
        title: Spec = {"text": brief(panel.name, 60), "fontSize": 12, "offset": 2}
        if side_by_side:
            title = _panel_title(panel, int(plot_width))
        size: Spec = {"title": title, "width": plot_width, "height": row * len(rows)}
        views.append({**layers(*draw(panel, part), data=part, y=y), **size})
    spacing = 26 if side_by_side else 16
    return several_views(views, width, side_by_side=side_by_side, spacing=spacing)


def _panel_title(panel: Panel, width: int) -> dict[str, Any]:
    """Return the title of a panel that stands beside others, with what its number is."""
    return {
        "text": brief(panel.name, 60),
        "fontSize": 13,
        "offset": 6,
        "subtitle": wrapped(panel.about, width) if panel.about else [],
        "frame": "group",
        "color": panel.ink,
    }
