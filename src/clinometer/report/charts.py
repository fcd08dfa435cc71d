"""Charts as functions of plain tables: a frame in, a specification of Vega-Lite out.

Each takes `width` (WIDE for a page, NARROW for a phone) and knows nothing about runs, so studies
use the same ones. `Figure` adds a title, a caption with its n, and a text alternative.

Charts are drawn in the light colours of one palette. A page that shows them swaps each colour for a
CSS variable of the same name (`report.figure`), so one drawing serves light, dark and print. Up to
seven categories are distinguishable with every kind of colour blindness, their colours are readable
as text (tests measure both), and no colour carries a meaning that a label does not carry too. Amber
is volatility and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import brief, visible
from clinometer.measure.risks import HEADINGS, MEASURES, RISKS

# --- How every chart looks: one palette, light and dark, and the few rules of type and line -------

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

#: Options of an axis whose ticks have lines across the plot.
_GRID = {"grid": True, "gridColor": LINE}

_CATEGORIES = [
    light for name, (light, _) in PALETTE.items() if re.fullmatch(r"c\d", name)
]
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


def labelled(names: Iterable[Any], length: int) -> dict[Any, str]:
    """Each name once, in order, with its brief label."""
    unique = list(dict.fromkeys(names))
    return dict(zip(unique, distinct(unique, length), strict=True))


def described(frame: pd.DataFrame, form: str) -> pd.DataFrame:
    """The table with each row in words: `form` names its columns."""
    return frame.assign(
        about=[form.format_map(row) for row in frame.to_dict("records")]
    )


def floats(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The table with these columns as numbers; one that it lacks is missing in every row."""
    more = [name for name in columns if name not in frame]
    return frame.reindex(columns=[*frame, *more]).astype(dict.fromkeys(columns, float))


def rows(frame: pd.DataFrame) -> Spec:
    """A table as inline data: NaN as null.

    A column `about` describes each mark in words; it is marked as ours, so that a page can tell it
    from the labels that Vega generates for marks without one.
    """
    if "about" in frame:
        frame = frame.assign(about=[OURS + visible(text) for text in frame["about"]])
    return {
        "values": frame.astype(object).where(frame.notna(), None).to_dict("records")
    }


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
    only = (
        {} if needs is None else {"transform": [{"filter": f"datum.{needs} !== null"}]}
    )
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
    each = (
        6.4 * len(label) + 3.6 * sum(sign in "mwMW" for sign in label)
        for label in labels
    )
    return min(most, 14 + int(max(each, default=0)))


def finish(chart: Spec) -> Spec:
    """Apply the common style, as the last step."""
    words = {"labelFontSize": 12, "titleColor": SOFT, "titleFontSize": 12}
    words["titleFontWeight"] = "normal"
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
                "labelPadding": 6,
                "tickColor": LINE,
                "ticks": False,
                "titlePadding": 10,
                **words,
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
                **words,
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


