"""The chart of contextual reliability: the least stable statements."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from clinometer.report.charts.style import (
    BIAS,
    WIDE,
    altair,
    distinct,
    fitted,
    rows,
    wrap_axis_title,
)


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
