"""Models in the plane of bias risk and volatility risk."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clinometer.report.charts.axes import GRID, above, channel
from clinometer.report.charts.look import (
    MARK,
    WIDE,
    Spec,
    fitted,
    is_narrow,
    model_colours,
    wrapped,
)
from clinometer.report.charts.marks import (
    described,
    distinct,
    floats,
    literal,
    mark,
    nominal,
    numbered_points,
    quantitative,
)

_ENDS = ("R_bias_low", "R_bias_high", "R_volatility_low", "R_volatility_high")


def plane_chart(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Return models in the plane of bias risk and volatility risk; R is constant along the
    diagonals.

    table: name, R_bias, R_volatility; optionally their _low and _high. A key below the chart says
    whose the numbers are.
    """
    frame = floats(table.reset_index(drop=True), *_ENDS)
    frame = frame.assign(
        label=distinct(frame["name"], 28), ink=model_colours(len(frame))
    )
    frame = described(
        frame, "{label}: bias {R_bias:.3f}, volatility {R_volatility:.3f}"
    )
    right = _axis_end(frame, "R_bias")
    top = _axis_end(frame, "R_volatility")
    x_title = wrapped("bias risk Rᵇ: steady lean → more", width)
    x_axis = channel(x_title, [0, right], tickCount=5, format="~r")
    options = above(tickCount=4, format="~r", **GRID)
    y_axis = channel("volatility risk Rᵛ ↑ more swing", [0, top], **options)
    x = quantitative("R_bias", **x_axis)
    y = quantitative("R_volatility", **y_axis)
    colour = literal("ink")
    dotted = {
        "color": MARK,
        "strokeWidth": 1,
        "strokeDash": [2, 3],
        "clip": True,
        "opacity": 0.7,
    }
    marks = [
        mark(
            "line",
            _diagonals(right + top),
            look=dotted,
            x=x,
            y=y,
            detail=nominal("level"),
        ),
        mark(
            "rule",
            frame,
            look={"opacity": 0.45},
            needs="R_bias_low",
            x=quantitative("R_bias_low", **x_axis),
            x2={"field": "R_bias_high"},
            y=y,
            color=colour,
        ),
        mark(
            "rule",
            frame,
            look={"opacity": 0.45},
            needs="R_volatility_low",
            x=x,
            y=quantitative("R_volatility_low", **y_axis),
            y2={"field": "R_volatility_high"},
            color=colour,
        ),
        *numbered_points(frame, width, x=x, y=y, color=colour),
    ]
    return fitted({"layer": marks}, width, 240 if is_narrow(width) else 320)


def _axis_end(table: pd.DataFrame, measure: str) -> float:
    """Return where the axis of a risk ends."""
    return max(0.02, 1.2 * float(table[[measure, f"{measure}_high"]].max().max()))


def _diagonals(largest: float) -> pd.DataFrame:
    """Return the ends of five lines along which R is constant, evenly up to the largest R."""
    rows = []
    for level in (np.arange(1, 6) * largest / 6).tolist():
        rows.append((level, level, 0.0))
        rows.append((level, 0.0, level))
    return pd.DataFrame(rows, columns=["level", "R_bias", "R_volatility"])
