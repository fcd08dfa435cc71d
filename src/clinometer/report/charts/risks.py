"""The risks of several models, and the differences between models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from clinometer.measure.risks import HEADINGS, RISKS
from clinometer.report.charts.axes import distance_axis
from clinometer.report.charts.look import (
    GROUP_ROW,
    INK,
    RISK_COLOURS,
    WIDE,
    Spec,
)
from clinometer.report.charts.marks import floats, interval_text
from clinometer.report.charts.points import Panel, points_chart

_TITLES = HEADINGS | {name: RISKS[name].title for name in RISK_COLOURS}


def risks_chart(
    table: pd.DataFrame, *, about: Sequence[str] = ("", "", ""), width: int = WIDE
) -> Spec:
    """Return R, bias and volatility risk of each model: `points` of a table with one row per model.

    table: name, then R, R_bias, R_volatility, each also with _low and _high (may be missing) and
    _chance_low and _chance_high (a grey band behind the dot), and optionally pale. about: what each
    of the three is.
    """
    rows = []
    for row in table.to_dict("records"):
        for measure in RISK_COLOURS:
            cell: dict[str, Any] = {
                "name": row["name"],
                "panel": _TITLES[measure],
                "pale": row.get("pale") is True,
                "value": row[measure],
            }
            for end in ("low", "high", "chance_low", "chance_high"):
                cell[end] = row.get(f"{measure}_{end}")
            interval = interval_text(cell["low"], cell["high"])
            rows.append({**cell, "text": f"{row[measure]:.3f}{interval}"})
    panels = [
        Panel(_TITLES[measure], words, ink)
        for (measure, ink), words in zip(RISK_COLOURS.items(), about, strict=True)
    ]
    return points_chart(pd.DataFrame(rows), panels=panels, width=width)


def differences_chart(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Return paired differences, a panel for each risk; right of zero the first model has the
    higher one.

    table: pair, measure (R, R_bias, R_volatility), value, low, high. An interval that holds zero
    has a ring instead of a dot.
    """
    frame = floats(table, "low", "high").rename(columns={"pair": "name"})
    position = {name: i for i, name in enumerate(_TITLES)}
    frame = frame.sort_values(
        "measure", key=lambda names: names.map(position), kind="stable"
    )
    frame = frame.assign(
        clear=(frame["low"] > 0) | (frame["high"] < 0) | frame["low"].isna(),
        panel=frame["measure"].map(_TITLES),
        ink=INK,
        text=[
            f"{row['value']:+.3f}{interval_text(row['low'], row['high'], '+.3f')}"
            for row in frame.to_dict("records")
        ],
    )
    axis = partial(
        distance_axis,
        ends=("the first is lower", "the first is higher"),
        digits=".2~f",
    )
    return points_chart(frame, axis=axis, row=GROUP_ROW, width=width)
