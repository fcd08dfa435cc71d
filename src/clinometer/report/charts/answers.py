"""A map of answers: one cell for each group and context."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clinometer.display.text import brief
from clinometer.report.charts.look import (
    INK,
    PAGE,
    WIDE,
    Spec,
    category_colours,
    fitted,
    is_narrow,
)
from clinometer.report.charts.marks import (
    ABOUT,
    described,
    label_by_name,
    layers,
    literal,
    mark,
    nominal,
    quantitative,
)

MOST_GROUPS = 12
"""Groups that have room for a number in each cell on a page."""

MOST_ON_A_PHONE = 5
"""Groups that have room for a number in each cell on a phone."""


def answers_chart(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    colours: Sequence[str] = (),
    width: int = WIDE,
) -> Spec:
    """Return one cell per group and context: the favoured category, how strongly, and a number.

    table: group, template, leans (a category), strength (0 to 1), p (in the cell as per cent) or
    text (as it stands), in the display order of groups and contexts; a missing cell has no row. A
    phone has room for the first MOST_ON_A_PHONE groups.
    """
    narrow = is_narrow(width)
    groups = list(dict.fromkeys(table["group"]))
    groups = groups[: MOST_ON_A_PHONE if narrow else MOST_GROUPS]
    frame = table[table["group"].isin(groups)].reset_index(drop=True)
    columns = label_by_name(groups, 16)
    sides = label_by_name(categories, 30)
    contexts = label_by_name(frame["template"], 22 if narrow else 42)
    if "text" not in frame:
        frame = frame.assign(text=(100 * frame["p"]).map("{:.0f}".format))
    frame = frame.assign(
        context=frame["template"].map(contexts),
        column=frame["group"].map(columns),
        leans=frame["leans"].map(sides),
        said=[brief(template, 60) for template in frame["template"]],
        opacity=0.12 + 0.88 * frame["strength"].clip(0, 1),
        ink=np.where(frame["strength"] > 0.6, PAGE, INK),
    )
    x_axis = {
        "orient": "top",
        "labelAngle": -45,
        "labelAlign": "left",
        "labelLimit": 110,
        "grid": False,
    }
    y_axis = {"labelLimit": 0.42 * width}
    inks = list(colours) or category_colours(len(categories))
    colour = nominal(
        "leans",
        legend={"orient": "bottom", "offset": 8},
        scale={"domain": list(sides.values()), "range": inks},
    )
    cells = mark(
        "rect",
        look={"stroke": PAGE, "strokeWidth": 2},
        color=colour,
        opacity=quantitative("opacity", scale=None, legend=None),
        description=ABOUT,
    )
    numbers = mark(
        "text", look={"fontSize": 11}, text=nominal("text"), color=literal("ink")
    )
    chart = layers(
        cells,
        numbers,
        data=described(frame, "{column}, {said}: {leans} {text}"),
        x=nominal("column", sort=list(columns.values()), title=None, axis=x_axis),
        y=nominal("context", sort=list(contexts.values()), title=None, axis=y_axis),
    )
    return fitted(chart, width, 26 * len(contexts))
