"""Charts that set models side by side.

Numbers of models in panels, each a dot with its interval (R and its parts, Table 1 as a picture;
lean, swing and dice; knowledge), paired differences, groups on which models differ, the plane of
bias and volatility (Figures 6 to 8), and risks against size (Figure 7). Tables in, specifications
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.numbers import HEADINGS, TITLES
from clinometer.display.text import brief
from clinometer.report.charts.one_model import (
    GROUP_ROW,
    departures,
    group_axis,
    share_axis,
)
from clinometer.report.charts.style import (
    ABOUT,
    BIAS,
    INK,
    LINE,
    MARK,
    OVER_TITLE,
    PAGE,
    VOLATILITY,
    WIDE,
    Spec,
    above,
    as_is,
    distinct,
    fitted,
    gutter,
    is_narrow,
    layers,
    marks,
    model_colours,
    n,
    numbered_points,
    q,
    several_views,
    wrapped,
)

_ROW = 24
_TITLES = {**HEADINGS, **TITLES}
_ENDS = ("low", "high", "chance_low", "chance_high")


@dataclass(frozen=True)
class Panel:
    """One number of every model: its title, what it is, its colour, and where its axis ends; panels
    without an end share one."""

    name: str
    about: str = ""
    ink: str = INK
    end: float | None = None


def measures(table: pd.DataFrame, *, panels: Sequence[Panel], width: int = WIDE) -> Spec:
    """One row per model and one panel per number: a dot with its interval, from 0. Panels stand
    next to each other on a page, below each other on a phone.

    table: name, panel, value, low, high (NaN without an interval), text (beside the dot), and
    optionally clear (a ring where it is not), pale (True for rows that serve as a comparison), and
    chance_low, chance_high (a grey band behind the dot); models in the order of the first panel.
    """
    names = list(dict.fromkeys(table["name"]))
    labels = dict(zip(names, distinct(names, 40), strict=True))
    frame = table.assign(label=table["name"].map(labels), zero=0.0)
    for column in ("value", "low", "high", "chance_low", "chance_high"):
        frame[column] = frame[column].astype(float) if column in frame else float("nan")
    inks = {panel.name: panel.ink for panel in panels}
    frame["ink"] = frame["panel"].map(inks)
    clear = frame["clear"].astype(bool) if "clear" in frame else pd.Series(True, frame.index)
    frame["fill"] = frame["ink"].where(clear, PAGE)
    pale = frame["pale"].eq(True) if "pale" in frame else pd.Series(False, frame.index)
    frame["seen"] = np.where(pale, 0.4, 1.0)
    frame["end"] = frame[["value", "high"]].max(axis=1)
    frame["about"] = [f"{r['label']}: {r['panel']} {r['text']}" for r in frame.to_dict("records")]
    shared = float(frame[["end", "chance_high"]].max(axis=1).max() or 1.0)
    left, across = gutter(labels.values(), width), 1 if is_narrow(width) else len(panels)
    plot = (width - left - 26 * (across - 1) - 16) / across
    views = []
    for i, panel in enumerate(panels):
        part = frame[frame["panel"] == panel.name]
        scale = {"domain": [0, 1.02 * (panel.end or shared)], "nice": True}
        axis = {"orient": "top", "tickCount": 3 if across > 1 else 5, "format": "~g"}
        x = {"title": None, "scale": scale, "axis": axis}
        y = group_axis(list(labels.values()), left - 8, extent=left)
        if i and across > 1:
            y = {**y, "axis": {"labels": False, "minExtent": 0}}
        dim = {"opacity": q("seen", scale=None)}
        point = {"size": 80, "strokeWidth": 1.5}
        chart = layers(
            marks("bar", look={"height": 16, "color": LINE}, needs="chance_low",
                  x=q("chance_low", **x), x2={"field": "chance_high"}),
            marks("bar", look={"height": 6, "cornerRadius": 3, "opacity": 0.4}, needs="low",
                  x=q("low", **x), x2={"field": "high"}, color=as_is("ink")),
            marks("point", look=point, x=q("value", **x), fill=as_is("fill"), stroke=as_is("ink"),
                  description=ABOUT, **dim),
            data=part,
            y=y,
        )  # fmt: skip
        about = wrapped(panel.about, int(plot)) if panel.about else []
        title = {
            "text": panel.name,
            "subtitle": about,
            "fontSize": 13,
            "color": panel.ink,
            "offset": 6,
            "frame": "group",
        }
        views.append({**chart, "title": title, "width": plot, "height": _ROW * len(names)})
    return several_views(views, width, beside=True, spacing=26)


def risks(table: pd.DataFrame, *, about: Sequence[str] = ("", "", ""), width: int = WIDE) -> Spec:
    """R, bias and volatility risk of each model: `measures` of a table with one row per model.

    table: name, then R, R_bias, R_volatility, each also with _low and _high (may be missing) and
    _chance_low and _chance_high (a grey band behind the dot), and optionally pale. about: what each
    of the three is.
    """
    rows: list[dict[str, Any]] = []
    for row in table.to_dict("records"):
        for measure, title in TITLES.items():
            ends = {
                e: row.get(f"{measure}_{e}") for e in ("low", "high", "chance_low", "chance_high")
            }
            text = f"{row[measure]:.3f}{_span(ends['low'], ends['high'])}"
            rows.append(
                {"name": row["name"], "panel": title, "value": row[measure], **ends, "text": text,
                 "pale": row.get("pale") is True}
            )  # fmt: skip
    each = zip(TITLES.values(), about, (INK, BIAS, VOLATILITY), strict=True)
    panels = [Panel(title, words, ink) for title, words, ink in each]
    return measures(pd.DataFrame(rows), panels=panels, width=width)


def differences(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Paired differences, a panel for each risk; right of zero the first model has the higher one.

    table: pair, measure (R, R_bias, R_volatility), value, low, high. An interval that holds zero
    has a ring instead of a dot.
    """
    frame = table.astype({"low": float, "high": float})
    clear = (frame["low"] > 0) | (frame["high"] < 0) | frame["low"].isna()
    ends = ("the first is lower", "the first is higher")
    frame = pd.DataFrame(
        {
            "group": frame["pair"],
            "share": frame["value"],
            "mean_low": frame["low"],
            "mean_high": frame["high"],
            "clear": clear,
            "favoured": ends[1],
            "panel": frame["measure"].map(_TITLES),
            "about": [
                f"{brief(r['pair'], 60)}: {_TITLES[r['measure']]} {r['value']:+.3f}"
                f"{_span(r['low'], r['high'], '+.3f')}"
                for r in frame.to_dict("records")
            ],
        }
    )
    order = {title: i for i, title in enumerate(_TITLES.values())}
    frame = frame.sort_values("panel", key=lambda p: p.map(order), kind="stable")
    return departures(frame, colours=(INK, INK), ends=ends, unit="", digits=".2~f", width=width)


