"""Risks along a size (Figure 7): one line a part of the risk, with intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tiltmeter.report.charts.risks import MEASURES
from tiltmeter.report.charts.theme import (
    BIAS,
    INK,
    LINE,
    NARROW,
    VOLATILITY,
    WIDE,
    above,
    altair,
    brief,
    fitted,
    rows,
    wrap_axis_title,
)

_COLOURS = {"R": INK, "R_bias": BIAS, "R_volatility": VOLATILITY}


def trend(table: pd.DataFrame, *, x_title: str, width: int = WIDE) -> Any:
    """R, R^b and R^v against a size on a logarithmic axis.

    table: name, measure (R, R_bias, R_volatility), x, value, low, high, optionally series; models
    of one series are joined by a line.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.reset_index(drop=True).copy()
    frame["part"] = frame["measure"].map(MEASURES)
    frame["label"] = [brief(n, 22) for n in frame["name"]]
    frame["series"] = frame.get("series", "")
    frame["line"] = frame["part"] + frame["series"].astype(str)
    frame["about"] = [f"{r['label']}: {r['part']} {r['value']:.3f}" for _, r in frame.iterrows()]
    parts = [MEASURES[m] for m in _COLOURS if m in set(frame["measure"])]
    colours = [c for m, c in _COLOURS.items() if m in set(frame["measure"])]
    colour = alt.Color("part:N", legend=alt.Legend(orient="bottom", offset=4)).scale(
        domain=parts, range=colours
    )
    low, high = float(frame["x"].min()), float(frame["x"].max())
    x = alt.X("x:Q", title=wrap_axis_title(f"{x_title} (logarithmic) → larger", width))
    x = x.scale(type="log", domain=[low / 1.35, high * 1.35], nice=False)
    x = x.axis(values=sorted(set(frame["x"])), format=".2~s", labelOverlap="greedy")
    room = 1.12 * max(0.01, float(frame[["value", "high"]].astype(float).max().max()))
    y = alt.Y("value:Q", title="risk ↑ higher").scale(domain=[0, room], nice=False)
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"))
    base = alt.Chart(rows(frame))
    top = frame[frame["measure"] == "R"]
    ends = top["high"].astype(float)
    top = top.assign(
        at=[max(v, h) if h == h else v for v, h in zip(top["value"], ends, strict=True)]
    )
    return fitted(
        alt.layer(
            base.transform_filter("datum.low !== null")
            .mark_rule(strokeWidth=2, opacity=0.5)
            .encode(x=x, y=alt.Y("low:Q", title="risk ↑ higher"), y2="high:Q", color=colour),
            base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, detail="line:N"),
            base.mark_circle(size=70, opacity=1).encode(
                x=x, y=y, color=colour, description="about:N"
            ),
            alt.Chart(rows(top))
            .mark_text(dy=-11, color=INK, fontSize=11)
            .encode(x=x, y="at:Q", text="label:N"),
        ),
        width,
        230 if narrow else 280,
    )
