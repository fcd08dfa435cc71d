"""Charts of one model: its groups, single answers, distributions, and risk against a factor.

Groups as dots or stacked shares, the map of every answer (Figure 11), the stereotype over contexts
(Figure 3), risks over groups (Figures 10, 16), coverage, convergence, and a risk against a
social factor (Figures 9, 12 to 15). Tables in, Altair charts out.
"""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.display.numbers import HEADINGS, MEASURES
from clinometer.display.text import brief
from clinometer.report.charts.style import (
    AXIS,
    BIAS,
    INK,
    LINE,
    MARK,
    OVER_TITLE,
    PAGE,
    SOFT,
    VOLATILITY,
    WIDE,
    above,
    altair,
    category_colours,
    distinct,
    finish,
    fitted,
    is_narrow,
    model_colours,
    rows,
    signed_axis,
    text_width,
    wrap_axis_title,
)

#: Height of a row of a group, in pixels.
GROUP_ROW = 19


def share_axis(
    ends: tuple[str, str],
    middle: tuple[float, str],
    *,
    colours: tuple[str, str] = (SOFT, SOFT),
    width: int = WIDE,
) -> Any:
    """An axis of shares along the top: a tick at every quarter, with what 0, the reference
    (`middle`) and 1 mean in words. A reference between two ticks has a line only."""
    at, name = middle
    first, last = (brief(end, 18) for end in ends)
    half = f"{name} · 50 %" if at == 0.5 else "50 %"
    texts = [f"0 % · {first}", "25 %", half, "75 %", f"{last} · 100 %", ""]
    if is_narrow(width):
        texts = [first, "", "50 %", "", last, ""]
    elif width < 0.9 * WIDE:  # the ends reach over the quarters
        texts[1] = texts[3] = ""
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0, at]

    def at_ends(first: object, last: object, otherwise: object) -> dict[str, Any]:
        tests = (("datum.value === 0", first), ("datum.value === 1", last))
        return {"condition": [{"test": t, "value": v} for t, v in tests], "value": otherwise}

    reference = f"datum.value === {json.dumps(at)}"
    return altair().Axis(
        orient="top",
        values=sorted(set(ticks)),
        labelExpr=f"[{','.join(map(json_text, texts))}][indexof({json.dumps(ticks)}, datum.value)]",
        labelAlign=at_ends("left", "right", "center"),
        labelColor=at_ends(colours[0], colours[1], SOFT),
        labelLimit=150,
        labelOverlap=False,
        gridColor={"condition": {"test": reference, "value": MARK}, "value": LINE},
        gridDash={"condition": {"test": reference, "value": [3, 3]}, "value": []},
    )


def percent_axis() -> Any:
    """Shares along the top: a tick at every quarter."""
    return altair().Axis(
        orient="top",
        values=[0, 0.25, 0.5, 0.75, 1],
        labelExpr="format(100 * datum.value, '.0f') + ' %'",
    )


def leans(
    table: pd.DataFrame,
    *,
    categories: tuple[str, str],
    colours: tuple[str, str] | None = None,
    reference: tuple[float, str] = (0.5, "even"),
    faint: bool = False,
    width: int = WIDE,
) -> Any:
    """One row per group: a dot at its mean share of the second category, thick the interval of
    that mean, thin the range of its contexts.

    table: group, share, low, high, mean_low and mean_high (NaN without an interval), favoured (a
    category), clear, about, in display order. A group whose lean is not clear is a grey ring.
    colours: of the categories. reference: its share and its name. faint: as a background, because
    the words carry hardly any probability.
    """
    alt = altair()
    first, second = colours or category_colours(2)
    two = (first, second)
    ink_of = dict(zip(categories, two, strict=True))
    ends = (f"all {categories[0]}", f"all {categories[1]}")
    x = alt.X("share:Q", title=None, axis=share_axis(ends, reference, colours=two, width=width))
    return fitted(
        _group_rows(table, ink_of, x.scale(domain=[0, 1], clamp=True), faint=faint, width=width),
        width,
        GROUP_ROW * len(table),
    )