def _span(low: object, high: object, form: str = ".3f") -> str:
    if low is None or high is None or pd.isna(low) or pd.isna(high):  # type: ignore[call-overload]
        return ""
    return f" ({low:{form}} to {high:{form}})"


def arrows(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """One row per fix and one panel per part: an arrow from before (a ring) to after.

    table: fix, part, from, to, to_low, to_high (NaN without an interval), clear and control (yes or
    no; a control is drawn pale), in display order. A change that is not clear is grey.
    """
    names = list(dict.fromkeys(table["fix"]))
    labels = dict(zip(names, distinct(names, 40), strict=True))
    frame = table.astype({"to_low": float, "to_high": float})
    frame = frame.assign(label=table["fix"].map(labels))
    frame["about"] = [
        f"{r['fix']}: {r['part']} {r['from']:.1f} to {r['to']:.1f}"
        f"{_span(r['to_low'], r['to_high'], '.1f')}"
        for r in frame.to_dict("records")
    ]
    frame["seen"] = np.where(frame["control"].eq("yes"), 0.45, 1.0)
    frame["shape"] = np.where(frame["to"] < frame["from"], "triangle-left", "triangle-right")
    inks = {"lean": BIAS, "swing": VOLATILITY, "dice": INK}
    parts = list(dict.fromkeys(frame["part"]))
    left, across = gutter(labels.values(), width), 1 if is_narrow(width) else len(parts)
    plot = (width - left - 26 * (across - 1) - 16) / across
    views = []
    for i, part in enumerate(parts):
        rows = frame[frame["part"] == part]
        rows = rows.assign(ink=np.where(rows["clear"].eq("yes"), inks[part], MARK))
        end = float(rows[["from", "to", "to_high"]].max().max() or 1.0)
        scale = {"domain": [0, 1.05 * end], "nice": True, "clamp": True}
        x = {"title": None, "scale": scale}
        x["axis"] = {"orient": "top", "tickCount": 4, "format": ".3~g"}
        y = group_axis(list(labels.values()), left - 8, extent=left)
        if i and across > 1:
            y = {**y, "axis": {"labels": False, "minExtent": 0}}
        ink, seen = as_is("ink"), {"opacity": q("seen", scale=None)}
        view = layers(
            marks("bar", look={"height": 10, "color": LINE}, needs="to_low",
                  x=q("to_low", **x), x2={"field": "to_high"}),
            marks("rule", look={"strokeWidth": 2.2}, x=q("from", **x), x2={"field": "to"},
                  color=ink, **seen),
            marks("point", look={"size": 45, "fill": PAGE, "strokeWidth": 1.5}, x=q("from", **x),
                  stroke=ink, **seen),
            marks("point", look={"size": 90, "filled": True}, x=q("to", **x), color=ink,
                  shape=as_is("shape"), description=ABOUT, **seen),
            data=rows,
            y=y,
        )  # fmt: skip
        title = {"text": part, "fontSize": 13, "color": inks[part], "offset": 6, "frame": "group"}
        views.append({**view, "title": title, "width": plot, "height": _ROW * len(names)})
    return several_views(views, width, beside=True, spacing=26)


def plane(table: pd.DataFrame, *, width: int = WIDE) -> Spec:
    """Models in the plane of bias risk and volatility risk; R is constant along the diagonals.

    table: name, R_bias, R_volatility; optionally their _low and _high. A key below the chart says
    whose the numbers are.
    """
    frame = table.reset_index(drop=True).copy()
    frame["label"] = distinct(frame["name"], 28)
    for column in ("R_bias_low", "R_bias_high", "R_volatility_low", "R_volatility_high"):
        frame[column] = frame[column].astype(float) if column in frame else float("nan")
    frame["about"] = [
        f"{r['label']}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for r in frame.to_dict("records")
    ]
    right, top = (
        max(0.02, 1.2 * float(frame[[name, f"{name}_high"]].max().max()))
        for name in ("R_bias", "R_volatility")
    )
    x = {
        "title": wrapped("bias risk Rᵇ: steady lean → more", width),
        "scale": {"domain": [0, right], "nice": False},
        "axis": {"tickCount": 5, "format": "~g"},
    }
    y = {
        "title": "volatility risk Rᵛ ↑ more swing",
        "scale": {"domain": [0, top], "nice": False},
        "axis": above(grid=True, gridColor=LINE, tickCount=4, format="~g"),
    }
    frame["ink"] = model_colours(len(frame))
    colour = as_is("ink")
    levels = np.arange(1, 6) * (right + top) / 6
    diagonals = pd.DataFrame(
        [(v, a, b) for v in levels.tolist() for a, b in ((v, 0.0), (0.0, v))],
        columns=["level", "R_bias", "R_volatility"],
    )
    at = {"x": q("R_bias", **x), "y": q("R_volatility", **y)}
    dotted = {"color": MARK, "strokeWidth": 1, "strokeDash": [2, 3], "clip": True, "opacity": 0.7}
    parts = [
        marks("line", diagonals, look=dotted, **at, detail=n("level")),
        marks("rule", frame, look={"opacity": 0.45}, needs="R_bias_low", x=q("R_bias_low", **x),
              x2={"field": "R_bias_high"}, y=at["y"], color=colour),
        marks("rule", frame, look={"opacity": 0.45}, needs="R_volatility_low", x=at["x"],
              y=q("R_volatility_low", **y), y2={"field": "R_volatility_high"}, color=colour),
        *numbered_points(frame, width, **at, color=colour),
    ]  # fmt: skip
    return fitted({"layer": parts}, width, 240 if is_narrow(width) else 320)


_COLOURS = {"R": INK, "R_bias": BIAS, "R_volatility": VOLATILITY}


def trend(table: pd.DataFrame, *, x_title: str, width: int = WIDE) -> Spec:
    """R, R^b and R^v against a size on a logarithmic axis.

    table: name, measure (R, R_bias, R_volatility), x, value, low, high, optionally series; models
    of one series are joined by a line. R has the number of its model, and a key the names.
    """
    narrow = is_narrow(width)
    frame = table.reset_index(drop=True).copy()
    frame["part"] = frame["measure"].map(TITLES)
    frame["label"] = [brief(name, 22) for name in frame["name"]]
    frame["series"] = frame.get("series", "")
    frame["line"] = frame["part"] + frame["series"].astype(str)
    frame["about"] = [
        f"{r['label']}: {r['part']} {r['value']:.3f}" for r in frame.to_dict("records")
    ]
    drawn = {TITLES[m]: ink for m, ink in _COLOURS.items() if m in set(frame["measure"])}
    colour = n(
        "part",
        legend={"offset": OVER_TITLE, "columns": 2 if narrow else 3},
        scale={"domain": list(drawn), "range": list(drawn.values())},
    )
    ends = [float(frame["x"].min()) / 1.35, float(frame["x"].max()) * 1.35]
    x = {
        "title": wrapped(f"{x_title} (logarithmic) → larger", width),
        "scale": {"type": "log", "domain": ends, "nice": False},
        "axis": {"values": sorted(set(frame["x"])), "format": ".2~s", "labelOverlap": "greedy"},
    }
    room = 1.12 * max(0.01, float(frame[["value", "high"]].astype(float).max().max()))
    y = {
        "title": "risk ↑ higher",
        "scale": {"domain": [0, room], "nice": False},
        "axis": above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"),
    }
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
    table: pd.DataFrame, *, category: str, reference: tuple[float, str], width: int = WIDE
) -> Spec:
    """The share of a category by group: one numbered dot per model.

    table: group, number (of the model), ink (its colour), share, about, in display order.
    reference: its share and its name.
    """
    groups = list(dict.fromkeys(table["group"]))
    labels = dict(zip(groups, distinct(groups, 40), strict=True))
    frame = table.assign(label=table["group"].map(labels))
    ends = (f"no {category}", f"all {category}")
    axis = share_axis(ends, reference, width=width)
    x = {"title": None, "axis": axis, "scale": {"domain": [0, 1]}}
    ranges = frame.groupby("label", sort=False)["share"].agg(["min", "max"]).reset_index()
    dot = {"size": 200, "opacity": 1, "stroke": PAGE, "strokeWidth": 1.5}
    chart = layers(
        marks("rule", ranges, look={"color": LINE}, x=q("min", **x), x2={"field": "max"}),
        marks("circle", look=dot, x=q("share", **x), color=as_is("ink"), description=ABOUT),
        marks("text", look={"color": PAGE, "fontSize": 10}, x=q("share", **x), text=n("number")),
        data=frame,
        y=group_axis(list(labels.values()), 170 if width >= WIDE else 0.34 * width),
    )
    return fitted(chart, width, GROUP_ROW * len(groups))
