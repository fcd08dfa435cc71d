"""Charts of contextual reliability: statements, datasets, one score against another."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from clinometer.display.text import brief
from clinometer.report.charts.style import (
    BIAS,
    INK,
    LINE,
    MARK,
    WIDE,
    above,
    altair,
    distinct,
    finish,
    fitted,
    is_narrow,
    rows,
    wrap_axis_title,
)


def reliability(table: pd.DataFrame, *, score: str, width: int = WIDE) -> Any:
    """Scores of statements, one row of points per dataset, with its median.

    table: dataset, value (from 0 to 1), and optionally `statement` for the tooltip.
    """
    alt = altair()
    narrow = is_narrow(width)
    frame = table.dropna(subset=["value"]).reset_index(drop=True).copy()
    counts = frame.groupby("dataset", sort=False)["value"].agg(["size", "median"])
    labels = {d: f"{brief(d, 24)} (n {n})" for d, n in counts["size"].items()}
    frame["row"] = frame["dataset"].map(labels)
    statements = frame["statement"] if "statement" in frame else frame["dataset"]
    frame["about"] = [
        f"{v:.3f}: {brief(s, 90)}" for s, v in zip(statements, frame["value"], strict=True)
    ]
    # A fixed spread by position, so that the same table gives the same picture.
    frame["jitter"] = [(i * 0.618034) % 1 for i in range(len(frame))]
    middle = counts.reset_index().assign(row=lambda t: t["dataset"].map(labels))
    middle["text"] = middle["median"].map("median {:.2f}".format)
    y = alt.Y("row:N", sort=list(labels.values()), title=None).axis(
        None if narrow else alt.Axis(labelLimit=190)
    )
    x = (
        alt.X("value:Q", title=wrap_axis_title(score, width))
        .scale(domain=[0, 1])
        .axis(format=".2~f", tickCount=5)
    )
    layers = [
        alt.Chart(rows(frame))
        .mark_circle(size=16, opacity=0.4, color=BIAS)
        .encode(
            x=x, y=y, yOffset=alt.YOffset("jitter:Q").scale(range=[14, 42]), description="about:N"
        ),
        alt.Chart(rows(middle))
        .mark_tick(color=INK, thickness=2.5, size=30)
        .encode(x="median:Q", y=y),
        alt.Chart(rows(middle))
        .mark_text(color=INK, dy=-21, fontSize=11)
        .encode(x="median:Q", y=y, text="text:N"),
    ]
    if narrow:
        layers.append(
            alt.Chart(rows(middle))
            .mark_text(align="left", dy=-40, color=INK, limit=width)
            .encode(x=alt.value(0), y=y, text="row:N")
        )
    step = 100 if narrow else 56
    return fitted(alt.layer(*layers), width, step * len(labels))


def least_stable(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """One row per statement: a dot at its stability, a thick line for its interval; the axis is as
    long as they need.

    table: text, stability, low, high (NaN without an interval), in display order.
    """
    alt = altair()
    frame = table.reset_index(drop=True).assign(label=distinct(table["text"], 90))
    frame["about"] = [
        f"{label} Stability {value:.3f}"
        for label, value in zip(frame["label"], frame["stability"], strict=True)
    ]
    ends = frame[["low", "high", "stability"]].astype(float)
    first = max(0.0, math.floor(10 * float(ends.min().min()) - 1e-9) / 10)
    last = min(1.0, math.ceil(10 * float(ends.max().max()) + 1e-9) / 10)
    title = wrap_axis_title("← context changes more  ·  stability  ·  less →", int(0.6 * width))
    axis = alt.Axis(orient="top", format=".1f", tickMinStep=0.1, tickCount=5)
    scale = alt.Scale(domain=[first, last], clamp=True, nice=False, zero=False)
    x = alt.X("stability:Q", title=title, axis=axis, scale=scale)
    y = alt.Y("label:N", sort=list(frame["label"]), title=None)
    y = y.axis(labelLimit=320 if width >= WIDE else 0.34 * width)
    base = alt.Chart(rows(frame))
    return fitted(
        alt.layer(
            base.transform_filter("datum.low !== null")
            .mark_bar(height=6, cornerRadius=3, opacity=0.45, color=BIAS)
            .encode(x=alt.X("low:Q", title=title, scale=scale), x2="high:Q", y=y),
            base.mark_circle(size=80, opacity=1, color=BIAS).encode(
                x=x, y=y, description="about:N"
            ),
        ),
        width,
        21 * len(frame),
    )


def agreement(table: pd.DataFrame, *, x_title: str, y_title: str, width: int = WIDE) -> Any:
    """One score against another, such as a computed one against people's: points and the diagonal.

    table: x, y (both 0 to 1) and optionally name.
    """
    alt = altair()
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True).copy()
    names = frame["name"] if "name" in frame else pd.Series([""] * len(frame))
    frame["about"] = [
        f"{brief(n, 80)} {a:.3f}, {b:.3f}".strip()
        for n, a, b in zip(names, frame["x"], frame["y"], strict=True)
    ]
    x = (
        alt.X("x:Q", title=wrap_axis_title(x_title, width))
        .scale(domain=[0, 1])
        .axis(format=".2~f", tickCount=5)
    )
    y = (
        alt.Y("y:Q", title=y_title)
        .scale(domain=[0, 1])
        .axis(**above(grid=True, gridColor=LINE, format=".2~f", tickCount=5))
    )
    ends = pd.DataFrame({"x": [0, 1], "y": [0, 1]})
    side = min(width - 50, 380)
    return finish(
        alt.layer(
            alt.Chart(rows(ends)).mark_line(color=MARK, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q"),
            alt.Chart(rows(frame))
            .mark_circle(size=36, opacity=0.55, color=BIAS)
            .encode(x=x, y=y, description="about:N"),
        ).properties(width=side, height=side)
    )