def departures(
    table: pd.DataFrame,
    *,
    colours: tuple[str, str],
    ends: tuple[str, str],
    unit: str,
    faint: bool = False,
    width: int = WIDE,
) -> Any:
    """How far each group is above or below what all groups get in the same context, in panels.

    table: as for `leans`, with share, mean_low and mean_high as distances, favoured one of `ends`,
    and panel (its name), the panels one after the other. ends: what left and right of zero mean.
    """
    alt = altair()
    ink_of = dict(zip(ends, colours, strict=True))
    reach = 1.08 * float(table[["share", "mean_low", "mean_high"]].abs().max().max() or 1.0)
    names = list(dict.fromkeys(table["panel"]))
    beside = len(names) > 1 and width >= WIDE
    longest = min(170.0, 0.34 * width)
    gutters = [
        max(min(text_width(brief(g, 40)), longest) for g in part["group"])
        for _, part in table.groupby("panel", sort=False)
    ]
    if not beside:
        gutters = [max(gutters)]
    across = len(gutters)
    plot = (width - sum(gutters)) / across - 22
    parts = (ends[0], unit, ends[1]) if unit else ends
    direction = wrap_axis_title(f"← {'  ·  '.join(parts)} →", int(plot))
    panels = []
    for name in names:
        part = table[table["panel"] == name]
        axis = alt.Axis(
            orient="top",
            tickCount=5 if plot > 300 else 3,
            labelExpr="abs(datum.value) < 1e-9 ? '0' : format(datum.value, '+~g')",
            gridColor={"condition": {"test": "datum.value === 0", "value": MARK}, "value": LINE},
            gridDash={"condition": {"test": "datum.value === 0", "value": [3, 3]}, "value": []},
        )
        x = alt.X("share:Q", title=direction, axis=axis).scale(domain=[-reach, reach], nice=False)
        panels.append(
            _group_rows(part, ink_of, x, title=direction, faint=faint, width=width).properties(
                width=plot,
                height=GROUP_ROW * len(part),
                title=alt.TitleParams(name, fontSize=12, fontWeight="bold", offset=2),
            )
        )
    return finish((alt.hconcat if beside else alt.vconcat)(*panels, spacing=14))


def _group_rows(
    table: pd.DataFrame,
    ink_of: dict[str, str],
    x: Any,
    *,
    title: list[str] | None = None,
    faint: bool,
    width: int,
) -> Any:
    """Hairline, interval and dot of each group; `title` is that of x."""
    alt = altair()
    frame = table.reset_index(drop=True).assign(label=distinct(table["group"], 40))
    frame["ink"] = [
        ink_of[f] if clear else MARK
        for f, clear in zip(frame["favoured"], frame["clear"], strict=True)
    ]
    frame["fill"] = [
        ink if clear else PAGE for ink, clear in zip(frame["ink"], frame["clear"], strict=True)
    ]
    y = group_axis(list(frame["label"]), width)
    base = alt.Chart(rows(frame))
    ink = alt.Color("ink:N", scale=None)
    seen = 0.35 if faint else 1.0
    layers = [
        base.transform_filter("datum.mean_low !== null")
        .mark_bar(height=6, cornerRadius=3, opacity=0.45 * seen)
        .encode(x=alt.X("mean_low:Q", title=title), x2="mean_high:Q", y=y, color=ink),
        base.mark_point(size=80, strokeWidth=1.5, opacity=seen).encode(
            x=x, y=y, fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("ink:N", scale=None),
            description="about:N",
        ),
    ]  # fmt: skip
    if "low" in frame:
        thin = base.mark_rule(strokeWidth=1, opacity=0.5 * seen)
        layers.insert(0, thin.encode(x=alt.X("low:Q", title=None), x2="high:Q", y=y, color=ink))
    return alt.layer(*layers)


