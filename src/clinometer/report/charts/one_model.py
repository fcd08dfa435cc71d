"""Charts of one model: its groups, single answers, distributions, and a lean against a factor.

Groups as dots (shares, or distances from what all groups get) or as stacked shares, statements by
their stability, single answers (Figure 11), the stereotype over contexts (Figure 3), and a number
of each group against a social factor (Figures 9, 12 to 15). Tables in, specifications out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import brief
from clinometer.report.charts.style import (
    ABOUT,
    BIAS,
    INK,
    LINE,
    MARK,
    OVER_TITLE,
    PAGE,
    SOFT,
    WIDE,
    Spec,
    above,
    as_is,
    category_colours,
    distinct,
    fitted,
    gutter,
    is_narrow,
    layers,
    marks,
    model_colours,
    n,
    q,
    several_views,
    signed_axis,
    wrapped,
)

#: Height of a row of a group, in pixels.
GROUP_ROW = 19


def share_axis(
    ends: tuple[str, str],
    middle: tuple[float, str],
    *,
    colours: tuple[str, str] = (SOFT, SOFT),
    width: int = WIDE,
) -> Spec:
    """An axis of shares along the top: a tick at every quarter, with what 0, the reference
    (`middle`) and 1 mean in words. A reference between two ticks has a line only."""
    at, name = middle
    first, last = (brief(end, 18) for end in ends)
    half = f"{name} · 50 %" if at == 0.5 else "50 %"
    texts = [f"0 % · {first}", "25 %", half, "75 %", f"{last} · 100 %", ""]
    if is_narrow(width):
        texts = [first, "", "50 %", "", last, ""]
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0, at]

    def at_ends(first: object, last: object, otherwise: object) -> Spec:
        tests = (("datum.value === 0", first), ("datum.value === 1", last))
        return {"condition": [{"test": t, "value": v} for t, v in tests], "value": otherwise}

    reference = f"datum.value === {json.dumps(at)}"
    labels = ",".join(map(json.dumps, texts))
    return {
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


def leans(
    table: pd.DataFrame,
    *,
    categories: tuple[str, str],
    colours: tuple[str, str] | None = None,
    reference: tuple[float, str] = (0.5, "even"),
    faint: bool = False,
    width: int = WIDE,
) -> Spec:
    """One row per group: a dot at its mean share of the second category, thick the interval of
    that mean, thin the range of its contexts.

    table: group, share, low, high, mean_low and mean_high (NaN without an interval), favoured (a
    category), clear, about, in display order. A group whose lean is not clear is a grey ring.
    colours: of the categories. reference: its share and its name. faint: as a background, because
    the words carry hardly any probability.
    """
    two = colours or (category_colours(2)[0], category_colours(2)[1])
    axis = share_axis(
        (f"all {categories[0]}", f"all {categories[1]}"), reference, colours=two, width=width
    )
    x = {"title": None, "axis": axis, "scale": {"domain": [0, 1], "clamp": True}}
    ink_of = dict(zip(categories, two, strict=True))
    dots = _dots(table, ink_of, x, faint=faint, limit=170 if width >= WIDE else 0.34 * width)
    return fitted(dots, width, GROUP_ROW * len(table))


def departures(
    table: pd.DataFrame,
    *,
    colours: tuple[str, str],
    ends: tuple[str, str],
    unit: str,
    faint: bool = False,
    digits: str = "~g",
    width: int = WIDE,
) -> Spec:
    """How far each group is above or below what all groups get in the same context, in panels
    below each other on one axis.

    table: as for `leans`, with share, mean_low and mean_high as distances, favoured one of `ends`,
    and panel (its name), the panels one after the other. ends: what left and right of zero mean.
    """
    reach = float(np.nanmax(table[["share", "mean_low", "mean_high"]].abs().to_numpy(float)) or 1.0)
    left = gutter(distinct(table["group"], 30), width)
    plot = width - left - 20
    parts = (ends[0], unit, ends[1]) if unit else ends
    direction = wrapped(f"← {'  ·  '.join(parts)} →", plot)
    ink_of = dict(zip(ends, colours, strict=True))
    axis = {"orient": "top", **signed_axis(3 if is_narrow(width) else 7, digits)}
    # Nice ends are ticks: no mark stands outside of them.
    x: Spec = {"title": direction, "axis": axis, "scale": {"domain": [-reach, reach], "nice": True}}
    views = []
    for i, (name, part) in enumerate(table.groupby("panel", sort=False)):
        if i:
            x = {**x, "title": None}
        view = _dots(part, ink_of, x, faint=faint, limit=left - 8, extent=left)
        title = {"title": {"text": brief(name, 60), "fontSize": 12, "offset": 2}} if name else {}
        views.append({**view, **title, "width": plot, "height": GROUP_ROW * len(part)})
    return several_views(views, width)


def cobias(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """One row per statement: a dot at its COBIAS, a thick line for its interval; the axis is as
    long as they need.

    table: text, cobias, cobias_low, cobias_high (NaN without an interval), in display order.
    """
    names = {"text": "group", "cobias": "share"}
    names |= {"cobias_low": "mean_low", "cobias_high": "mean_high"}
    frame = table[list(names)].rename(columns=names).assign(favoured="", clear=True)
    frame["about"] = [
        f"{brief(text, 90)} COBIAS {value:.3f}"
        for text, value in zip(frame["group"], frame["share"], strict=True)
    ]
    ends = frame[["mean_low", "mean_high", "share"]].to_numpy(dtype=float)
    first = max(0.0, np.floor(10 * np.nanmin(ends) - 1e-9) / 10)
    last = min(1.0, np.ceil(10 * np.nanmax(ends) + 1e-9) / 10)
    title = wrapped("← less reliable  ·  COBIAS  ·  more →", int(0.6 * width))
    axis = {"orient": "top", "format": ".1f", "tickMinStep": 0.1, "tickCount": 5}
    scale = {"domain": [first, last], "clamp": True, "nice": False, "zero": False}
    x = {"title": title, "axis": axis, "scale": scale}
    limit = 320 if width >= WIDE else 0.34 * width
    return fitted(_dots(frame, {"": BIAS}, x, limit=limit, length=90), width, 21 * len(frame))


def _dots(
    table: pd.DataFrame,
    ink_of: dict[str, str],
    x: Spec,
    *,
    faint: bool = False,
    limit: float,
    extent: int | None = None,
    length: int = 40,
) -> Spec:
    """Hairline, interval and dot of each group; `x` is the axis of all of them."""
    frame = table.reset_index(drop=True).assign(label=distinct(table["group"], length))
    clear = frame["clear"].astype(bool)
    frame["ink"] = [ink_of[f] if c else MARK for f, c in zip(frame["favoured"], clear, strict=True)]
    frame["fill"] = frame["ink"].where(clear, PAGE)
    frame = frame.astype({"mean_low": float, "mean_high": float})
    seen = 0.35 if faint else 1.0
    thick = {"height": 6, "cornerRadius": 3, "opacity": 0.45 * seen}
    point = {"size": 80, "strokeWidth": 1.5, "opacity": seen}
    parts = [
        marks("bar", look=thick, needs="mean_low", x=q("mean_low", **x), x2={"field": "mean_high"},
              color=as_is("ink")),
        marks("point", look=point, x=q("share", **x), fill=as_is("fill"), stroke=as_is("ink"),
              description=ABOUT),
    ]  # fmt: skip
    if "low" in frame:
        thin = {"strokeWidth": 1, "opacity": 0.5 * seen}
        parts.insert(
            0,
            marks("rule", look=thin, x=q("low", **x), x2={"field": "high"}, color=as_is("ink")),
        )
    return layers(*parts, data=frame, y=group_axis(list(frame["label"]), limit, extent=extent))


def shares(
    table: pd.DataFrame, *, categories: tuple[str, ...], faint: bool = False, width: int = WIDE
) -> Spec:
    """One stacked bar per group: the share of each category.

    table: group, category, share, clear, about; a group whose lean is not clear has a grey name.
    faint: as for `leans`.
    """
    names = distinct(categories, 24)
    frame = table.assign(
        part=table["category"].map(dict(zip(categories, names, strict=True))),
        order=table["category"].map({c: i for i, c in enumerate(categories)}),
    )
    groups = list(dict.fromkeys(table["group"]))
    labels = dict(zip(groups, distinct(groups, 40), strict=True))
    frame["label"] = frame["group"].map(labels)
    grey = list(dict.fromkeys(frame["label"][~frame["clear"]]))
    axis = {
        "orient": "top",
        "values": [0, 0.25, 0.5, 0.75, 1],
        "labelExpr": "format(100 * datum.value, '.0f') + ' %'",
    }
    look = {"height": 14, "stroke": PAGE, "strokeWidth": 0.8, "opacity": 0.35 if faint else 1.0}
    bars = marks(
        "bar",
        frame,
        look=look,
        x=q("share", stack="zero", title=None, axis=axis, scale={"domain": [0, 1]}),
        y=group_axis(list(labels.values()), 170 if width >= WIDE else 0.34 * width, grey=grey),
        color=n(
            "part",
            legend={"columns": 2 if is_narrow(width) else 5},
            scale={"domain": names, "range": category_colours(len(names))},
        ),
        order=q("order"),
        description=ABOUT,
    )
    return fitted(bars, width, GROUP_ROW * len(labels))


def group_axis(
    labels: Sequence[str], limit: float, *, grey: Sequence[str] = (), extent: int | None = None
) -> Spec:
    """The names of the groups down the left side, in order, some of them grey; `extent` pixels
    wide where views below each other must begin alike."""
    axis: dict[str, Any] = {"labelLimit": limit}
    if extent is not None:
        axis |= {"minExtent": extent, "maxExtent": extent}
    if grey:
        test = f"indexof({json.dumps(list(grey))}, datum.value) >= 0"
        axis["labelColor"] = {"condition": {"test": test, "value": MARK}, "value": INK}
    return n("label", sort=list(labels), title=None, axis=axis)


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
    groups = list(dict.fromkeys(table["group"]))
    groups = groups[: MOST_ON_A_PHONE if narrow else MOST_GROUPS]
    frame = table[table["group"].isin(groups)].reset_index(drop=True).copy()
    contexts = list(dict.fromkeys(frame["template"]))
    names = dict(zip(contexts, distinct(contexts, 22 if narrow else 42), strict=True))
    frame["context"] = frame["template"].map(names)
    columns = dict(zip(groups, distinct(groups, 16), strict=True))
    frame["column"] = frame["group"].map(columns)
    parts = dict(zip(categories, distinct(categories, 30), strict=True))
    frame["leans"] = frame["leans"].map(parts)
    if "text" not in frame:
        frame["text"] = (100 * frame["p"]).map("{:.0f}".format)
    frame["opacity"] = 0.12 + 0.88 * frame["strength"].clip(0, 1)
    frame["ink"] = [PAGE if s > 0.6 else INK for s in frame["strength"]]
    frame["about"] = [
        f"{r['column']}, {brief(r['template'], 60)}: {r['leans']} {r['text']}"
        for r in frame.to_dict("records")
    ]
    x = n(
        "column",
        sort=list(columns.values()),
        title=None,
        axis={"orient": "top", "labelAngle": -45, "labelAlign": "left", "labelLimit": 110,
              "grid": False},
    )  # fmt: skip
    y = n("context", sort=list(names.values()), title=None, axis={"labelLimit": 0.42 * width})
    colour = n(
        "leans",
        legend={"orient": "bottom", "offset": 8},
        scale={
            "domain": list(parts.values()),
            "range": list(colours or category_colours(len(categories))),
        },
    )
    chart = layers(
        marks("rect", look={"stroke": PAGE, "strokeWidth": 2}, color=colour,
              opacity=q("opacity", scale=None, legend=None), description=ABOUT),
        marks("text", look={"fontSize": 11}, text=n("text"), color=as_is("ink")),
        data=frame,
        x=x,
        y=y,
    )  # fmt: skip
    return fitted(chart, width, 26 * len(contexts))


def direction_axis(categories: tuple[str, ...], category: str, width: int) -> list[str]:
    """What left and right mean on an axis of s."""
    name = brief(category, 24)
    if len(categories) == 2:
        other = brief(next(c for c in categories if c != category), 24)
        text = f"← leans to {other}  ·  0 as the reference  ·  leans to {name} →"
    else:
        text = f"← less {name} than the reference  ·  more {name} →"
    return wrapped(text, width)


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
    narrow = is_narrow(width)
    curves = list(dict.fromkeys(table["curve"]))
    names = dict(zip(curves, distinct(curves, 30), strict=True))
    frame = table.assign(curve=table["curve"].map(names))
    lines = means.assign(curve=means["curve"].map(names))
    lines["text"] = [f"mean {m:+.2f}".replace("-", "−") for m in lines["mean"]]
    lines["about"] = [
        f"{c}: mean {m:+.3f}" for c, m in zip(lines["curve"], lines["mean"], strict=True)
    ]
    palette = [MARK, *model_colours(5)]  # of groups: no colour of a category
    legend = {"columns": 2 if narrow else 4} if len(curves) > 1 else None
    colour = n("curve", legend=legend, scale={"domain": list(names.values()), "range": palette})
    low, high = min(float(frame["s"].min()), -0.02), max(float(frame["s"].max()), 0.02)
    pad = 0.03 * (high - low)
    x = {
        "title": direction_axis(categories, category, width),
        "scale": {"domain": [low - pad, high + pad], "nice": False},
        "axis": signed_axis(),
    }
    # Room above the curves for the words beside the vertical lines.
    top = 1.22 * float(frame["density"].max())
    y = {"title": None, "axis": None, "scale": {"domain": [0, top]}}
    first = frame[frame["curve"] == names[curves[0]]]
    reference = pd.DataFrame({"s": [0], "text": ["reference"]})
    right = float(lines["mean"].iloc[0]) >= 0  # the words stand outside of the two lines
    parts = [
        marks("area", first, look={"opacity": 0.28}, x=q("s", **x), y=q("density", **y),
              color=colour),
        marks("line", frame, look={"strokeWidth": 2}, x=q("s", **x), y=q("density", **y),
              color=colour),
        marks("rule", reference, look={"color": INK, "strokeDash": [3, 3]}, x=q("s", **x)),
        marks("text", reference, look={**_beside(right=not right), "color": SOFT, "fontSize": 11},
              x=q("s", **x), y={"value": 0}, text=n("text")),
        marks("rule", lines, look={"strokeWidth": 2}, x=q("mean", **x), color=colour,
              description=ABOUT),
        marks("text", lines.head(1), look={**_beside(right=right), "color": INK},
              x=q("mean", **x), y={"value": 0}, text=n("text")),
    ]  # fmt: skip
    return fitted({"layer": parts}, width, 150 if narrow else 190)


def _beside(*, right: bool) -> Spec:
    """The position of a word at the top of a vertical line."""
    return {"align": "left" if right else "right", "dx": 5 if right else -5, "baseline": "top"}


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
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True).copy()
    frame["label"] = [brief(g, 26) for g in frame["group"]]
    sized = size is not None and "size" in frame
    frame["about"] = [
        f"{r['label']}: {factor} {r['x']:,.4g}, {measure} {r['y']:.3f}"
        + (f", {size} {r['size']:,.0f}" if sized else "")
        for r in frame.to_dict("records")
    ]
    room = 0.04 * float(np.ptp(frame["x"])) or 1.0
    ends = [float(frame["x"].min()) - room, float(frame["x"].max()) + room]
    x = {
        "title": wrapped(f"{factor} → higher", width),
        "scale": {"domain": ends, "nice": False},
        "axis": {"tickCount": 4 if narrow else 6, "format": "~s"},
    }
    top = 1.1 * max(float(frame["y"].max()), 1e-3)
    low = 1.1 * min(float(frame["y"].min()), 0.0)  # a lean has a sign, a risk has none
    y = {
        "title": f"{measure} ↑ higher",
        "scale": {"domain": [low, top], "nice": False},
        "axis": above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"),
    }
    sizes = {}
    if sized:
        legend = {"title": size, "titleOrient": "left", "offset": OVER_TITLE,
                  "symbolType": "circle", "tickCount": 3, "format": ",.0f"}  # fmt: skip
        scale = {"domain": [0, float(frame["size"].max())], "range": [12, 520 if narrow else 900]}
        sizes = {"size": q("size", legend=legend, scale=scale)}
    named = frame.loc[list(dict.fromkeys([frame["y"].idxmax(), frame["y"].idxmin()]))]
    named = named.assign(side=np.where(named["x"] < sum(ends) / 2, "left", "right"))
    point = {"opacity": 0.55, "color": BIAS, "stroke": PAGE, "strokeWidth": 0.8}
    parts = [
        marks("area", line, look={"opacity": 0.16, "color": INK, "clip": True}, x=q("x", **x),
              y=q("low", **y), y2={"field": "high"}),
        marks("circle", frame, look=point, x=q("x", **x), y=q("y", **y), **sizes,
              description=ABOUT),
        marks("line", line, look={"color": INK, "strokeWidth": 2, "clip": True}, x=q("x", **x),
              y=q("y", **y)),
        *(
            marks("text", part, look={"align": side, "dy": -13, "fontSize": 11, "color": INK},
                  x=q("x", **x), y=q("y", **y), text=n("label"))
            for side, part in named.groupby("side")
        ),
    ]  # fmt: skip
    return fitted({"layer": parts}, width, 230 if narrow else 300)