def channel(title: str | list[str], domain: Iterable[float], **axis: Any) -> Spec:
    """Options of a channel whose axis runs from end to end of `domain`."""
    return {
        "title": title,
        "scale": {"domain": list(domain), "nice": False},
        "axis": axis,
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
    bound = re.sub("(?<=←) | (?=[→%])", "\u00a0", text)
    return wrap(bound, room, break_long_words=False, break_on_hyphens=False)


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


# --- Points: one row per group, statement or model, and a panel per number ------------------------

#: Height of a row of a group, in pixels.
GROUP_ROW = 19

#: The options of a horizontal channel for the numbers of a table, in a width.
Axis = Callable[[pd.DataFrame, int], Spec]


@dataclass(frozen=True)
class Panel:
    """One number of every row: its title, what it is, its colour, and where its axis from 0 ends;
    panels without an end share one."""

    name: str = ""
    about: str = ""
    ink: str = INK
    end: float | None = None


_ENDS = ("low", "high", "range_low", "range_high", "chance_low", "chance_high")


def points(
    table: pd.DataFrame,
    *,
    axis: Axis | None = None,
    panels: Sequence[Panel] = (),
    row: int = 24,
    room: int = 170,
    faint: bool = False,
    width: int = WIDE,
) -> Spec:
    """One row per name: a dot at its value, thick its interval, thin its range. Panels stand next
    to each other on a page and below each other on a phone; on one axis always below each other.

    table: name and value, in display order; about (in words, else text says the value); and
    optionally panel, low and high (the interval), range_low and range_high, chance_low and
    chance_high (a grey band behind the dot), each NaN where there is none; clear (a ring where it
    is not); ink (its colour where it is clear, else that of its panel); pale (True for rows that
    serve as a comparison); label (of the row, in full). axis: of all panels; without it each begins
    at 0. room: for the names, in pixels. faint: as a background, because the words carry hardly any
    probability.
    """
    usual: dict[str, Any] = {"panel": "", "clear": True, "pale": False}
    missing = {name: value for name, value in usual.items() if name not in table}
    frame = floats(table.reset_index(drop=True).assign(**missing), "value", *_ENDS)
    if "label" not in frame:
        frame["label"] = frame["name"].map(labelled(frame["name"], 40))
    if "about" not in frame:
        frame = described(frame, "{label}: {panel} {text}")
    shown, clear = (
        panels or [*map(Panel, frame["panel"].unique())],
        frame["clear"].astype(bool),
    )
    own = frame["panel"].map({panel.name: panel.ink for panel in shown})
    frame["ink"] = frame["ink"].where(clear, MARK) if "ink" in frame else own
    frame["fill"] = frame["ink"].where(clear, PAGE)
    fade = 0.35 if faint else 1.0
    frame["seen"] = np.where(frame["pale"].eq(True), 0.4, fade)
    shared = float(frame[["value", "high", "chance_high"]].max().max() or 1.0)
    form = {"orient": "top", "format": "~r", "tickCount": 3}
    if is_narrow(width) or len(shown) == 1:
        form["tickCount"] = 5

    def draw(panel: Panel, _: pd.DataFrame) -> list[Spec]:
        scale = {"domain": [0, 1.02 * (panel.end or shared)], "nice": True}
        x: Spec = {"title": None, "scale": scale, "axis": form}
        if axis is not None:
            x = axis(frame, width) | ({} if panel is shown[0] else {"title": None})
        ink, point = as_is("ink"), {"size": 80, "strokeWidth": 1.5}

        def span(kind: str, ends: str, colour: Spec, **look: Any) -> Spec:
            low, far = f"{ends}low", {"field": f"{ends}high"}
            return marks(
                kind, look=look, needs=low, x=q(low, **x), x2=far, color=colour
            )

        return [
            span("bar", "chance_", {"value": LINE}, height=16),
            span("rule", "range_", ink, strokeWidth=1, opacity=0.5 * fade),
            span("bar", "", ink, height=6, cornerRadius=3, opacity=0.45 * fade),
            marks("point", look=point, x=q("value", **x), fill=as_is("fill"), stroke=ink,
                  description=ABOUT, opacity=q("seen", scale=None)),
        ]  # fmt: skip

    if not shown[0].name:
        y = group_axis(frame["label"], width, room=room)
        chart = layers(*draw(shown[0], frame), data=frame, y=y)
        return fitted(chart, width, row * len(frame))
    return _panels(frame, shown, draw, width, beside=axis is None, row=row)


def _panels(
    frame: pd.DataFrame,
    panels: Sequence[Panel],
    draw: Callable[[Panel, pd.DataFrame], list[Spec]],
    width: int,
    *,
    beside: bool = True,
    row: int = 24,
) -> Spec:
    """A panel for each number, a row for each label; `draw` makes the layers of a panel of its part
    of the table."""
    every = list(dict.fromkeys(frame["label"]))
    left, across = (
        gutter(every, width),
        1 if is_narrow(width) or not beside else len(panels),
    )
    plot = (width - left - 26 * (across - 1) - 16) / across
    views = []
    for i, panel in enumerate(panels):
        part = frame[frame["panel"] == panel.name]
        labels = every if beside else [*part["label"]]
        y = group_axis(labels, width, extent=left)
        if i and across > 1:
            y["axis"] = {"labels": False, "minExtent": 0}
        title: Spec = {"text": brief(panel.name, 60), "fontSize": 12, "offset": 2}
        if beside:
            about = wrapped(panel.about, int(plot)) if panel.about else []
            title |= {"subtitle": about, "fontSize": 13, "offset": 6, "frame": "group"}
            title["color"] = panel.ink
        view = layers(*draw(panel, part), data=part, y=y)
        views.append(
            {**view, "title": title, "width": plot, "height": row * len(labels)}
        )
    return several_views(views, width, beside=beside, spacing=26 if beside else 16)


def share_axis(
    _: pd.DataFrame,
    width: int,
    *,
    ends: tuple[str, str],
    middle: tuple[float, str] = (0.5, "even"),
    colours: tuple[str, str] = (SOFT, SOFT),
) -> Spec:
    """Shares along the top: a tick at every quarter, with what 0, the reference (`middle`) and 1
    mean in words. A reference between two ticks has a line only."""
    at, name = middle
    first, last = (brief(end, 18) for end in ends)
    half = f"{name} · 50 %" if at == 0.5 else "50 %"
    texts = [f"0 % · {first}", "25 %", half, "75 %", f"{last} · 100 %", ""]
    if is_narrow(width):
        texts = [first, "", "50 %", "", last, ""]
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0, at]

    def at_ends(first: object, last: object, otherwise: object) -> Spec:
        tests = (("datum.value === 0", first), ("datum.value === 1", last))
        return {
            "condition": [{"test": t, "value": v} for t, v in tests],
            "value": otherwise,
        }

    reference = f"datum.value === {json.dumps(at)}"
    labels = ",".join(map(json.dumps, texts))
    axis = {
        "orient": "top",
        "values": sorted(set(ticks)),
        "labelExpr": f"[{labels}][indexof({json.dumps(ticks)}, datum.value)]",
        "labelAlign": at_ends("left", "right", "center"),
        "labelColor": at_ends(colours[0], colours[1], SOFT),
        "labelLimit": 150,
        "labelOverlap": False,
        "gridColor": {"condition": {"test": reference, "value": MARK}, "value": LINE},
        "gridDash": {"condition": {"test": reference, "value": [3, 3]}, "value": []},
    }
    return {"title": None, "axis": axis, "scale": {"domain": [0, 1], "clamp": True}}


