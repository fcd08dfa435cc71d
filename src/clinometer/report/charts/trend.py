"""Risks against the size of a model."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clinometer.display.text import brief
from clinometer.measure.risks import RISKS
from clinometer.report.charts.axes import GRID, OVER_TITLE, above, channel
from clinometer.report.charts.look import (
    RISK_COLOURS,
    WIDE,
    Spec,
    fitted,
    is_narrow,
    wrapped,
)
from clinometer.report.charts.marks import (
    ABOUT,
    described,
    mark,
    nominal,
    numbered_points,
    quantitative,
)


def trend_chart(table: pd.DataFrame, *, x_title: str, width: int = WIDE) -> Spec:
    """Return R, R^b and R^v against a size on a logarithmic axis.

    table: name, measure (R, R_bias, R_volatility), x, value, low, high, optionally series; models
    of one series are joined by a line. R has the number of its model, and a key the names.
    """
    narrow = is_narrow(width)
    titles = {measure: RISKS[measure].title for measure in RISK_COLOURS}
    part = table["measure"].map(titles)
    frame = table.assign(
        part=part,
        label=[brief(name, 22) for name in table["name"]],
        line=part + table["series"].astype(str) if "series" in table else part,
    )
    frame = described(frame, "{label}: {part} {value:.3f}")
    drawn = [measure for measure in RISK_COLOURS if measure in set(frame["measure"])]
    colour = nominal(
        "part",
        legend={"offset": OVER_TITLE, "columns": 2 if narrow else 3},
        scale={
            "domain": [titles[measure] for measure in drawn],
            "range": [RISK_COLOURS[measure] for measure in drawn],
        },
    )
    ends = [float(frame["x"].min()) / 1.35, float(frame["x"].max()) * 1.35]
    title = wrapped(f"{x_title} (logarithmic) → larger", width)
    sizes = sorted(set(frame["x"]))
    x_axis = channel(title, ends, values=sizes, format=".2~s", labelOverlap="greedy")
    x_axis["scale"]["type"] = "log"
    top = 1.12 * max(0.01, float(frame[["value", "high"]].astype(float).max().max()))
    options = above(tickCount=4, format=".2~f", **GRID)
    y_axis = channel("risk ↑ higher", [0, top], **options)
    channels: dict[str, Any] = {
        "x": quantitative("x", **x_axis),
        "y": quantitative("value", **y_axis),
        "color": colour,
    }
    intervals = mark(
        "rule",
        frame,
        look={"strokeWidth": 2, "opacity": 0.5},
        needs="low",
        x=channels["x"],
        y=quantitative("low", **y_axis),
        color=colour,
        y2={"field": "high"},
    )
    line_look = {"strokeWidth": 1.8}
    dot_look = {"size": 70, "opacity": 1}
    marks = [
        intervals,
        mark("line", frame, look=line_look, **channels, detail=nominal("line")),
        mark("circle", frame, look=dot_look, **channels, description=ABOUT),
        *numbered_points(frame[frame["measure"] == "R"], width, **channels),
    ]
    return fitted({"layer": marks}, width, 230 if narrow else 280)
