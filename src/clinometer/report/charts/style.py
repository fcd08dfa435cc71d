"""How every chart looks: one palette, light and dark, and the few rules of type and line.

Charts are drawn in the light colours. A page that shows them swaps each colour for a CSS variable
of the same name (`report.figure`), so one drawing serves light, dark and print. Up to seven
categories are distinguishable with every kind of colour blindness, their colours are readable as
text (tests measure both), and no colour carries a meaning that a label does not carry too. Amber
is volatility and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from clinometer.display.text import brief, visible

#: A chart: a specification of Vega-Lite, ready for JSON.
Spec = dict[str, Any]

#: name -> (light, dark). Each light colour is unique: pages search for it.
PALETTE: Mapping[str, tuple[str, str]] = {
    "ink": ("#1c2127", "#e6eaee"),
    "soft": ("#57616b", "#a3adb7"),
    "line": ("#dde1e6", "#333b44"),
    "page": ("#fffffe", "#14181d"),
    "wash": ("#f4f6f8", "#1c2229"),
    "bias": ("#1d5f9e", "#6fb1ea"),
    "volatility": ("#e0930f", "#f0b450"),
    "mark": ("#6b7682", "#96a1ac"),
    "c0": ("#6b3fa0", "#b79be6"),
    "c1": ("#1c7a43", "#63c088"),
    "c2": ("#b83209", "#c56580"),
    "c3": ("#12275c", "#c9f2e4"),
    "c4": ("#966785", "#8b892c"),
    "c5": ("#5c2a08", "#aab6c1"),
    "c6": ("#0b4f3c", "#7877d3"),
    "c7": ("#4b5966", "#a4c94f"),
    "m0": ("#0f7a70", "#4fc7b8"),
    "m1": ("#b4326b", "#ee8ab3"),
    "m2": ("#7f6400", "#d6bf52"),
    "m3": ("#4a4fc4", "#a2a7fb"),
    "m4": ("#85492a", "#d79c78"),
    "m5": ("#4f6b16", "#b3ca66"),
}

INK, SOFT, LINE, PAGE = (PALETTE[name][0] for name in ("ink", "soft", "line", "page"))
BIAS, VOLATILITY, MARK = (PALETTE[name][0] for name in ("bias", "volatility", "mark"))

#: The favourable answer of a decision; the other one is grey.
DECISION = PALETTE["c0"][0]

#: Arial has the widths of Helvetica and Liberation Sans: text measured here fits elsewhere.
FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"

#: Prefix of every text about a mark (an invisible character, harmless in exported files).
OURS = "\u2063"

#: Widths at which charts are drawn: a page, and a phone (or a page at 400 % zoom).
WIDE, NARROW = 680, 320

#: Pixels between a plot and a legend over it that leave room for the title of `above`.
OVER_TITLE = 30

_CATEGORIES = [light for name, (light, _) in PALETTE.items() if re.fullmatch(r"c\d", name)]
_MODELS = [light for name, (light, _) in PALETTE.items() if re.fullmatch(r"m\d", name)]


def is_narrow(width: int) -> bool:
    """Whether a chart is drawn for a phone."""
    return width < (WIDE + NARROW) / 2


def category_colours(n: int) -> list[str]:
    """One colour per category, in order; they repeat after eight."""
    return [_CATEGORIES[i % len(_CATEGORIES)] for i in range(n)]


def model_colours(n: int) -> list[str]:
    """One colour per model, in the order of a page, none of them that of a category; grey where
    there are more models than colours."""
    return _MODELS[:n] if n <= len(_MODELS) else [SOFT] * n


def distinct(labels: Iterable[object], length: int = 60) -> list[str]:
    """Brief labels, made unique again where truncation made them equal."""
    seen: dict[str, int] = {}
    out = []
    for label in labels:
        text = brief(label, length)
        seen[text] = number = seen.get(text, 0) + 1
        out.append(text if number == 1 else f"{text} ({number})")
    return out


def rows(frame: pd.DataFrame) -> Spec:
    """A table as inline data: NaN as null.

    A column `about` describes each mark in words; it is marked as ours, so that a page can tell it
    from the labels that Vega generates for marks without one.
    """
    if "about" in frame:
        frame = frame.assign(about=[OURS + visible(text) for text in frame["about"]])
    return {"values": frame.astype(object).where(frame.notna(), None).to_dict("records")}


def q(name: str, **more: Any) -> Spec:
    """A channel of a number."""
    return {"field": name, "type": "quantitative", **more}


def n(name: str, **more: Any) -> Spec:
    """A channel of a name."""
    return {"field": name, "type": "nominal", **more}


def as_is(name: str) -> Spec:
    """A channel whose values are colours."""
    return n(name, scale=None)


def marks(kind: str, frame: pd.DataFrame | None = None, /, **spec: Any) -> Spec:
    """One layer: `kind` of mark, its options in `look`, its channels as other arguments; its own
    table, if it has one. Rows that miss `needs` are left out."""
    look, needs = spec.pop("look", {}), spec.pop("needs", None)
    only = {} if needs is None else {"transform": [{"filter": f"datum.{needs} !== null"}]}
    own = {} if frame is None else {"data": rows(frame)}
    return {**own, **only, "mark": {"type": kind, **look}, "encoding": spec}


ABOUT = n("about")


def layers(*parts: Spec, data: pd.DataFrame | None = None, **shared: Any) -> Spec:
    """Layers over each other, with the table and the channels that they share."""
    own = {} if data is None else {"data": rows(data)}
    return {**own, "layer": list(parts), "encoding": shared}


def fitted(chart: Spec, width: int, height: int) -> Spec:
    """A single view that is `width` wide including its axes and anything beyond the plot."""
    size = {"type": "fit-x", "contains": "padding"}
    return finish({**chart, "width": width, "height": height, "autosize": size})


def several_views(
    views: list[Spec], width: int, *, beside: bool = False, spacing: int = 16
) -> Spec:
    """Views below each other; on a page next to each other if they are `beside`."""
    columns = 1 if is_narrow(width) or not beside else len(views)
    return finish({"concat": views, "columns": columns, "spacing": spacing})


def gutter(labels: Iterable[str], width: int) -> int:
    """The width of the names beside views that share none of their axes."""
    most = 100 if is_narrow(width) else 190
    return min(most, 14 + int(6.4 * max((len(label) for label in labels), default=0)))


def finish(chart: Spec) -> Spec:
    """Apply the common style, as the last step."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        **chart,
        "config": {
            "background": "transparent",
            "font": FONT,
            "padding": {"left": 2, "right": 8, "top": 6, "bottom": 2},
            "view": {"stroke": None},
            "axis": {
                "domain": False,
                "grid": False,
                "labelColor": SOFT,
                "labelFontSize": 12,
                "labelPadding": 6,
                "tickColor": LINE,
                "ticks": False,
                "titleColor": SOFT,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "titlePadding": 10,
            },
            "axisX": {"grid": True, "gridColor": LINE, "labelFlush": False},
            "axisY": {"labelColor": INK},
            "legend": {
                "labelColor": INK,
                "labelFontSize": 12,
                "orient": "top",
                "symbolType": "square",
                "symbolSize": 120,
                "title": None,
                "titleColor": SOFT,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "padding": 0,
                "offset": 10,
                "columnPadding": 16,
                "symbolOpacity": 1,
            },
            "text": {"color": INK, "fontSize": 12},
            "title": {
                "anchor": "start",
                "color": INK,
                "fontSize": 15,
                "fontWeight": "bold",
                "subtitleColor": SOFT,
                "subtitleFontSize": 12,
                "subtitlePadding": 4,
                "offset": 14,
            },
        },
    }


