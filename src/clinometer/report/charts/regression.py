"""A scatter plot with a fitted line: a number of each group against a social factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import brief
from clinometer.report.charts.axes import GRID, OVER_TITLE, above, channel
from clinometer.report.charts.look import (
    BIAS,
    INK,
    PAGE,
    WIDE,
    Spec,
    fitted,
    is_narrow,
    wrapped,
)
from clinometer.report.charts.marks import ABOUT, mark, nominal, quantitative


def regression_chart(
    table: pd.DataFrame,
    line: pd.DataFrame,
    *,
    factor: str,
    measure: str = "discrimination risk r of a group (0 to 1)",
    size: str | None = None,
    width: int = WIDE,
) -> Spec:
    """Return a number of each group against a social factor: one point per group, the fitted line
    and its interval band; the highest and the lowest group are named.

    table: group, x, y and optionally size (employment). line: x, y, low, high.
    """
    narrow = is_narrow(width)
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True)
    frame = frame.assign(label=[brief(group, 26) for group in frame["group"]])
    about = [
        f"{row['label']}: {factor} {row['x']:,.4g}, {measure} {row['y']:.3f}"
        for row in frame.to_dict("records")
    ]
    sizes: dict[str, Any] = {}
    if size is not None and "size" in frame:
        about = [
            f"{text}, {size} {value:,.0f}"
            for text, value in zip(about, frame["size"], strict=True)
        ]
        sizes["size"] = _size_channel(size, float(frame["size"].max()), narrow)
    frame["about"] = about

    margin = 0.04 * float(np.ptp(frame["x"])) or 1.0
    left = float(frame["x"].min()) - margin
    right = float(frame["x"].max()) + margin
    x_title = wrapped(f"{factor} → higher", width)
    x_axis = channel(x_title, [left, right], tickCount=4 if narrow else 6, format="~s")
    top = 1.1 * max(float(frame["y"].max()), 1e-3)
    # A lean has a sign, a risk has none.
    bottom = 1.1 * min(float(frame["y"].min()), 0.0)
    options = above(tickCount=4, format=".2~f", **GRID)
    y_axis = channel(f"{measure} ↑ higher", [bottom, top], **options)
    x = quantitative("x", **x_axis)
    y = quantitative("y", **y_axis)

    outermost = list(dict.fromkeys([frame["y"].idxmax(), frame["y"].idxmin()]))
    named = frame.loc[outermost]
    middle = (left + right) / 2
    named = named.assign(side=np.where(named["x"] < middle, "left", "right"))
    point_look = {"opacity": 0.55, "color": BIAS, "stroke": PAGE, "strokeWidth": 0.8}
    marks = [
        mark(
            "area",
            line,
            look={"opacity": 0.16, "color": INK, "clip": True},
            x=x,
            y=quantitative("low", **y_axis),
            y2={"field": "high"},
        ),
        mark("circle", frame, look=point_look, x=x, y=y, **sizes, description=ABOUT),
        mark(
            "line", line, look={"color": INK, "strokeWidth": 2, "clip": True}, x=x, y=y
        ),
    ]
    for side, part in named.groupby("side"):
        name_look = {"align": side, "dy": -13, "fontSize": 11, "color": INK}
        marks.append(
            mark("text", part, look=name_look, x=x, y=y, text=nominal("label"))
        )
    return fitted({"layer": marks}, width, 230 if narrow else 300)


def _size_channel(title: str, largest: float, narrow: bool) -> Spec:
    """Return a channel of the areas of points, with its legend over the plot."""
    legend = {
        "title": title,
        "titleOrient": "left",
        "offset": OVER_TITLE,
        "symbolType": "circle",
        "tickCount": 3,
        "format": ",.0f",
    }
    scale = {"domain": [0, largest], "range": [12, 520 if narrow else 900]}
    return quantitative("size", legend=legend, scale=scale)
