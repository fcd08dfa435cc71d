"""Stacked bars: the share of each category in each group."""

from __future__ import annotations

import pandas as pd

from clinometer.report.charts.axes import group_axis
from clinometer.report.charts.look import (
    GROUP_ROW,
    PAGE,
    WIDE,
    Spec,
    category_colours,
    fitted,
    is_narrow,
)
from clinometer.report.charts.marks import (
    ABOUT,
    label_by_name,
    mark,
    nominal,
    quantitative,
)


def shares_chart(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    faint: bool = False,
    width: int = WIDE,
) -> Spec:
    """Return one stacked bar per group: the share of each category.

    table: group, category, share, clear, about; a group whose lean is not clear has a grey name.
    faint: as for `points`.
    """
    names = label_by_name(categories, 24)
    labels = label_by_name(table["group"], 40)
    frame = table.assign(
        part=table["category"].map(names),
        order=table["category"].map({name: i for i, name in enumerate(categories)}),
        label=table["group"].map(labels),
    )
    axis = {
        "orient": "top",
        "values": [0, 0.25, 0.5, 0.75, 1],
        "labelExpr": "format(100 * datum.value, '.0f') + ' %'",
    }
    bars = mark(
        "bar",
        frame,
        look={
            "height": 14,
            "stroke": PAGE,
            "strokeWidth": 0.8,
            "opacity": 0.35 if faint else 1.0,
        },
        x=quantitative(
            "share", stack="zero", title=None, axis=axis, scale={"domain": [0, 1]}
        ),
        y=group_axis(labels.values(), width, grey=frame["label"][~frame["clear"]]),
        color=nominal(
            "part",
            legend={"columns": 2 if is_narrow(width) else 5},
            scale={
                "domain": list(names.values()),
                "range": category_colours(len(names)),
            },
        ),
        order=quantitative("order"),
        description=ABOUT,
    )
    return fitted(bars, width, GROUP_ROW * len(labels))
