"""The share of a category by group: one numbered dot per model."""

from __future__ import annotations

import pandas as pd

from clinometer.report.charts.axes import group_axis, share_axis
from clinometer.report.charts.look import (
    GROUP_ROW,
    LINE,
    PAGE,
    WIDE,
    Spec,
    fitted,
)
from clinometer.report.charts.marks import (
    ABOUT,
    label_by_name,
    layers,
    literal,
    mark,
    nominal,
    quantitative,
)


def spread_chart(
    table: pd.DataFrame,
    *,
    category: str,
    reference: tuple[float, str],
    width: int = WIDE,
) -> Spec:
    """Return the share of a category by group: one numbered dot per model.

    table: group, number (of the model), ink (its colour), share, about, in display order.
    reference: its share and its name.
    """
    labels = label_by_name(table["group"], 40)
    frame = table.assign(label=table["group"].map(labels))
    ends = (f"no {category}", f"all {category}")
    axis = share_axis(frame, width, ends=ends, middle=reference)
    by_group = frame.groupby("label", sort=False)["share"]
    ranges = by_group.agg(["min", "max"]).reset_index()
    x = quantitative("share", **axis)
    dot = {"size": 200, "opacity": 1, "stroke": PAGE, "strokeWidth": 1.5}
    number = {"color": PAGE, "fontSize": 10}
    chart = layers(
        mark(
            "rule",
            ranges,
            look={"color": LINE},
            x=quantitative("min", **axis),
            x2={"field": "max"},
        ),
        mark("circle", look=dot, x=x, color=literal("ink"), description=ABOUT),
        mark("text", look=number, x=x, text=nominal("number")),
        data=frame,
        y=group_axis(labels.values(), width),
    )
    return fitted(chart, width, GROUP_ROW * len(labels))
