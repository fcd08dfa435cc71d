"""How every chart looks: one palette, light and dark, and the few rules of type and line.

Charts are drawn in the light colours. A page that shows them swaps each colour for a CSS variable
of the same name (`clinometer.report.svg`), so one drawing serves light, dark and print. Up to seven
categories are distinguishable with every kind of colour blindness, their colours are readable as
text (tests measure both), and no colour carries a meaning that a label does not carry too. Amber
is volatility and nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clinometer.display.visible import visible
from clinometer.extras import require

if TYPE_CHECKING:
    import pandas as pd

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
}

INK, SOFT, LINE, PAGE = (PALETTE[name][0] for name in ("ink", "soft", "line", "page"))
BIAS, VOLATILITY, MARK = (PALETTE[name][0] for name in ("bias", "volatility", "mark"))

#: Arial has the widths of Helvetica and Liberation Sans: text measured here fits elsewhere.
FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"

#: Prefix of every text about a mark (an invisible character, harmless in exported files).
OURS = "\u2063"

#: Widths at which charts are drawn: a page, the smaller column of a first screen, and a phone (or
#: a page at 400 % zoom).
WIDE, BESIDE, NARROW = 680, 440, 300

#: Approximate width of the axis next to a `fitted` plot, in pixels.
AXIS = 42

#: Pixels between a plot and a legend over it that leave room for the title of `above`.
OVER_TITLE = 30

_CATEGORIES = [light for name, (light, _) in PALETTE.items() if re.fullmatch(r"c\d", name)]


def altair() -> Any:
    """The module, or an error that names the install line."""
    require("drawing charts", "altair")
    import altair

    return altair


def category_colours(n: int) -> list[str]:
    """One colour per category, in order; they repeat after eight."""
    return [_CATEGORIES[i % len(_CATEGORIES)] for i in range(n)]


def brief(text: object, length: int = 60) -> str:
    """Visible text of at most `length` characters, on one line.

    >>> brief("abcdefgh", 5)
    'abcd…'
    """
    line = " ".join(visible(text).split())
    if len(line) <= length:
        return line
    cut = line[: length - 1].rstrip()
    while cut and unicodedata.combining(line[len(cut)]):  # never between a letter and its accent
        cut = cut[:-1]
    return cut + "…"


def distinct(labels: Iterable[object], length: int = 60) -> list[str]:
    """Brief labels, made unique again where truncation made them equal."""
    seen: dict[str, int] = {}
    out = []
    for label in labels:
        text = brief(label, length)
        seen[text] = number = seen.get(text, 0) + 1
        out.append(text if number == 1 else f"{text} ({number})")
    return out


def rows(frame: pd.DataFrame) -> Any:
    """A table as inline data: NaN as null, no limit on the number of rows.

    A column `about` describes each mark in words; it is marked as ours, so that a page can tell it
    from the labels that Vega generates for marks without one.
    """
    if "about" in frame:
        frame = frame.assign(about=[OURS + str(text) for text in frame["about"]])
    plain = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return altair().InlineData(values=plain)


def finish(chart: Any) -> Any:
    """Apply the common style, as the last step."""
    return chart.configure(
        background="transparent",
        font=FONT,
        padding={"left": 2, "right": 8, "top": 6, "bottom": 2},
        view={"stroke": None},
        axis={
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
        axisX={"grid": True, "gridColor": LINE, "labelFlush": False},
        axisY={"labelColor": INK},
        legend={
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
        header={"labelColor": INK, "labelFontSize": 12, "labelFontWeight": "bold", "title": None},
        text={"color": INK, "fontSize": 12},
        title={
            "anchor": "start",
            "color": INK,
            "fontSize": 15,
            "fontWeight": "bold",
            "subtitleColor": SOFT,
            "subtitleFontSize": 12,
            "subtitlePadding": 4,
            "offset": 14,
        },
    )


def fitted(chart: Any, width: int, height: int) -> Any:
    """A single view that is `width` wide including its axes and anything beyond the plot."""
    size = altair().AutoSizeParams(type="fit-x", contains="padding")
    return finish(chart.properties(width=width, height=height, autosize=size))


def signed_axis(count: int = 5) -> dict[str, Any]:
    """Options of an axis around zero: −0.5, 0, +0.5."""
    return {
        "tickCount": count,
        "labelExpr": "abs(datum.value) < 1e-9 ? '0' : format(datum.value, '+.2~f')",
    }


def above(**more: Any) -> dict[str, Any]:
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


def wrap_axis_title(text: str, width: int) -> list[str]:
    """An axis title as lines that fit the width of the chart."""
    room = max(20, int(width / 5.9))
    lines, line = [], ""
    bound = text.replace(" →", "\u00a0→").replace("← ", "←\u00a0")
    for word in bound.split(" "):
        if line and len(line) + 1 + len(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