def signed_axis(count: int = 5, digits: str = ".2~f") -> Spec:
    """Options of an axis around zero: −0.5, 0, +0.5."""
    label = f"abs(datum.value) < 1e-9 ? '0' : format(datum.value, '+{digits}')"
    zero = "datum.value === 0"
    return {
        "tickCount": count,
        "labelExpr": label,
        "gridColor": {"condition": {"test": zero, "value": MARK}, "value": LINE},
        "gridDash": {"condition": {"test": zero, "value": [3, 3]}, "value": []},
    }


def above(**more: Any) -> Spec:
    """Options of a vertical axis with a horizontal title above it."""
    return {
        "labelColor": SOFT,
        "titleAngle": 0,
        "titleAlign": "left",
        "titleAnchor": "end",
        "titleY": -12,
        "titleX": -28,
        **more,
    }


def wrapped(text: str, width: int) -> list[str]:
    """A title as lines that fit the width of the chart: Vega does not break lines."""
    room = max(20, int(width / 5.9))
    lines, line = [], ""
    bound = re.sub("(?<=←) | (?=[→%])", "\u00a0", text)
    for word in bound.split(" "):
        if line and len(line) + 1 + len(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def numbered_points(frame: pd.DataFrame, width: int, **channels: Any) -> list[Spec]:
    """Points with their numbers inside, the first on top, and a key of the names below the chart.

    frame: label, about and the columns of the channels; rows are numbered in order. Names beside
    the points would cover each other where points are close; numbers are as legible there.
    """
    frame = frame.reset_index(drop=True)
    frame["number"] = [str(i + 1) for i in range(len(frame))]
    frame["entry"] = frame["number"] + "\u2002" + frame["label"]
    legend = {
        "orient": "bottom",
        "columns": 1 if is_narrow(width) else 3,
        "symbolSize": 0,
        "symbolOffset": -8,
        "labelOffset": 0,
    }
    scale = {"domain": list(frame["entry"]), "range": ["circle"]}
    point = {"size": 230, "opacity": 1, "stroke": PAGE, "strokeWidth": 1.5}
    number = {"color": PAGE, "fontSize": 10, "fontWeight": "bold"}
    back = frame.iloc[::-1]
    over = {name: channels[name] for name in ("x", "y")}
    return [
        marks("circle", back, look=point, **channels, description=ABOUT),
        marks("text", back, look=number, **over, text=n("number")),
        marks(
            "point",
            frame[["entry"]],
            look={"opacity": 0, "size": 0},
            shape=n("entry", legend=legend, scale=scale),
        ),
    ]
