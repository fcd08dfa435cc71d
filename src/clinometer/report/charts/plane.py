"""Steady lean against swing: the bias-volatility plane (Figures 6 to 8)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clinometer.report.charts.style.labels import Plot, name_points, paths
from clinometer.report.charts.style.theme import (
    AXIS,
    INK,
    LINE,
    MARK,
    NARROW,
    OVER_TITLE,
    PAGE,
    WIDE,
    above,
    altair,
    brief,
    category_colours,
    distinct,
    fitted,
    rows,
    wrap_axis_title,
)

_RADIUS = 6.0  # of a point, with its rim


def plane(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Models in the plane of bias risk and volatility risk; R is constant along the diagonals.

    table: name, R_bias, R_volatility; optionally their _low and _high; `series` (models joined by
    a line, such as one family in several sizes, or before and after alignment) and `order` in it.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.reset_index(drop=True).copy()
    frame["label"] = distinct(frame["name"], 28)
    frame["series"] = (
        [brief(s, 28) for s in frame["series"]] if "series" in frame else frame["label"]
    )
    frame["order"] = frame["order"] if "order" in frame else range(len(frame))
    for column in ("R_bias_low", "R_bias_high", "R_volatility_low", "R_volatility_high"):
        frame[column] = frame[column].astype(float) if column in frame else float("nan")
    frame["about"] = [
        f"{r['label']}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for _, r in frame.iterrows()
    ]
    height = 240 if narrow else 320
    right = _end(frame[["R_bias", "R_bias_high"]])
    top = _end(frame[["R_volatility", "R_volatility_high"]])
    x = alt.X("R_bias:Q", title=wrap_axis_title("bias risk Rᵇ: steady lean → more", width))
    x = x.scale(domain=[0, right], nice=False).axis(tickCount=5, format=".2~f")
    y = alt.Y("R_volatility:Q", title="volatility risk Rᵛ ↑ more swing").scale(
        domain=[0, top], nice=False
    )
    digits = ".2~f" if top > 0.06 else ".3~f"
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=digits))
    names = list(dict.fromkeys(frame["series"]))
    single = len(names) == len(frame)
    palette = [INK] if single else category_colours(len(names))
    colour = alt.Color(
        "series:N",
        legend=None if single else alt.Legend(offset=OVER_TITLE, columns=2 if narrow else 4),
    )
    colour = colour.scale(domain=names, range=palette)
    base = alt.Chart(rows(frame))
    layers = [
        alt.Chart(rows(_diagonals(right, top)))
        .mark_line(color=MARK, strokeWidth=1, strokeDash=[2, 3], clip=True, opacity=0.7)
        .encode(x="R_bias:Q", y="R_volatility:Q", detail="level:N"),
        base.transform_filter("datum.R_bias_low !== null")
        .mark_rule(opacity=0.45)
        .encode(x=alt.X("R_bias_low:Q"), x2="R_bias_high:Q", y=y, color=colour),
        base.transform_filter("datum.R_volatility_low !== null")
        .mark_rule(opacity=0.45)
        .encode(x=x, y=alt.Y("R_volatility_low:Q"), y2="R_volatility_high:Q", color=colour),
        base.mark_circle(size=90, opacity=1, stroke=PAGE, strokeWidth=1.5).encode(
            x=x, y=y, color=colour, description="about:N"
        ),
    ]
    if not single:
        layers.insert(
            1, base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, order="order:Q")
        )
    plot = Plot((0, right), (0, top), width - AXIS, height)
    points = frame.assign(x=frame["R_bias"], y=frame["R_volatility"], radius=_RADIUS)
    joined = paths(frame, "R_bias", "R_volatility", by="series", order="order")
    layers += name_points(points, plot, lines=[*_crosses(frame), *joined])
    return fitted(alt.layer(*layers), width, height)


def _end(frame: pd.DataFrame) -> float:
    return max(0.02, 1.2 * float(frame.max().max()))


def _crosses(frame: pd.DataFrame) -> list[tuple[float, float, float, float]]:
    """The intervals: x, y, x, y."""
    bias, swing = frame["R_bias"], frame["R_volatility"]
    return [
        *zip(frame["R_bias_low"], swing, frame["R_bias_high"], swing, strict=True),
        *zip(bias, frame["R_volatility_low"], bias, frame["R_volatility_high"], strict=True),
    ]


def _diagonals(right: float, top: float) -> pd.DataFrame:
    step = next(
        s
        for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
        if (right + top) / s <= 6.5 or s == 1.0
    )
    out = []
    level = step
    while level < right + top:
        out += [(level, level, 0.0), (level, 0.0, level)]
        level += step
    return pd.DataFrame(out, columns=["level", "R_bias", "R_volatility"])
