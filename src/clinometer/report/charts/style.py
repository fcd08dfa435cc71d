"""How every chart looks: one palette, light and dark, and the few rules of type and line.

Charts are drawn in the light colours. A page that shows them swaps each colour for a CSS variable
of the same name (`report.figure`), so one drawing serves light, dark and print. Up to seven
categories are distinguishable with every kind of colour blindness, their colours are readable as
text (tests measure both), and no colour carries a meaning that a label does not carry too. Amber
is volatility and nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from clinometer.display.text import brief, visible
from clinometer.extras import require

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

#: Widths at which charts are drawn: a page, the smaller column of a first screen, and a phone (or
#: a page at 400 % zoom).
WIDE, BESIDE, NARROW = 680, 440, 300

#: Approximate width of the axis next to a `fitted` plot, in pixels.
AXIS = 42

#: Pixels between a plot and a legend over it that leave room for the title of `above`.
OVER_TITLE = 30

_CATEGORIES = [light for name, (light, _) in PALETTE.items() if re.fullmatch(r"c\d", name)]
_MODELS = [light for name, (light, _) in PALETTE.items() if re.fullmatch(r"m\d", name)]


def altair() -> Any:
    """The module, or an error that names the install line."""
    require("drawing charts", "altair")
    import altair

    return altair


def is_narrow(width: int) -> bool:
    """Whether a chart is drawn for a phone or a column: labels go above their marks."""
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


def rows(frame: pd.DataFrame) -> Any:
    """A table as inline data: NaN as null, no limit on the number of rows.

    A column `about` describes each mark in words; it is marked as ours, so that a page can tell it
    from the labels that Vega generates for marks without one.
    """
    if "about" in frame:
        frame = frame.assign(about=[OURS + visible(text) for text in frame["about"]])
    plain = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return altair().InlineData(values=tuple(plain))  # Altair copies lists over and over


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
    bound = re.sub("(?<=←) | (?=[→%])", "\u00a0", text)
    for word in bound.split(" "):
        if line and len(line) + 1 + len(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def numbered_points(frame: pd.DataFrame, *, x: Any, y: Any, colour: Any, width: int) -> list[Any]:
    """Points with their numbers inside, the first on top, and a key of the names below the chart.

    frame: label, about and the columns of x and y; rows are numbered in order. Names beside the
    points would cover each other where points are close; numbers are as legible there.
    """
    alt = altair()
    frame = frame.reset_index(drop=True)
    frame["number"] = [str(i + 1) for i in range(len(frame))]
    frame["entry"] = frame["number"] + "\u2002" + frame["label"]
    base = alt.Chart(rows(frame.iloc[::-1])).encode(x=x, y=y)
    entries = [
        f"{n}\u2002{label}" for n, label in zip(frame["number"], frame["label"], strict=True)
    ]
    widest = max(text_width(entry) for entry in entries)
    legend = alt.Legend(
        orient="bottom",
        columns=max(1, int((width - AXIS) / (widest + 16))),
        symbolSize=0,
        symbolOffset=-8,
        labelOffset=0,
        labelLimit=width - AXIS,
    )
    shape = alt.Shape("entry:N", legend=legend).scale(domain=list(frame["entry"]), range=["circle"])
    key = alt.Chart(rows(frame[["entry"]])).mark_point(opacity=0, size=0)
    return [
        base.mark_circle(size=230, opacity=1, stroke=PAGE, strokeWidth=1.5).encode(
            color=colour, description="about:N"
        ),
        base.mark_text(color=PAGE, fontSize=10, fontWeight="bold").encode(text="number:N"),
        key.encode(shape=shape),
    ]


def text_width(text: str, size: float = 12) -> float:
    """The approximate width of a text in the charts' font, in pixels, rounded up."""
    narrow, wide = set("iljtfrI.,:;'|!()[]{}/\\ -"), set("mwMW@%…→")

    def share(sign: str) -> float:
        if unicodedata.east_asian_width(sign) in "WF":
            return 1.0
        if unicodedata.combining(sign):
            return 0.0
        if sign in narrow:
            return 0.31
        return 0.9 if sign in wide else 0.7 if sign.isupper() else 0.56

    return size * sum(map(share, text)) + 6