def away_axis(
    frame: pd.DataFrame,
    width: int,
    *,
    ends: tuple[str, str],
    unit: str = "",
    digits: str = "~g",
) -> Spec:
    """Distances to both sides of zero; `ends` are what left and right of it mean."""
    reach = float(np.nanmax(frame[["value", "low", "high"]].abs().to_numpy()) or 1.0)
    direction = f"← {'  ·  '.join(filter(None, (ends[0], unit, ends[1])))} →"
    return {
        "title": wrapped(direction, int(0.7 * width)),
        "axis": {"orient": "top", **signed_axis(3 if is_narrow(width) else 7, digits)},
        # Nice ends are ticks: no mark stands outside of them.
        "scale": {"domain": [-reach, reach], "nice": True},
    }


def cobias(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """The COBIAS of statements, on an axis as long as they need.

    table: text, cobias, cobias_low, cobias_high (NaN without an interval), in display order.
    """

    def axis(frame: pd.DataFrame, width: int) -> Spec:
        ends = frame[["value", "low", "high"]].to_numpy()
        first = max(0.0, np.floor(10 * np.nanmin(ends) - 1e-9) / 10)
        last = min(1.0, np.ceil(10 * np.nanmax(ends) + 1e-9) / 10)
        return {
            "title": wrapped("← less reliable  ·  COBIAS  ·  more →", int(0.6 * width)),
            "axis": {
                "orient": "top",
                "format": ".1f",
                "tickMinStep": 0.1,
                "tickCount": 5,
            },
            "scale": {
                "domain": [first, last],
                "clamp": True,
                "nice": False,
                "zero": False,
            },
        }

    names = {"cobias": "value", "cobias_low": "low", "cobias_high": "high"}
    frame = table[["text", *names]].rename(columns=names).assign(ink=BIAS)
    frame = described(
        frame.assign(label=distinct(table["text"], 90)), "{label} COBIAS {value:.3f}"
    )
    return points(frame, axis=axis, row=21, room=320, width=width)


# --- One model: its groups, single answers, distributions, and a lean against a factor ------------


def shares(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    faint: bool = False,
    width: int = WIDE,
) -> Spec:
    """One stacked bar per group: the share of each category.

    table: group, category, share, clear, about; a group whose lean is not clear has a grey name.
    faint: as for `points`.
    """
    names = labelled(categories, 24)
    labels = labelled(table["group"], 40)
    frame = table.assign(
        part=table["category"].map(names),
        order=table["category"].map({c: i for i, c in enumerate(categories)}),
        label=table["group"].map(labels),
    )
    axis = {
        "orient": "top",
        "values": [0, 0.25, 0.5, 0.75, 1],
        "labelExpr": "format(100 * datum.value, '.0f') + ' %'",
    }
    bars = marks(
        "bar",
        frame,
        look={
            "height": 14,
            "stroke": PAGE,
            "strokeWidth": 0.8,
            "opacity": 0.35 if faint else 1.0,
        },
        x=q("share", stack="zero", title=None, axis=axis, scale={"domain": [0, 1]}),
        y=group_axis(labels.values(), width, grey=frame["label"][~frame["clear"]]),
        color=n(
            "part",
            legend={"columns": 2 if is_narrow(width) else 5},
            scale={"domain": [*names.values()], "range": category_colours(len(names))},
        ),
        order=q("order"),
        description=ABOUT,
    )
    return fitted(bars, width, GROUP_ROW * len(labels))


def group_axis(
    labels: Iterable[str],
    width: int,
    *,
    grey: Iterable[str] = (),
    extent: int | None = None,
    room: int = 170,
) -> Spec:
    """The names of the groups down the left side, in order, some of them grey, at most `room`
    pixels wide on a page; `extent` pixels where views below each other must begin alike."""
    axis: dict[str, Any] = {"labelLimit": room if width >= WIDE else 0.34 * width}
    if extent is not None:
        axis = {"labelLimit": extent - 8, "minExtent": extent, "maxExtent": extent}
    if pale := list(dict.fromkeys(grey)):
        test = f"indexof({json.dumps(pale)}, datum.value) >= 0"
        axis["labelColor"] = {"condition": {"test": test, "value": MARK}, "value": INK}
    return n("label", sort=[*labels], title=None, axis=axis)


#: Groups that have room for a number in each cell, on a page and on a phone.
MOST_GROUPS, MOST_ON_A_PHONE = 12, 5


def answers(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    colours: Sequence[str] | None = None,
    width: int = WIDE,
) -> Spec:
    """One cell per group and context: the favoured category, how strongly, and a number.

    table: group, template, leans (a category), strength (0 to 1), p (in the cell as per cent) or
    text (as it stands), in the display order of groups and contexts; a missing cell has no row. A
    phone has room for the first MOST_ON_A_PHONE groups.
    """
    narrow = is_narrow(width)
    groups = list(dict.fromkeys(table["group"]))[
        : MOST_ON_A_PHONE if narrow else MOST_GROUPS
    ]
    frame = table[table["group"].isin(groups)].reset_index(drop=True)
    columns, parts = labelled(groups, 16), labelled(categories, 30)
    contexts = labelled(frame["template"], 22 if narrow else 42)
    if "text" not in frame:
        frame = frame.assign(text=(100 * frame["p"]).map("{:.0f}".format))
    frame = frame.assign(
        context=frame["template"].map(contexts),
        column=frame["group"].map(columns),
        leans=frame["leans"].map(parts),
        said=[brief(template, 60) for template in frame["template"]],
        opacity=0.12 + 0.88 * frame["strength"].clip(0, 1),
        ink=np.where(frame["strength"] > 0.6, PAGE, INK),
    )
    axis = {"orient": "top", "labelAngle": -45, "labelAlign": "left", "labelLimit": 110}
    x = n("column", sort=[*columns.values()], title=None, axis={**axis, "grid": False})
    y = n(
        "context",
        sort=[*contexts.values()],
        title=None,
        axis={"labelLimit": 0.42 * width},
    )
    range_of = list(colours or category_colours(len(categories)))
    colour = n(
        "leans",
        legend={"orient": "bottom", "offset": 8},
        scale={"domain": [*parts.values()], "range": range_of},
    )
    chart = layers(
        marks("rect", look={"stroke": PAGE, "strokeWidth": 2}, color=colour,
              opacity=q("opacity", scale=None, legend=None), description=ABOUT),
        marks("text", look={"fontSize": 11}, text=n("text"), color=as_is("ink")),
        data=described(frame, "{column}, {said}: {leans} {text}"),
        x=x,
        y=y,
    )  # fmt: skip
    return fitted(chart, width, 26 * len(contexts))


def density(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    category: str,
    means: pd.DataFrame,
    width: int = WIDE,
) -> Spec:
    """How the stereotype s is distributed over contexts, its mean and the reference marked.

    table: curve (name), s, density. means: curve, mean. The first curve is filled (all groups);
    the others are lines. The distance of a mean from 0 is the lean; the width is the swing.
    """
    narrow, name = is_narrow(width), brief(category, 24)
    direction = f"← less {name} than the reference  ·  more {name} →"
    if len(categories) == 2:
        other = brief(next(c for c in categories if c != category), 24)
        direction = f"← leans to {other}  ·  0 as the reference  ·  leans to {name} →"
    names = labelled(table["curve"], 30)
    frame = table.assign(curve=table["curve"].map(names))
    lines = described(
        means.assign(curve=means["curve"].map(names)), "{curve}: mean {mean:+.3f}"
    )
    lines["text"] = [f"mean {m:+.2f}".replace("-", "−") for m in lines["mean"]]
    palette = [MARK, *model_colours(5)]  # of groups: no colour of a category
    legend = {"columns": 2 if narrow else 4} if len(names) > 1 else None
    colour = n(
        "curve", legend=legend, scale={"domain": [*names.values()], "range": palette}
    )
    low, high = min(float(frame["s"].min()), -0.02), max(float(frame["s"].max()), 0.02)
    pad = 0.03 * (high - low)
    x = channel(wrapped(direction, width), [low - pad, high + pad], **signed_axis())
    # Room above the curves for the words beside the vertical lines.
    top = 1.22 * float(frame["density"].max())
    y = {"title": None, "axis": None, "scale": {"domain": [0, top]}}
    first = frame[frame["curve"] == next(iter(names.values()))]
    reference = pd.DataFrame({"s": [0], "text": ["reference"]})
    right = (
        float(lines["mean"].iloc[0]) >= 0
    )  # the words stand outside of the two lines
    at = {"x": q("s", **x), "y": q("density", **y), "color": colour}
    parts = [
        marks("area", first, look={"opacity": 0.28}, **at),
        marks("line", frame, look={"strokeWidth": 2}, **at),
        marks("rule", reference, look={"color": INK, "strokeDash": [3, 3]}, x=at["x"]),
        marks("text", reference, look={**_beside(right=not right), "color": SOFT, "fontSize": 11},
              x=at["x"], y={"value": 0}, text=n("text")),
        marks("rule", lines, look={"strokeWidth": 2}, x=q("mean", **x), color=colour,
              description=ABOUT),
        marks("text", lines.head(1), look={**_beside(right=right), "color": INK},
              x=q("mean", **x), y={"value": 0}, text=n("text")),
    ]  # fmt: skip
    return fitted({"layer": parts}, width, 150 if narrow else 190)


def _beside(*, right: bool) -> Spec:
    """The position of a word at the top of a vertical line."""
    return {
        "align": "left" if right else "right",
        "dx": 5 if right else -5,
        "baseline": "top",
    }


def regression(
    table: pd.DataFrame,
    line: pd.DataFrame,
    *,
    factor: str,
    measure: str = "discrimination risk r of a group (0 to 1)",
    size: str | None = None,
    width: int = WIDE,
) -> Spec:
    """A number of each group against a social factor: one point per group, the fitted line and its
    interval band; the highest and the lowest group are named.

    table: group, x, y and optionally size (employment). line: x, y, low, high.
    """
    narrow = is_narrow(width)
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True)
    frame = frame.assign(label=[brief(g, 26) for g in frame["group"]])
    sized = size is not None and "size" in frame
    frame["about"] = [
        f"{r['label']}: {factor} {r['x']:,.4g}, {measure} {r['y']:.3f}"
        + (f", {size} {r['size']:,.0f}" if sized else "")
        for r in frame.to_dict("records")
    ]
    room = 0.04 * float(np.ptp(frame["x"])) or 1.0
    ends = [float(frame["x"].min()) - room, float(frame["x"].max()) + room]
    title = wrapped(f"{factor} → higher", width)
    x = channel(title, ends, tickCount=4 if narrow else 6, format="~s")
    top = 1.1 * max(float(frame["y"].max()), 1e-3)
    low = 1.1 * min(float(frame["y"].min()), 0.0)  # a lean has a sign, a risk has none
    y = channel(
        f"{measure} ↑ higher", [low, top], **above(tickCount=4, format=".2~f", **_GRID)
    )
    sizes = {}
    if sized:
        legend = {"title": size, "titleOrient": "left", "offset": OVER_TITLE,
                  "symbolType": "circle", "tickCount": 3, "format": ",.0f"}  # fmt: skip
        scale = {
            "domain": [0, float(frame["size"].max())],
            "range": [12, 520 if narrow else 900],
        }
        sizes = {"size": q("size", legend=legend, scale=scale)}
    named = frame.loc[list(dict.fromkeys([frame["y"].idxmax(), frame["y"].idxmin()]))]
    named = named.assign(side=np.where(named["x"] < sum(ends) / 2, "left", "right"))
    point = {"opacity": 0.55, "color": BIAS, "stroke": PAGE, "strokeWidth": 0.8}
    at = {"x": q("x", **x), "y": q("y", **y)}
    parts = [
        marks("area", line, look={"opacity": 0.16, "color": INK, "clip": True}, x=at["x"],
              y=q("low", **y), y2={"field": "high"}),
        marks("circle", frame, look=point, **at, **sizes, description=ABOUT),
        marks("line", line, look={"color": INK, "strokeWidth": 2, "clip": True}, **at),
        *(
            marks("text", part, look={"align": side, "dy": -13, "fontSize": 11, "color": INK},
                  **at, text=n("label"))
            for side, part in named.groupby("side")
        ),
    ]  # fmt: skip
    return fitted({"layer": parts}, width, 230 if narrow else 300)


