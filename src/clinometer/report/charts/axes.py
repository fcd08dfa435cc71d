"""The axes of charts: of shares, of distances to both sides of zero, and of names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import brief
from clinometer.report.charts.look import (
    INK,
    LINE,
    MARK,
    SOFT,
    WIDE,
    Spec,
    is_narrow,
    wrapped,
)
from clinometer.report.charts.marks import nominal

OVER_TITLE = 30
"""Pixels between a plot and a legend over it that leave room for the title of `above`."""

GRID = {"grid": True, "gridColor": LINE}
"""Options of an axis whose ticks have lines across the plot."""


def channel(title: str | list[str], domain: Iterable[float], **axis: Any) -> Spec:
    """Return options of a channel whose axis runs from end to end of `domain`."""
    scale = {"domain": list(domain), "nice": False}
    return {"title": title, "scale": scale, "axis": axis}


def signed_axis(count: int = 5, digits: str = ".2~f") -> Spec:
    """Return options of an axis around zero: −0.5, 0, +0.5."""
    label = f"abs(datum.value) < 1e-9 ? '0' : format(datum.value, '+{digits}')"
    return {
        "tickCount": count,
        "labelExpr": label,
        **_line_at("datum.value === 0"),
    }


def _line_at(test: str) -> Spec:
    """Return options of an axis with a dashed line at the tick that passes a test."""
    return {
        "gridColor": {"condition": {"test": test, "value": MARK}, "value": LINE},
        "gridDash": {"condition": {"test": test, "value": [3, 3]}, "value": []},
    }


def above(**options: Any) -> Spec:
    """Return options of a vertical axis with a horizontal title above it."""
    return {
        "labelColor": SOFT,
        "titleAngle": 0,
        "titleAlign": "left",
        "titleAnchor": "end",
        "titleY": -12,
        "titleX": -28,
        **options,
    }


def share_axis(
    _: pd.DataFrame,
    width: int,
    *,
    ends: tuple[str, str],
    middle: tuple[float, str] = (0.5, "even"),
    colours: tuple[str, str] = (SOFT, SOFT),
) -> Spec:
    """Return shares along the top: a tick at every quarter, with what 0, the reference (`middle`)
    and 1 mean in words. A reference between two ticks has a line only."""
    reference, name = middle
    first, last = (brief(end, 18) for end in ends)
    half = f"{name} · 50 %" if reference == 0.5 else "50 %"
    texts = [f"0 % · {first}", "25 %", half, "75 %", f"{last} · 100 %", ""]
    if is_narrow(width):
        texts = [first, "", "50 %", "", last, ""]
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0, reference]
    labels = ",".join(map(json.dumps, texts))
    axis = {
        "orient": "top",
        "values": sorted(set(ticks)),
        "labelExpr": f"[{labels}][indexof({json.dumps(ticks)}, datum.value)]",
        "labelAlign": _at_ends("left", "right", "center"),
        "labelColor": _at_ends(colours[0], colours[1], SOFT),
        "labelLimit": 150,
        "labelOverlap": False,
        **_line_at(f"datum.value === {json.dumps(reference)}"),
    }
    return {"title": None, "axis": axis, "scale": {"domain": [0, 1], "clamp": True}}


def _at_ends(first: str, last: str, otherwise: str) -> Spec:
    """Return an option of labels that is another one at 0 and at 1."""
    conditions = [
        {"test": "datum.value === 0", "value": first},
        {"test": "datum.value === 1", "value": last},
    ]
    return {"condition": conditions, "value": otherwise}


def distance_axis(
    table: pd.DataFrame,
    width: int,
    *,
    ends: tuple[str, str],
    unit: str = "",
    digits: str = "~g",
) -> Spec:
    """Return distances to both sides of zero; `ends` are what left and right of it mean."""
    distances = table[["value", "low", "high"]].abs().to_numpy()
    furthest = float(np.nanmax(distances) or 1.0)
    words = [word for word in (ends[0], unit, ends[1]) if word]
    return {
        "title": wrapped(f"← {'  ·  '.join(words)} →", int(0.7 * width)),
        "axis": {"orient": "top", **signed_axis(3 if is_narrow(width) else 7, digits)},
        # Nice ends are ticks: no mark stands outside of them.
        "scale": {"domain": [-furthest, furthest], "nice": True},
    }


def group_axis(
    labels: Iterable[str],
    width: int,
    *,
    grey: Iterable[str] = (),
    extent: int | None = None,
    room: int = 170,
) -> Spec:
    """Return the names of the groups down the left side, in order, some of them grey, at most
    `room` pixels wide on a page; `extent` pixels where views below each other must begin alike."""
    axis: dict[str, Any] = {"labelLimit": room if width >= WIDE else 0.34 * width}
    if extent is not None:
        axis = {"labelLimit": extent - 8, "minExtent": extent, "maxExtent": extent}
    grey_labels = list(dict.fromkeys(grey))
    if grey_labels:
        test = f"indexof({json.dumps(grey_labels)}, datum.value) >= 0"
        axis["labelColor"] = {"condition": {"test": test, "value": MARK}, "value": INK}
    return nominal("label", sort=list(labels), title=None, axis=axis)


def name_width(labels: Iterable[str], width: int) -> int:
    """Return the width of the names beside views that share none of their axes, in pixels."""
    widths = [
        6.4 * len(label) + 3.6 * len(re.findall("[mwMW]", label)) for label in labels
    ]
    limit = 100 if is_narrow(width) else 190
    return min(limit, 14 + int(max(widths, default=0)))