def shares(
    table: pd.DataFrame, *, categories: tuple[str, ...], faint: bool = False, width: int = WIDE
) -> Any:
    """One stacked bar per group: the share of each category.

    table: group, category, share, clear, about; a group whose lean is not clear has a grey name.
    faint: as for `leans`.
    """
    alt = altair()
    names = distinct(categories, 24)
    frame = table.assign(
        part=table["category"].map(dict(zip(categories, names, strict=True))),
        order=table["category"].map({c: i for i, c in enumerate(categories)}),
    )
    groups = list(dict.fromkeys(table["group"]))
    labels = dict(zip(groups, distinct(groups, 40), strict=True))
    frame["label"] = frame["group"].map(labels)
    grey = list(dict.fromkeys(frame["label"][~frame["clear"]]))
    colour = alt.Color("part:N", legend=alt.Legend(columns=2 if is_narrow(width) else 5))
    bars = (
        alt.Chart(rows(frame))
        .mark_bar(height=14, stroke=PAGE, strokeWidth=0.8, opacity=0.35 if faint else 1.0)
        .encode(
            x=alt.X("share:Q", stack="zero", title=None, axis=percent_axis()).scale(domain=[0, 1]),
            y=group_axis(list(labels.values()), width, grey=grey),
            color=colour.scale(domain=names, range=category_colours(len(names))),
            order="order:Q",
            description="about:N",
        )
    )
    return fitted(bars, width, GROUP_ROW * len(labels))


def group_axis(labels: Sequence[str], width: int, *, grey: Sequence[str] = ()) -> Any:
    """The names of the groups down the left side, in order, some of them grey."""
    axis: dict[str, Any] = {"labelLimit": 170 if width >= WIDE else 0.34 * width}
    if grey:
        test = f"indexof({json.dumps(list(grey))}, datum.value) >= 0"
        axis["labelColor"] = {"condition": {"test": test, "value": MARK}, "value": INK}
    return altair().Y("label:N", sort=list(labels), title=None).axis(**axis)


_TITLES = {"r_bias": "bias risk rᵇ of a group", "r_volatility": "volatility risk rᵛ of a group"}
_COLOURS = {"r_bias": BIAS, "r_volatility": VOLATILITY}


