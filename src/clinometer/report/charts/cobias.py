"""The COBIAS paper's: statements by their score, judgements of people, growing dissimilarity."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clinometer.report.charts.axes import GRID, above, channel
from clinometer.report.charts.look import (
    BIAS,
    WIDE,
    Spec,
    category_colours,
    fitted,
    wrapped,
)
from clinometer.report.charts.marks import (
    ABOUT,
    described,
    distinct,
    layers,
    mark,
    nominal,
    quantitative,
)
from clinometer.report.charts.points import points_chart


def cobias_chart(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Return the COBIAS of statements, on an axis as long as they need.

    table: text, cobias, cobias_low, cobias_high (NaN without an interval), in display order.
    """
    names = {"cobias": "value", "cobias_low": "low", "cobias_high": "high"}
    frame = table[["text", *names]].rename(columns=names)
    frame = frame.assign(ink=BIAS, label=distinct(table["text"], 90))
    frame = described(frame, "{label} COBIAS {value:.3f}")
    return points_chart(frame, axis=_score_axis, row=21, room=320, width=width)


def _score_axis(table: pd.DataFrame, width: int) -> Spec:
    """Return an axis of scores that ends at the tenths around them."""
    scores = table[["value", "low", "high"]].to_numpy()
    first = max(0.0, np.floor(10 * np.nanmin(scores) - 1e-9) / 10)
    last = min(1.0, np.ceil(10 * np.nanmax(scores) + 1e-9) / 10)
    return {
        "title": wrapped("← less reliable  ·  COBIAS  ·  more →", int(0.6 * width)),
        "axis": {"orient": "top", "format": ".1f", "tickMinStep": 0.1, "tickCount": 5},
        "scale": {"domain": [first, last], "clamp": True, "nice": False, "zero": False},
    }


def disagreements_chart(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Return Figure 4: for each annotator a bar for each category, the items with that majority on
    which they differ from it.

    table: annotator, majority, disagreements.
    """
    form = "{annotator} differs from the majority {majority}: {disagreements} items"
    # Room for the highest number.
    top = max(1.0, 1.1 * float(table["disagreements"].max()))
    options = above(format="d", tickMinStep=1, **GRID)
    axis = channel("items on which they differ", [0, top], **options)
    y = quantitative("disagreements", **axis)
    categories = list(dict.fromkeys(table["majority"]))
    colour = nominal(
        "majority",
        legend={"title": "majority", "offset": 34},
        scale={"domain": categories, "range": category_colours(len(categories))},
    )
    chart = layers(
        mark("bar", y=y, color=colour, description=ABOUT),
        mark("text", look={"dy": -7}, y=y, text=quantitative("disagreements")),
        data=described(table, form),
        x=nominal("annotator", title=None, axis={"labelAngle": 0, "grid": False}),
        xOffset=nominal("majority"),
    )
    return fitted(chart, width, 260)


def growing_dissimilarity_chart(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Return Figure 8: average pairwise dissimilarity of the first n versions, with its interval.

    table: n, dissimilarity, dissimilarity_low, dissimilarity_high.
    """
    axis = {
        "title": "average pairwise dissimilarity",
        "scale": {"zero": False},
        "axis": above(tickCount=5, format=".2~f", **GRID),
    }
    y = quantitative("dissimilarity", **axis)
    x = quantitative(
        "n",
        title="versions of each statement (n)",
        scale={"nice": False},
        axis={"grid": False, "format": "d", "tickMinStep": 1},
    )
    band = mark(
        "area",
        look={"opacity": 0.25, "color": BIAS},
        y=quantitative("dissimilarity_low", **axis),
        y2={"field": "dissimilarity_high"},
    )
    dot_look = {"color": BIAS, "size": 24, "opacity": 1}
    chart = layers(
        band,
        mark("line", look={"color": BIAS}, y=y),
        mark("circle", look=dot_look, y=y, description=ABOUT),
        data=described(table, "{n} versions: {dissimilarity:.3f}"),
        x=x,
    )
    return fitted(chart, width, 260)
