"""A risk against a social factor (Figures 9, 12 to 15)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tiltmeter.report.charts.theme import (
    BIAS,
    INK,
    LINE,
    NARROW,
    PAGE,
    WIDE,
    above,
    altair,
    brief,
    fitted,
    rows,
    wrap_axis_title,
)


def regression(
    table: pd.DataFrame,
    line: pd.DataFrame,
    *,
    factor: str,
    measure: str = "discrimination risk r of a group (0 to 1)",
    size: str | None = None,
    width: int = WIDE,
) -> Any:
    """A risk against a social factor: one point a group, the fitted line and its interval band.

    table: group, x, y and optionally size (employment). line: x, y, low, high.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True).copy()
    frame["label"] = [brief(g, 26) for g in frame["group"]]
    sized = size is not None and "size" in frame
    frame["about"] = [
        f"{r['label']}: {factor} {r['x']:,.4g}, risk {r['y']:.3f}"
        + (f", {size} {r['size']:,.0f}" if sized else "")
        for _, r in frame.iterrows()
    ]
    x = alt.X("x:Q", title=wrap_axis_title(f"{factor} → higher", width)).scale(zero=False)
    x = x.axis(tickCount=4 if narrow else 6, format="~s")
    top = 1.06 * max(float(frame["y"].max()), 1e-3)
    y = alt.Y("y:Q", title=f"{measure} ↑ higher").scale(domain=[0, top], nice=False)
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"))
    points = alt.Chart(rows(frame)).mark_circle(
        opacity=0.55, color=BIAS, stroke=PAGE, strokeWidth=0.8
    )
    points = points.encode(x=x, y=y, description="about:N")
    if sized:
        legend = alt.Legend(
            title=size,
            titleOrient="left",
            orient="bottom",
            symbolType="circle",
            values=_sizes(frame["size"]),
            format=",.0f",
        )
        points = points.encode(
            size=alt.Size("size:Q", legend=legend).scale(range=[12, 520 if narrow else 900])
        )
    named = frame.loc[_named(frame)]
    layers = [
        alt.Chart(rows(line))
        .mark_area(opacity=0.16, color=INK, clip=True)
        .encode(x="x:Q", y=alt.Y("low:Q", title=f"{measure} ↑ higher"), y2="high:Q"),
        points,
        alt.Chart(rows(line))
        .mark_line(color=INK, strokeWidth=2, clip=True)
        .encode(x="x:Q", y="y:Q"),
        alt.Chart(rows(named))
        .mark_text(dy=-9, color=INK, fontSize=11)
        .encode(x=x, y=y, text="label:N"),
    ]
    return fitted(alt.layer(*layers), width, 230 if narrow else 300)


def _sizes(size: pd.Series) -> list[float]:
    top = float(size.max())
    return [v for v in (10, 100, 500, 1000, 5000, 10_000, 100_000, 1e6) if top / 30 <= v <= top][:3]


def _named(frame: pd.DataFrame) -> list[int]:
    """The outermost points, which a reader asks about first."""
    if frame.empty:
        return []
    picked = [frame["x"].idxmax(), frame["y"].idxmax(), frame["y"].idxmin(), frame["x"].idxmin()]
    if "size" in frame and frame["size"].notna().any():
        picked.append(frame["size"].idxmax())
    return list(dict.fromkeys(int(str(i)) for i in picked))