# --- Several models side by side ------------------------------------------------------------------

_TITLES = {name: RISKS[name].title for name in MEASURES}
_PANELS = HEADINGS | _TITLES
_INKS = {"R": INK, "R_bias": BIAS, "R_volatility": VOLATILITY}


def risks(
    table: pd.DataFrame, *, about: Sequence[str] = ("", "", ""), width: int = WIDE
) -> Spec:
    """R, bias and volatility risk of each model: `points` of a table with one row per model.

    table: name, then R, R_bias, R_volatility, each also with _low and _high (may be missing) and
    _chance_low and _chance_high (a grey band behind the dot), and optionally pale. about: what each
    of the three is.
    """
    rows = []
    for row in table.to_dict("records"):
        for measure, title in _TITLES.items():
            ends = {
                end: row.get(f"{measure}_{end}") for end in _ENDS if "range" not in end
            }
            text = f"{row[measure]:.3f}{_span(ends['low'], ends['high'])}"
            named = {
                "name": row["name"],
                "panel": title,
                "pale": row.get("pale") is True,
            }
            rows.append({**named, "value": row[measure], **ends, "text": text})
    each = zip(_TITLES.values(), about, _INKS.values(), strict=True)
    panels = [Panel(title, words, ink) for title, words, ink in each]
    return points(pd.DataFrame(rows), panels=panels, width=width)


