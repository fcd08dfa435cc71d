"""Charts of the COBIAS paper: who differs from a majority, and the dissimilarity of the first n
versions."""

from __future__ import annotations

import pandas as pd

from clinometer.report.charts.style import (
    ABOUT,
    BIAS,
    LINE,
    WIDE,
    Spec,
    above,
    category_colours,
    fitted,
    layers,
    marks,
    n,
    q,
)


def disagreements(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Figure 4: for each annotator a bar for each category, the items with that majority on which
    they differ from it.

    table: annotator, majority, disagreements.
    """
    frame = table.assign(
        about=[
            f"{row.annotator} differs from the majority {row.majority}: {row.disagreements} items"
            for row in table.itertuples()
        ]
    )
    most = max(1.0, 1.1 * float(frame["disagreements"].max()))  # room for the highest number
    axis = above(grid=True, gridColor=LINE, format="d", tickMinStep=1)
    y = q(
        "disagreements",
        title="items on which they differ",
        scale={"domain": [0, most], "nice": False},
        axis=axis,
    )
    kinds = list(dict.fromkeys(frame["majority"]))
    colour = n(
        "majority",
        legend={"title": "majority", "offset": 34},
        scale={"domain": kinds, "range": category_colours(len(kinds))},
    )
    bars = marks("bar", y=y, color=colour, description=ABOUT)
    numbers = marks("text", look={"dy": -7}, y=y, text=q("disagreements"))
    x = n("annotator", title=None, axis={"labelAngle": 0, "grid": False})
    chart = layers(bars, numbers, data=frame, x=x, xOffset=n("majority"))
    return fitted(chart, width, 260)


def growing_dissimilarity(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Figure 8: average pairwise dissimilarity of the first n versions, with its interval.

    table: n, dissimilarity, dissimilarity_low, dissimilarity_high.
    """
    frame = table.assign(
        about=[f"{row.n} versions: {row.dissimilarity:.3f}" for row in table.itertuples()]
    )
    axis = above(grid=True, gridColor=LINE, tickCount=5, format=".2~f")
    y = {"title": "average pairwise dissimilarity", "scale": {"zero": False}, "axis": axis}
    band = marks(
        "area",
        look={"opacity": 0.25, "color": BIAS},
        y=q("dissimilarity_low", **y),
        y2={"field": "dissimilarity_high"},
    )
    line = marks("line", look={"color": BIAS}, y=q("dissimilarity", **y))
    points = marks(
        "circle",
        look={"color": BIAS, "size": 24, "opacity": 1},
        y=q("dissimilarity", **y),
        description=ABOUT,
    )
    numbers = {"grid": False, "format": "d", "tickMinStep": 1}
    x = q("n", title="versions of each statement (n)", scale={"nice": False}, axis=numbers)
    return fitted(layers(band, line, points, data=frame, x=x), width, 260)
