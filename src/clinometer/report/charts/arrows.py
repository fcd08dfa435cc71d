"""What a fix changes: an arrow from before to after."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clinometer.report.charts.look import (
    BIAS,
    INK,
    LINE,
    MARK,
    PAGE,
    VOLATILITY,
    WIDE,
    Spec,
)
from clinometer.report.charts.marks import (
    ABOUT,
    described,
    floats,
    interval_text,
    label_by_name,
    literal,
    mark,
    quantitative,
)
from clinometer.report.charts.points import Panel, in_panels

_INKS = {"lean": BIAS, "swing": VOLATILITY, "dice": INK}


def arrows_chart(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Return one row per fix and one panel per part: an arrow from before (a ring) to after.

    table: fix, part, from, to, to_low, to_high (NaN without an interval), clear and control (yes or
    no; a control is drawn pale), in display order. A change that is not clear is grey.
    """
    frame = floats(table, "to_low", "to_high")
    frame = frame.assign(
        label=frame["fix"].map(label_by_name(frame["fix"], 40)),
        panel=frame["part"],
        seen=np.where(frame["control"].eq("yes"), 0.45, 1.0),
        shape=np.where(frame["to"] < frame["from"], "triangle-left", "triangle-right"),
        ink=frame["part"].map(_INKS).where(frame["clear"].eq("yes"), MARK),
        span=[
            interval_text(low, high, ".2f")
            for low, high in frame[["to_low", "to_high"]].to_numpy()
        ],
    )
    frame = described(frame, "{fix}: {part} {from:.2f} to {to:.2f}{span}")
    panels = [Panel(part, ink=_INKS[part]) for part in dict.fromkeys(frame["part"])]
    return in_panels(frame, panels, _marks, width)


def _marks(_: Panel, rows: pd.DataFrame) -> list[Spec]:
    """Return the interval, the shaft, the ring and the head of each arrow of a panel."""
    end = float(rows[["from", "to", "to_high"]].max().max() or 1.0)
    x = {
        "title": None,
        "scale": {"domain": [0, 1.05 * end], "nice": True, "clamp": True},
        "axis": {"orient": "top", "tickCount": 4, "format": ".3~r"},
    }
    ink = literal("ink")
    opacity = quantitative("seen", scale=None)
    before = quantitative("from", **x)
    return [
        mark(
            "bar",
            look={"height": 10, "color": LINE},
            needs="to_low",
            x=quantitative("to_low", **x),
            x2={"field": "to_high"},
        ),
        mark(
            "rule",
            look={"strokeWidth": 2.2},
            x=before,
            x2={"field": "to"},
            color=ink,
            opacity=opacity,
        ),
        mark(
            "point",
            look={"size": 45, "fill": PAGE, "strokeWidth": 1.5},
            x=before,
            stroke=ink,
            opacity=opacity,
        ),
        mark(
            "point",
            look={"size": 90, "filled": True},
            x=quantitative("to", **x),
            color=ink,
            shape=literal("shape"),
            description=ABOUT,
            opacity=opacity,
        ),
    ]
