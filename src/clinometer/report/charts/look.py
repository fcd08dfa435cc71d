"""How every chart looks: one palette, light and dark, and the few rules of type and line.

Charts are drawn in the light colours of one palette. A page that shows them swaps each colour for a
CSS variable of the same name (`report.svg`), so one drawing serves light, dark and print. Up to
seven categories are distinguishable with every kind of colour blindness, their colours are readable
as text (tests measure both), and no colour carries a meaning that a label does not carry too. Amber
is volatility and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import wrap
from typing import Any

Spec = dict[str, Any]
"""A chart: a specification of Vega-Lite, ready for JSON."""

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
"""name -> (light, dark). Each light colour is unique: pages search for it."""

_LIGHT = {name: light for name, (light, _) in PALETTE.items()}

INK = _LIGHT["ink"]
SOFT = _LIGHT["soft"]
LINE = _LIGHT["line"]
PAGE = _LIGHT["page"]
BIAS = _LIGHT["bias"]
VOLATILITY = _LIGHT["volatility"]
MARK = _LIGHT["mark"]

DECISION = _LIGHT["c0"]
"""The favourable answer of a decision; the other one is grey."""

RISK_COLOURS = {"R": INK, "R_bias": BIAS, "R_volatility": VOLATILITY}
"""The colour of R and of each of its parts."""

_CATEGORIES = [_LIGHT[name] for name in PALETTE if re.fullmatch(r"c\d", name)]
_MODELS = [_LIGHT[name] for name in PALETTE if re.fullmatch(r"m\d", name)]

FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"
"""Arial has the widths of Helvetica and Liberation Sans: text measured here fits elsewhere."""

WIDE = 680
"""The width of a chart on a page."""

NARROW = 320
"""The width of a chart on a phone, or on a page at 400 % zoom."""

GROUP_ROW = 19
"""The height of a row of a group, in pixels."""

_WORDS = {
    "labelFontSize": 12,
    "titleColor": SOFT,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
}

_STYLE = {
    "background": "transparent",
    "font": FONT,
    "padding": {"left": 2, "right": 8, "top": 6, "bottom": 2},
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "grid": False,
        "labelColor": SOFT,
        "labelPadding": 6,
        "tickColor": LINE,
        "ticks": False,
        "titlePadding": 10,
        **_WORDS,
    },
    "axisX": {"grid": True, "gridColor": LINE, "labelFlush": False},
    "axisY": {"labelColor": INK},
    "legend": {
        "labelColor": INK,
        "orient": "top",
        "symbolType": "square",
        "symbolSize": 120,
        "title": None,
        "padding": 0,
        "offset": 10,
        "columnPadding": 16,
        "symbolOpacity": 1,
        **_WORDS,
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
}


def is_narrow(width: int) -> bool:
    """Return whether a chart is drawn for a phone."""
    return width < (WIDE + NARROW) / 2


def category_colours(n: int) -> list[str]:
    """Return one colour per category, in order; they repeat after eight."""
    return [_CATEGORIES[i % len(_CATEGORIES)] for i in range(n)]


def model_colours(n: int) -> list[str]:
    """Return one colour per model, in the order of a page, none of them that of a category; grey
    where there are more models than colours."""
    if n > len(_MODELS):
        return [SOFT] * n
    return _MODELS[:n]


def wrapped(text: str, width: int) -> list[str]:
    """Return a title as lines that fit the width of the chart: Vega does not break lines."""
    characters = max(20, int(width / 5.9))
    bound = re.sub("(?<=←) | (?=[→%])", "\u00a0", text)
    return wrap(bound, characters, break_long_words=False, break_on_hyphens=False)


def finish(chart: Spec) -> Spec:
    """Return the chart in the common style, as the last step."""
    schema = "https://vega.github.io/schema/vega-lite/v6.json"
    return {"$schema": schema, **chart, "config": _STYLE}


def fitted(chart: Spec, width: int, height: int) -> Spec:
    """Return a single view that is `width` wide including its axes and anything beyond the plot."""
    size = {"type": "fit-x", "contains": "padding"}
    return finish({**chart, "width": width, "height": height, "autosize": size})


def several_views(
    views: list[Spec], width: int, *, side_by_side: bool = False, spacing: int = 16
) -> Spec:
    """Return views below each other; or next to each other, but not on a phone."""
    columns = 1
    if side_by_side and not is_narrow(width):
        columns = len(views)
    return finish({"concat": views, "columns": columns, "spacing": spacing})