def shapes(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Histograms of r^b and r^v over groups with the fitted normal as a line.

    table: measure (r_bias, r_volatility), group, value. Bars above the line far to the right are a
    heavy tail; the highest group is named.
    """
    alt = altair()
    narrow = is_narrow(width)
    panels = []
    plot = width - 50 if narrow else (width - 100) / 2
    for measure, title in _TITLES.items():
        part = table[(table["measure"] == measure) & table["value"].notna()]
        values = part["value"].to_numpy(dtype=float)
        if values.size == 0:
            continue
        bars, curve = _histogram(values)
        x = alt.X(
            "left:Q", title=wrap_axis_title(f"{title} (0 none, more to the right)", int(plot))
        )
        x = x.scale(domain=[0, float(bars["right"].max())], nice=False).axis(
            tickCount=4, format=".2~f"
        )
        y = alt.Y("count:Q", title="groups" if measure == "r_bias" or narrow else None)
        y = y.axis(**above(tickMinStep=1, tickCount=4))
        layers = [
            alt.Chart(rows(bars))
            .mark_bar(color=_COLOURS[measure], opacity=0.85, stroke=PAGE, strokeWidth=1)
            .encode(x=x, x2="right:Q", y=y, y2="zero:Q", description="about:N")
        ]
        if not curve.empty:
            layers.append(
                alt.Chart(rows(curve))
                .mark_line(color=INK, strokeWidth=1.8, clip=True)
                .encode(x=alt.X("at:Q"), y="count:Q")
            )
        highest = part.loc[[part["value"].idxmax()]]
        label = highest.assign(
            text=[f"{brief(g, 22)} →" for g in highest["group"]], left=float(bars["right"].max())
        )
        layers.append(
            alt.Chart(rows(label[["left", "text"]]))
            .mark_text(align="right", dx=-2, dy=-10, color=SOFT, fontSize=11)
            .encode(x="left:Q", y=alt.datum(float(bars["count"].tail(6).max())), text="text:N")
        )
        panels.append(alt.layer(*layers).properties(width=plot, height=150))
    return finish(alt.vconcat(*panels, spacing=26) if narrow else alt.hconcat(*panels, spacing=30))


def coverage(table: pd.DataFrame, *, threshold: float, width: int = WIDE) -> Any:
    """How much probability the words carry, cell by cell, and the threshold for a flag.

    table: left, right (bounds of a bin, as coverage, equal steps of its logarithm), count.
    """
    alt = altair()
    frame = table.assign(zero=0)
    frame["flagged"] = np.where(
        frame["right"] <= threshold * 1.0001, "flagged: too little to trust", "kept"
    )
    frame["about"] = [
        f"{n:,.0f} cells with coverage {a:.2g} to {b:.2g}"
        for a, b, n in zip(frame["left"], frame["right"], frame["count"], strict=True)
    ]
    x = alt.X(
        "left:Q",
        title=wrap_axis_title(
            "coverage: probability that the slot holds any of the words (logarithmic; 1 = always)",
            width,
        ),
    )
    x = x.scale(type="log", domain=[float(frame["left"].min()), 1.0], nice=False).axis(
        values=[10.0**k for k in range(-12, 1)], format="~g"
    )
    y = alt.Y("count:Q", title="cells").axis(**above(tickCount=4, format=",.0f"))
    layers = [
        alt.Chart(rows(frame))
        .mark_bar(stroke=PAGE, strokeWidth=1)
        .encode(
            x=x,
            x2="right:Q",
            y=y,
            y2="zero:Q",
            color=alt.condition("datum.flagged == 'kept'", alt.value(MARK), alt.value(VOLATILITY)),
            description="about:N",
        )
    ]
    if threshold >= float(frame["left"].min()):
        line = rows(pd.DataFrame({"left": [threshold], "text": [f"flagged below {threshold:g}"]}))
        layers += [
            alt.Chart(line).mark_rule(color=INK, strokeDash=[3, 3]).encode(x="left:Q"),
            alt.Chart(line)
            .mark_text(align="left", dx=5, baseline="top", color=SOFT, fontSize=11)
            .encode(x="left:Q", y=alt.value(0), text="text:N"),
        ]
    return fitted(alt.layer(*layers), width, 150)


def convergence(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Risks against the number of contexts: the mean over random subsets, and their middle 90 %.

    table: measure (R, R_bias, R_volatility), n, value, low, high.
    """
    alt = altair()
    frame = table.assign(name=table["measure"].map(HEADINGS))
    frame["about"] = [
        f"{r['n']:.0f} contexts: {r['name']} {r['value']:.3f} ({r['low']:.3f} to {r['high']:.3f})"
        for _, r in frame.iterrows()
    ]
    last = frame[frame["n"] == frame["n"].max()].copy()
    last["text"] = [f"{n} {v:.3f}" for n, v in zip(last["name"], last["value"], strict=True)]
    last["at"] = _apart(last["value"].to_numpy(dtype=float), float(frame["high"].max()), 170)
    colour = alt.Color("name:N", legend=None).scale(
        domain=[HEADINGS[m] for m in MEASURES], range=[INK, BIAS, VOLATILITY]
    )
    x = alt.X("n:Q", title=wrap_axis_title("contexts asked (logarithmic)", width - 140))
    x = x.scale(type="log", nice=False).axis(
        values=_counts(frame["n"]), format="~s", labelFlush=False
    )
    y = (
        alt.Y("value:Q", title="risk")
        .scale(zero=True)
        .axis(**above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"))
    )
    base = alt.Chart(rows(frame))
    return fitted(
        alt.layer(
            base.mark_area(opacity=0.16).encode(
                x=x, y=alt.Y("low:Q", title="risk"), y2="high:Q", color=colour
            ),
            base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
            base.mark_circle(size=28, opacity=1).encode(
                x=x, y=y, color=colour, description="about:N"
            ),
            alt.Chart(rows(last))
            .mark_text(align="left", dx=8)
            .encode(x=x, y="at:Q", text="text:N", color=colour),
        ),
        width,
        170,
    )


def _histogram(values: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Bars, and the expected count of each under a normal with the same mean and deviation."""
    top = max(float(values.max()), 1e-6) * (1 + 1e-9)
    bins = int(np.clip(np.sqrt(values.size) * 1.6, 5, 24))
    count, edges = np.histogram(values, bins=bins, range=(0.0, top))
    bars = pd.DataFrame({"left": edges[:-1], "right": edges[1:], "count": count, "zero": 0})
    bars["about"] = [
        f"{c} groups from {a:.3f} to {b:.3f}"
        for a, b, c in zip(bars["left"], bars["right"], bars["count"], strict=True)
    ]
    sd = float(values.std())
    if sd <= 1e-12 or values.size < 8:
        return bars, pd.DataFrame()
    at = np.linspace(0, top, 81)
    z = (at - values.mean()) / sd
    height = values.size * (edges[1] - edges[0]) * np.exp(-z * z / 2) / (sd * np.sqrt(2 * np.pi))
    return bars, pd.DataFrame({"at": at, "count": height})


def _apart(values: np.ndarray, top: float, height: float, least: float = 15) -> list[float]:
    """Positions of labels at the ends of lines, pushed apart until they do not overlap."""
    step = top * least / height
    order = np.argsort(values)
    places = values.astype(float).copy()
    for lower, upper in pairwise(order):
        places[upper] = max(places[upper], places[lower] + step)
    return [float(p) for p in places]


def _counts(n: pd.Series) -> list[int]:
    low, high = int(n.min()), int(n.max())
    marks = [m * 10**k for k in range(7) for m in (1, 2, 5)]
    return [m for m in marks if low <= m <= high] or [low, high]


#: More groups than this have no room for a number in each cell.
MOST_GROUPS = 12


def answers(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    colours: Sequence[str] | None = None,
    width: int = WIDE,
) -> Any:
    """One cell per group and context: the favoured category, how strongly, and its probability.

    table: group, template, leans (a category), strength (0 to 1), p (in the cell as per cent), in
    the display order of groups and contexts; a missing cell has no row.
    """
    alt = altair()
    narrow = is_narrow(width)
    frame = table.reset_index(drop=True).copy()
    room = 18 if narrow else 40
    contexts = list(dict.fromkeys(frame["template"]))
    names = dict(zip(contexts, distinct(contexts, room), strict=True))
    frame["context"] = frame["template"].map(names)
    groups = list(dict.fromkeys(frame["group"]))
    columns = dict(zip(groups, distinct(groups, max(10, width // 25)), strict=True))
    frame["column"] = frame["group"].map(columns)
    parts = dict(zip(categories, distinct(categories, 30), strict=True))
    frame["leans"] = frame["leans"].map(parts)
    frame["text"] = (100 * frame["p"]).map("{:.0f}".format)
    frame["opacity"] = 0.12 + 0.88 * frame["strength"].clip(0, 1)
    frame["ink"] = [PAGE if s > 0.6 else INK for s in frame["strength"]]
    frame["about"] = [
        f"{r['column']}, {brief(r['template'], 60)}: {r['leans']} {r['p']:.3f}"
        for _, r in frame.iterrows()
    ]
    x = alt.X("column:N", sort=list(columns.values()), title=None)
    x = x.axis(orient="top", labelAngle=-30, labelAlign="left", grid=False, labelLimit=120)
    y = alt.Y("context:N", sort=list(names.values()), title=None).axis(labelLimit=room * 7)
    colour = alt.Color("leans:N", legend=alt.Legend(orient="bottom", offset=8)).scale(
        domain=list(parts.values()), range=list(colours or category_colours(len(categories)))
    )
    base = alt.Chart(rows(frame))
    layers = [
        base.mark_rect(stroke=PAGE, strokeWidth=2).encode(
            x=x,
            y=y,
            color=colour,
            opacity=alt.Opacity("opacity:Q", scale=None, legend=None),
            description="about:N",
        )
    ]
    if not narrow or len(groups) <= 4:
        layers.append(
            base.mark_text(fontSize=11).encode(
                x=x, y=y, text="text:N", color=alt.Color("ink:N", scale=None)
            )
        )
    left = 12 + int(6.6 * max(len(n) for n in names.values()))
    return finish(
        alt.layer(*layers).properties(width=max(120, width - left - 40), height=30 * len(contexts))
    )


def direction_axis(categories: tuple[str, ...], category: str, width: int) -> list[str]:
    """What left and right mean on an axis of s."""
    name = brief(category, 24)
    if len(categories) == 2:
        other = brief(next(c for c in categories if c != category), 24)
        text = f"← leans to {other}  ·  0 as the reference  ·  leans to {name} →"
    else:
        text = f"← less {name} than the reference  ·  more {name} →"
    return wrap_axis_title(text, width)


def density(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    category: str,
    means: pd.DataFrame,
    width: int = WIDE,
) -> Any:
    """How the stereotype s is distributed over contexts, its mean and the reference marked.

    table: curve (name), s, density. means: curve, mean. The first curve is filled (all groups);
    the others are lines. The distance of a mean from 0 is the lean; the width is the swing.
    """
    alt = altair()
    narrow = is_narrow(width)
    curves = list(dict.fromkeys(table["curve"]))
    names = dict(zip(curves, distinct(curves, 30), strict=True))
    frame = table.assign(curve=table["curve"].map(names))
    marks = means.assign(curve=means["curve"].map(names))
    marks["text"] = [f"mean {m:+.2f}".replace("-", "−") for m in marks["mean"]]
    marks["about"] = [
        f"{c}: mean {m:+.3f}" for c, m in zip(marks["curve"], marks["mean"], strict=True)
    ]
    palette = [MARK, *model_colours(5)]  # of groups: no colour of a category
    colour = alt.Color("curve:N", legend=alt.Legend(columns=2 if narrow else 4)).scale(
        domain=list(names.values()), range=palette
    )
    low, high = reach(frame["s"], symmetric=False)
    x = alt.X("s:Q", title=direction_axis(categories, category, width))
    x = x.scale(domain=[low, high], nice=False).axis(**signed_axis())
    # Room above the curves for the words beside the vertical lines.
    y = alt.Y("density:Q", title=None, axis=None).scale(
        domain=[0, 1.22 * float(frame["density"].max())]
    )
    single = len(curves) == 1
    # With a word at the mean too, the words stand outside the two lines, which may be close.
    mean_right = single and float(marks["mean"].iloc[0]) >= 0
    first = alt.Chart(rows(frame[frame["curve"] == names[curves[0]]]))
    layers = [
        first.mark_area(opacity=0.28).encode(x=x, y=y, color=colour),
        alt.Chart(rows(frame)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        alt.Chart(rows(pd.DataFrame({"s": [0]})))
        .mark_rule(color=INK, strokeDash=[3, 3])
        .encode(x="s:Q"),
        alt.Chart(rows(pd.DataFrame({"s": [0], "t": ["reference"]})))
        .mark_text(**_beside(right=not mean_right), color=SOFT, fontSize=11)
        .encode(x="s:Q", y=alt.value(0), text="t:N"),
        alt.Chart(rows(marks))
        .mark_rule(strokeWidth=2)
        .encode(x="mean:Q", color=colour, description="about:N"),
    ]
    if single:
        layers.append(
            alt.Chart(rows(marks))
            .mark_text(**_beside(right=mean_right), color=INK)
            .encode(x="mean:Q", y=alt.value(0), text="text:N")
        )
        layers = [
            layer.encode(color=alt.value(MARK)) if i < 2 else layer
            for i, layer in enumerate(layers)
        ]
        layers[4] = layers[4].encode(color=alt.value(INK))
    return fitted(alt.layer(*layers), width, 150 if narrow else 190)


def _beside(*, right: bool) -> dict[str, Any]:
    """The position of a word at the top of a vertical line."""
    return {"align": "left" if right else "right", "dx": 5 if right else -5, "baseline": "top"}


def reach(s: pd.Series, *, symmetric: bool) -> tuple[float, float]:
    low, high = float(s.min()), float(s.max())
    if symmetric:
        end = (
            min(1.0, 1.06 * max(abs(low), abs(high), 0.05))
            if max(abs(low), abs(high)) <= 1
            else 1.06 * max(abs(low), abs(high))
        )
        return -end, end
    low, high = min(low, -0.02), max(high, 0.02)
    pad = 0.03 * (high - low)
    return low - pad, high + pad


_STEPS = 15  # steps of strength per category; the palette of a PNG has 256 colours


def heat_map(
    strength: NDArray[np.float64],
    favoured: NDArray[np.int64],
    *,
    groups: list[str],
    contexts: list[str],
    categories: tuple[str, ...],
    colours: Sequence[str] | None = None,
    width: int = WIDE,
) -> Any:
    """Groups down, contexts across: the hue shows the favoured category, its depth how strongly.

    strength [X, C]: J(s) from 0 to 1, NaN where missing (left blank). favoured [X, C]: index of
    the favoured category. Rows and columns are drawn in the order given.
    """
    alt = altair()
    narrow = is_narrow(width)
    X, C = strength.shape
    palette = list(colours or category_colours(len(categories)))
    url = (
        "data:image/png;base64," + base64.b64encode(heat_png(strength, favoured, palette)).decode()
    )
    few_rows = X <= 40
    plot = width - (8 if not few_rows else (120 if narrow else 180))
    height = int(np.clip(X * (18 if few_rows else 4), 90, 480))
    frame = pd.DataFrame({"x": [0.0], "x2": [float(C)], "y": [0.0], "y2": [float(X)], "url": [url]})
    labels = distinct(groups, 26)
    axis = None
    if few_rows:
        pick = [f"{json_text(label)}" for label in labels]
        axis = alt.Axis(
            values=[i + 0.5 for i in range(X)],
            labelExpr=f"[{','.join(pick)}][floor(datum.value)]",
            labelLimit=110 if narrow else 170,
        )
    across = wrap_axis_title(_across(C, categories), width)
    legend = pd.DataFrame({"category": [f"favours {brief(c, 20)}" for c in categories]})
    image = (
        alt.Chart(rows(frame))
        .mark_image(
            aspect=False, smooth=plot < C, align="left", baseline="top", width=plot, height=height
        )
        .encode(
            x=alt.X("x:Q", title=across)
            .scale(domain=[0, C], nice=False)
            .axis(labels=False, grid=False),
            y=alt.Y("y:Q", title=None, axis=axis).scale(domain=[X, 0], nice=False),
            url="url:N",
        )
    )
    frame_line = (
        alt.Chart(rows(frame))
        .mark_rect(filled=False, stroke=LINE, strokeWidth=1)
        .encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q")
    )
    key = (
        alt.Chart(rows(legend))
        .mark_point(filled=True, opacity=0)
        .encode(
            color=alt.Color("category:N")
            .scale(domain=list(legend["category"]), range=palette)
            .legend(symbolOpacity=1, columns=2 if narrow else 5)
        )
    )
    return finish(alt.layer(image, frame_line, key).properties(width=plot, height=height))


def json_text(text: str) -> str:
    """Text as a string of the expression language: nothing in it can end the string."""
    return json.dumps(text, ensure_ascii=True)


def _across(C: int, categories: tuple[str, ...]) -> str:
    if C == 1:
        return "1 context"
    first = brief(categories[0], 20)
    two = len(categories) == 2
    other = f"to {brief(categories[1], 20)}" if two else f"away from {first}"
    return f"{C:,} contexts  ·  ← pull to {first}  ·  pull {other} →"


def heat_png(
    strength: NDArray[np.float64], favoured: NDArray[np.int64], colours: Sequence[str]
) -> bytes:
    """The cells as a PNG with one pixel per cell: colour from a palette, strength as opacity, so
    that zero is the colour of the page, light or dark."""
    steps = min(_STEPS * 2, 255 // max(len(colours), 1))
    palette, alpha = [b"\0\0\0"], [0]
    for colour in colours:
        rgb = bytes.fromhex(colour[1:])
        palette += [rgb] * steps
        alpha += [round(255 * (i + 1) / steps) for i in range(steps)]
    level = np.clip(np.nan_to_num(strength), 0, 1)
    depth = np.ceil(level * steps - 1e-9).astype(np.int64)  # any lean at all is at least step 1
    index = np.where(depth > 0, favoured * steps + depth, 0).astype(np.uint8)
    lines = np.concatenate([np.zeros((len(index), 1), np.uint8), index], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", index.shape[1], index.shape[0], 8, 3, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"PLTE", b"".join(palette))
        + _chunk(b"tRNS", bytes(alpha))
        + _chunk(b"IDAT", zlib.compress(lines, 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


_RADIUS = 4.0  # of a point without a size
_NAME_ROOM = 90  # pixels for a name


def regression(
    table: pd.DataFrame,
    line: pd.DataFrame,
    *,
    factor: str,
    measure: str = "discrimination risk r of a group (0 to 1)",
    size: str | None = None,
    width: int = WIDE,
) -> Any:
    """A risk against a social factor: one point per group, the fitted line and its interval band.

    table: group, x, y and optionally size (employment). line: x, y, low, high.
    """
    alt = altair()
    narrow = is_narrow(width)
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True).copy()
    frame["label"] = [brief(g, 26) for g in frame["group"]]
    sized = size is not None and "size" in frame
    frame["about"] = [
        f"{r['label']}: {factor} {r['x']:,.4g}, {measure} {r['y']:.3f}"
        + (f", {size} {r['size']:,.0f}" if sized else "")
        for _, r in frame.iterrows()
    ]
    ends = _ends(frame["x"])
    x = alt.X("x:Q", title=wrap_axis_title(f"{factor} → higher", width))
    x = x.scale(domain=ends, nice=False).axis(tickCount=4 if narrow else 6, format="~s")
    top = 1.06 * max(float(frame["y"].max()), 1e-3)
    low = 1.06 * min(float(frame["y"].min()), 0.0)  # a lean has a sign, a risk has none
    y = alt.Y("y:Q", title=f"{measure} ↑ higher").scale(domain=[low, top], nice=False)
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"))
    points = alt.Chart(rows(frame)).mark_circle(
        opacity=0.55, color=BIAS, stroke=PAGE, strokeWidth=0.8
    )
    points = points.encode(x=x, y=y, description="about:N")
    areas = [12, 520 if narrow else 900]
    if sized:
        legend = alt.Legend(
            title=size,
            titleOrient="left",
            offset=OVER_TITLE,
            symbolType="circle",
            values=_sizes(frame["size"]),
            format=",.0f",
        )
        points = points.encode(
            size=alt.Size("size:Q", legend=legend).scale(
                domain=[0, float(frame["size"].max())], range=areas
            )
        )
    height = 230 if narrow else 300
    per_pixel = ((ends[1] - ends[0]) / (width - AXIS), (top - low) / height)
    frame["radius"] = _radii(frame["size"], areas) if sized else _RADIUS
    names = _beside_points(frame.loc[_named(frame, per_pixel)], sum(ends) / 2, per_pixel[0])
    layers = [
        alt.Chart(rows(line))
        .mark_area(opacity=0.16, color=INK, clip=True)
        .encode(x="x:Q", y=alt.Y("low:Q", title=f"{measure} ↑ higher"), y2="high:Q"),
        points,
        alt.Chart(rows(line))
        .mark_line(color=INK, strokeWidth=2, clip=True)
        .encode(x="x:Q", y="y:Q"),
        *(
            alt.Chart(rows(part))
            .mark_text(align=align, fontSize=11, **look)
            .encode(x="x:Q", y="y:Q", text="label:N")
            for align, part in names.groupby("align")
            # The colour of the page around each letter, so that no line runs through a name.
            for look in ({"color": PAGE, "stroke": PAGE, "strokeWidth": 2.5}, {"color": INK})
        ),
    ]
    return fitted(alt.layer(*layers), width, height)


def _ends(x: pd.Series) -> tuple[float, float]:
    """The range of the axis: the values, and room for a point at either end."""
    low, high = float(x.min()), float(x.max())
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _radii(size: pd.Series, areas: Sequence[float]) -> pd.Series:
    """Radii in pixels, by the scale of sizes."""
    share = size.fillna(0) / float(size.max())
    return (areas[0] + share * (areas[1] - areas[0])).div(math.pi).pow(0.5) + 1


def _sizes(size: pd.Series) -> list[float]:
    top = float(size.max())
    return [v for v in (10, 100, 500, 1000, 5000, 10_000, 100_000, 1e6) if top / 30 <= v <= top][:3]


def _named(frame: pd.DataFrame, per_pixel: tuple[float, float]) -> list[int]:
    """The outermost points, which readers notice first; of two whose names would meet, one."""
    if frame.empty:
        return []
    picked = [frame["x"].idxmax(), frame["y"].idxmax(), frame["y"].idxmin(), frame["x"].idxmin()]
    if "size" in frame and frame["size"].notna().any():
        picked.append(frame["size"].idxmax())
    at = frame[["x", "y"]].to_numpy(dtype=float) / np.array(per_pixel)
    named: list[int] = []
    for point in (int(str(i)) for i in picked):
        apart = np.abs(at[named] - at[point])
        if not ((apart[:, 0] < 2 * _NAME_ROOM) & (apart[:, 1] < 14)).any():
            named.append(point)
    return named


def _beside_points(points: pd.DataFrame, middle: float, per_pixel: float) -> pd.DataFrame:
    """Where the names of points begin or end: on the side with more room."""
    right = points["x"] < middle
    step = (points["radius"] + 4) * per_pixel
    return points.assign(
        x=points["x"] + step.where(right, -step), align=np.where(right, "left", "right")
    )