def differences(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Paired differences, a panel for each risk; right of zero the first model has the higher one.

    table: pair, measure (R, R_bias, R_volatility), value, low, high. An interval that holds zero
    has a ring instead of a dot.
    """
    frame = table.astype({"low": float, "high": float}).rename(columns={"pair": "name"})
    frame = frame.sort_values(
        "measure", key=lambda m: m.map([*_PANELS].index), kind="stable"
    )
    spans = [
        _span(low, high, "+.3f") for low, high in frame[["low", "high"]].to_numpy()
    ]
    frame = frame.assign(
        clear=(frame["low"] > 0) | (frame["high"] < 0) | frame["low"].isna(),
        panel=frame["measure"].map(_PANELS),
        ink=INK,
        text=frame["value"].map("{:+.3f}".format) + spans,
    )
    axis = partial(
        away_axis, ends=("the first is lower", "the first is higher"), digits=".2~f"
    )
    return points(frame, axis=axis, row=GROUP_ROW, width=width)


def _span(low: object, high: object, form: str = ".3f") -> str:
    if low is None or high is None or pd.isna(low) or pd.isna(high):  # type: ignore[call-overload]
        return ""
    return f" ({low:{form}} to {high:{form}})"


def arrows(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """One row per fix and one panel per part: an arrow from before (a ring) to after.

    table: fix, part, from, to, to_low, to_high (NaN without an interval), clear and control (yes or
    no; a control is drawn pale), in display order. A change that is not clear is grey.
    """
    inks = {"lean": BIAS, "swing": VOLATILITY, "dice": INK}
    frame = floats(table, "to_low", "to_high")
    frame = frame.assign(
        label=frame["fix"].map(labelled(frame["fix"], 40)),
        panel=frame["part"],
        seen=np.where(frame["control"].eq("yes"), 0.45, 1.0),
        shape=np.where(frame["to"] < frame["from"], "triangle-left", "triangle-right"),
        ink=frame["part"].map(inks).where(frame["clear"].eq("yes"), MARK),
        span=[
            _span(low, high, ".2f")
            for low, high in frame[["to_low", "to_high"]].to_numpy()
        ],
    )
    frame = described(frame, "{fix}: {part} {from:.2f} to {to:.2f}{span}")

    def draw(_: Panel, part: pd.DataFrame) -> list[Spec]:
        end = float(part[["from", "to", "to_high"]].max().max() or 1.0)
        scale = {"domain": [0, 1.05 * end], "nice": True, "clamp": True}
        axis = {"orient": "top", "tickCount": 4, "format": ".3~r"}
        x = {"title": None, "scale": scale, "axis": axis}
        ink, seen = as_is("ink"), {"opacity": q("seen", scale=None)}
        return [
            marks("bar", look={"height": 10, "color": LINE}, needs="to_low",
                  x=q("to_low", **x), x2={"field": "to_high"}),
            marks("rule", look={"strokeWidth": 2.2}, x=q("from", **x), x2={"field": "to"},
                  color=ink, **seen),
            marks("point", look={"size": 45, "fill": PAGE, "strokeWidth": 1.5}, x=q("from", **x),
                  stroke=ink, **seen),
            marks("point", look={"size": 90, "filled": True}, x=q("to", **x), color=ink,
                  shape=as_is("shape"), description=ABOUT, **seen),
        ]  # fmt: skip

    parts = [Panel(part, ink=inks[part]) for part in dict.fromkeys(frame["part"])]
    return _panels(frame, parts, draw, width)


def plane(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Models in the plane of bias risk and volatility risk; R is constant along the diagonals.

    table: name, R_bias, R_volatility; optionally their _low and _high. A key below the chart says
    whose the numbers are.
    """
    ends = [
        f"{name}_{end}"
        for name in ("R_bias", "R_volatility")
        for end in ("low", "high")
    ]
    frame = floats(table.reset_index(drop=True), *ends)
    frame = frame.assign(
        label=distinct(frame["name"], 28), ink=model_colours(len(frame))
    )
    frame = described(
        frame, "{label}: bias {R_bias:.3f}, volatility {R_volatility:.3f}"
    )
    right, top = (
        max(0.02, 1.2 * float(frame[[name, f"{name}_high"]].max().max()))
        for name in ("R_bias", "R_volatility")
    )
    title = wrapped("bias risk Rᵇ: steady lean → more", width)
    x = channel(title, [0, right], tickCount=5, format="~r")
    up = above(tickCount=4, format="~r", **_GRID)
    y = channel("volatility risk Rᵛ ↑ more swing", [0, top], **up)
    colour = as_is("ink")
    levels = np.arange(1, 6) * (right + top) / 6
    diagonals = pd.DataFrame(
        [(v, a, b) for v in levels.tolist() for a, b in ((v, 0.0), (0.0, v))],
        columns=["level", "R_bias", "R_volatility"],
    )
    at = {"x": q("R_bias", **x), "y": q("R_volatility", **y)}
    dotted = {
        "color": MARK,
        "strokeWidth": 1,
        "strokeDash": [2, 3],
        "clip": True,
        "opacity": 0.7,
    }
    parts = [
        marks("line", diagonals, look=dotted, **at, detail=n("level")),
        marks("rule", frame, look={"opacity": 0.45}, needs="R_bias_low", x=q("R_bias_low", **x),
              x2={"field": "R_bias_high"}, y=at["y"], color=colour),
        marks("rule", frame, look={"opacity": 0.45}, needs="R_volatility_low", x=at["x"],
              y=q("R_volatility_low", **y), y2={"field": "R_volatility_high"}, color=colour),
        *numbered_points(frame, width, **at, color=colour),
    ]  # fmt: skip
    return fitted({"layer": parts}, width, 240 if is_narrow(width) else 320)


def trend(table: pd.DataFrame, *, x_title: str, width: int = WIDE) -> Spec:
    """R, R^b and R^v against a size on a logarithmic axis.

    table: name, measure (R, R_bias, R_volatility), x, value, low, high, optionally series; models
    of one series are joined by a line. R has the number of its model, and a key the names.
    """
    narrow = is_narrow(width)
    part, series = table["measure"].map(_TITLES), table.get("series", "")
    frame = table.assign(
        part=part,
        label=[brief(name, 22) for name in table["name"]],
        line=part + (series if isinstance(series, str) else series.astype(str)),
    )
    frame = described(frame, "{label}: {part} {value:.3f}")
    drawn = {_TITLES[m]: ink for m, ink in _INKS.items() if m in set(frame["measure"])}
    colour = n(
        "part",
        legend={"offset": OVER_TITLE, "columns": 2 if narrow else 3},
        scale={"domain": [*drawn], "range": [*drawn.values()]},
    )
    ends = [float(frame["x"].min()) / 1.35, float(frame["x"].max()) * 1.35]
    title = wrapped(f"{x_title} (logarithmic) → larger", width)
    sizes = sorted(set(frame["x"]))
    x = channel(title, ends, values=sizes, format=".2~s", labelOverlap="greedy")
    x["scale"]["type"] = "log"
    room = 1.12 * max(0.01, float(frame[["value", "high"]].astype(float).max().max()))
    y = channel(
        "risk ↑ higher", [0, room], **above(tickCount=4, format=".2~f", **_GRID)
    )
    at = {"x": q("x", **x), "y": q("value", **y), "color": colour}
    parts = [
        marks("rule", frame, look={"strokeWidth": 2, "opacity": 0.5}, needs="low",
              **{**at, "y": q("low", **y)}, y2={"field": "high"}),
        marks("line", frame, look={"strokeWidth": 1.8}, **at, detail=n("line")),
        marks("circle", frame, look={"size": 70, "opacity": 1}, **at, description=ABOUT),
        *numbered_points(frame[frame["measure"] == "R"], width, **at),
    ]  # fmt: skip
    return fitted({"layer": parts}, width, 230 if narrow else 280)


def spread(
    table: pd.DataFrame,
    *,
    category: str,
    reference: tuple[float, str],
    width: int = WIDE,
) -> Spec:
    """The share of a category by group: one numbered dot per model.

    table: group, number (of the model), ink (its colour), share, about, in display order.
    reference: its share and its name.
    """
    labels = labelled(table["group"], 40)
    frame = table.assign(label=table["group"].map(labels))
    x = share_axis(
        frame, width, ends=(f"no {category}", f"all {category}"), middle=reference
    )
    ranges = (
        frame.groupby("label", sort=False)["share"].agg(["min", "max"]).reset_index()
    )
    dot = {"size": 200, "opacity": 1, "stroke": PAGE, "strokeWidth": 1.5}
    chart = layers(
        marks(
            "rule", ranges, look={"color": LINE}, x=q("min", **x), x2={"field": "max"}
        ),
        marks(
            "circle", look=dot, x=q("share", **x), color=as_is("ink"), description=ABOUT
        ),
        marks(
            "text",
            look={"color": PAGE, "fontSize": 10},
            x=q("share", **x),
            text=n("number"),
        ),
        data=frame,
        y=group_axis(labels.values(), width),
    )
    return fitted(chart, width, GROUP_ROW * len(labels))


# --- The COBIAS paper -----------------------------------------------------------------------------


def disagreements(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Figure 4: for each annotator a bar for each category, the items with that majority on which
    they differ from it.

    table: annotator, majority, disagreements.
    """
    said = "{annotator} differs from the majority {majority}: {disagreements} items"
    most = max(
        1.0, 1.1 * float(table["disagreements"].max())
    )  # room for the highest number
    axis = above(format="d", tickMinStep=1, **_GRID)
    y = q("disagreements", **channel("items on which they differ", [0, most], **axis))
    kinds = list(dict.fromkeys(table["majority"]))
    colour = n(
        "majority",
        legend={"title": "majority", "offset": 34},
        scale={"domain": kinds, "range": category_colours(len(kinds))},
    )
    bars = marks("bar", y=y, color=colour, description=ABOUT)
    numbers = marks("text", look={"dy": -7}, y=y, text=q("disagreements"))
    x = n("annotator", title=None, axis={"labelAngle": 0, "grid": False})
    chart = layers(
        bars, numbers, data=described(table, said), x=x, xOffset=n("majority")
    )
    return fitted(chart, width, 260)


def growing_dissimilarity(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Figure 8: average pairwise dissimilarity of the first n versions, with its interval.

    table: n, dissimilarity, dissimilarity_low, dissimilarity_high.
    """
    axis = above(tickCount=5, format=".2~f", **_GRID)
    y = {
        "title": "average pairwise dissimilarity",
        "scale": {"zero": False},
        "axis": axis,
    }
    at, ends = q("dissimilarity", **y), {"field": "dissimilarity_high"}
    numbers = {"grid": False, "format": "d", "tickMinStep": 1}
    chart = layers(
        marks("area", look={"opacity": 0.25, "color": BIAS}, y=q("dissimilarity_low", **y),
              y2=ends),
        marks("line", look={"color": BIAS}, y=at),
        marks("circle", look={"color": BIAS, "size": 24, "opacity": 1}, y=at, description=ABOUT),
        data=described(table, "{n} versions: {dissimilarity:.3f}"),
        x=q("n", title="versions of each statement (n)", scale={"nice": False}, axis=numbers),
    )  # fmt: skip
    return fitted(chart, width, 260)
