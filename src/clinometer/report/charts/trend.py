"""Risks against size (Figure 7): one line per component of the risk, with intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clinometer.display.names import TITLES
from clinometer.report.charts.style.labels import Plot, name_points, paths
from clinometer.report.charts.style.theme import (
    AXIS,
    BIAS,
    INK,
    LINE,
    NARROW,
    OVER_TITLE,
    VOLATILITY,
    WIDE,
    above,
    altair,
    brief,
    fitted,
    rows,
    wrap_axis_title,
)

_RADIUS = 5.0
_COLOURS = {"R": INK, "R_bias": BIAS, "R_volatility": VOLATILITY}


def trend(table: pd.DataFrame, *, x_title: str, width: int = WIDE) -> Any:
    """R, R^b and R^v against a size on a logarithmic axis.

    table: name, measure (R, R_bias, R_volatility), x, value, low, high, optionally series; models
    of one series are joined by a line.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.reset_index(drop=True).copy()
    frame["part"] = frame["measure"].map(TITLES)
    frame["label"] = [brief(n, 22) for n in frame["name"]]
    frame["series"] = frame.get("series", "")
    frame["line"] = frame["part"] + frame["series"].astype(str)
    frame["about"] = [f"{r['label']}: {r['part']} {r['value']:.3f}" for _, r in frame.iterrows()]
    parts = [TITLES[m] for m in _COLOURS if m in set(frame["measure"])]
    colours = [c for m, c in _COLOURS.items() if m in set(frame["measure"])]
    legend = alt.Legend(offset=OVER_TITLE, columns=2 if narrow else 3)
    colour = alt.Color("part:N", legend=legend).scale(domain=parts, range=colours)
    low, high = float(frame["x"].min()), float(frame["x"].max())
    x = alt.X("x:Q", title=wrap_axis_title(f"{x_title} (logarithmic) → larger", width))
    x = x.scale(type="log", domain=[low / 1.35, high * 1.35], nice=False)
    x = x.axis(values=sorted(set(frame["x"])), format=".2~s", labelOverlap="greedy")
    room = 1.12 * max(0.01, float(frame[["value", "high"]].astype(float).max().max()))
    y = alt.Y("value:Q", title="risk ↑ higher").scale(domain=[0, room], nice=False)
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"))
    base = alt.Chart(rows(frame))
    height = 230 if narrow else 280
    plot = Plot((low / 1.35, high * 1.35), (0, room), width - AXIS, height, log_x=True)
    points = frame.assign(y=frame["value"], radius=_RADIUS)
    highest = frame["measure"] == "R"
    spans = zip(frame["x"], frame["low"], frame["x"], frame["high"], strict=True)
    layers = [
        base.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=2, opacity=0.5)
        .encode(x=x, y=alt.Y("low:Q", title="risk ↑ higher"), y2="high:Q", color=colour),
        base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, detail="line:N"),
        base.mark_circle(size=70, opacity=1).encode(x=x, y=y, color=colour, description="about:N"),
        *name_points(
            points[highest],
            plot,
            others=points[~highest],
            lines=[*spans, *paths(frame, "x", "value", by="line", order="x")],
            size=11,
        ),
    ]
    return fitted(alt.layer(*layers), width, height)
