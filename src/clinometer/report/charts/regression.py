"""A risk against a social factor (Figures 9, 12 to 15)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from clinometer.report.charts.style.labels import Plot, name_points, paths
from clinometer.report.charts.style.theme import (
    AXIS,
    BIAS,
    INK,
    LINE,
    NARROW,
    OVER_TITLE,
    PAGE,
    WIDE,
    above,
    altair,
    brief,
    fitted,
    rows,
    wrap_axis_title,
)

_RADIUS = 4.0  # of a point without a size


def regression(
    table: pd.DataFrame,
    line: pd.DataFrame,
    *,
    factor: str,
    measure: str = "discrimination risk r of a group (0 to 1)",
    size: str | None = None,
    width: int = WIDE,
) -> Any:
    """A risk against a social factor: one point per group, the fitted line and its interval band.

    table: group, x, y and optionally size (employment). line: x, y, low, high.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True).copy()
    frame["label"] = [brief(g, 26) for g in frame["group"]]
    sized = size is not None and "size" in frame
    frame["about"] = [
        f"{r['label']}: {factor} {r['x']:,.4g}, {measure} {r['y']:.3f}"
        + (f", {size} {r['size']:,.0f}" if sized else "")
        for _, r in frame.iterrows()
    ]
    ends = _ends(frame["x"])
    x = alt.X("x:Q", title=wrap_axis_title(f"{factor} → higher", width))
    x = x.scale(domain=ends, nice=False).axis(tickCount=4 if narrow else 6, format="~s")
    top = 1.06 * max(float(frame["y"].max()), 1e-3)
    low = 1.06 * min(float(frame["y"].min()), 0.0)  # a lean has a sign, a risk has none
    y = alt.Y("y:Q", title=f"{measure} ↑ higher").scale(domain=[low, top], nice=False)
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"))
    points = alt.Chart(rows(frame)).mark_circle(
        opacity=0.55, color=BIAS, stroke=PAGE, strokeWidth=0.8
    )
    points = points.encode(x=x, y=y, description="about:N")
    areas = [12, 520 if narrow else 900]
    if sized:
        legend = alt.Legend(
            title=size,
            titleOrient="left",
            offset=OVER_TITLE,
            symbolType="circle",
            values=_sizes(frame["size"]),
            format=",.0f",
        )
        points = points.encode(
            size=alt.Size("size:Q", legend=legend).scale(
                domain=[0, float(frame["size"].max())], range=areas
            )
        )
    frame["radius"] = _radii(frame["size"], areas) if sized else _RADIUS
    named, height = _named(frame), 230 if narrow else 300
    plot = Plot(ends, (low, top), width - AXIS, height)
    layers = [
        alt.Chart(rows(line))
        .mark_area(opacity=0.16, color=INK, clip=True)
        .encode(x="x:Q", y=alt.Y("low:Q", title=f"{measure} ↑ higher"), y2="high:Q"),
        points,
        alt.Chart(rows(line))
        .mark_line(color=INK, strokeWidth=2, clip=True)
        .encode(x="x:Q", y="y:Q"),
        *name_points(
            frame.loc[named],
            plot,
            others=frame.drop(index=named),
            lines=paths(line.assign(only=0), "x", "y", by="only", order="x"),
            size=11,
        ),
    ]
    return fitted(alt.layer(*layers), width, height)


def _ends(x: pd.Series) -> tuple[float, float]:
    """The range of the axis: the values, and room for a point at either end."""
    low, high = float(x.min()), float(x.max())
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _radii(size: pd.Series, areas: Sequence[float]) -> pd.Series:
    """Radii in pixels, by the scale of sizes."""
    share = size.fillna(0) / float(size.max())
    return (areas[0] + share * (areas[1] - areas[0])).div(math.pi).pow(0.5) + 1


def _sizes(size: pd.Series) -> list[float]:
    top = float(size.max())
    return [v for v in (10, 100, 500, 1000, 5000, 10_000, 100_000, 1e6) if top / 30 <= v <= top][:3]


def _named(frame: pd.DataFrame) -> list[int]:
    """The outermost points, which readers notice first."""
    if frame.empty:
        return []
    picked = [frame["x"].idxmax(), frame["y"].idxmax(), frame["y"].idxmin(), frame["x"].idxmin()]
    if "size" in frame and frame["size"].notna().any():
        picked.append(frame["size"].idxmax())
    return list(dict.fromkeys(int(str(i)) for i in picked))
