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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.display.text import brief, visible
from clinometer.extras import require
from clinometer.statistics.arrays import FloatArray

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


# --- Label placement: a position next to each point, none over another label or point ------------


Box = tuple[float, float, float, float]

_SWEEPS = 4
_HALF_LINE = 7.0  # a line of 12 pixels and its air
_GAPS = (7.0, 11.0, 15.0, 20.0, 27.0, 38.0, 50.0)  # from the edge of a point to its label
_JOINED = 10.0  # a gap from which on a line joins the two
_NEAR = 70.0  # between points that are neighbours
_ANGLES = np.arange(24) * (np.pi / 12)

#: Penalties of a position, in pixels of distance. From _CROSSES on it is not clear.
_COVERS, _CROSSES, _OVER_LINE = 1e4, 150.0, 0.5


@dataclass(frozen=True)
class LabelPosition:
    """The start, middle or end of a label (depending on `align`), and its line, if any.

    clear: it covers nothing, its line crosses nothing, and few lines run through it.
    """

    at: tuple[float, float]
    align: str
    box: Box
    join: Box | None
    clear: bool


def place_labels(
    dots: FloatArray,
    radii: FloatArray,
    which: Sequence[int],
    widths: FloatArray,
    *,
    plot: tuple[float, float],
    lines: FloatArray,
) -> list[LabelPosition]:
    """A position for the label of each of the dots [n, 2] in `which`, `widths` wide.

    plot: its width and height. lines [m, 4]: x, y, x, y of lines that a label should not cover.
    """
    options = [
        _options(dots, radii, i, width, plot=plot, lines=lines)
        for i, width in zip(which, widths, strict=True)
    ]
    neighbours = [(np.hypot(*(dots - dots[i]).T) < _NEAR).sum() for i in which]
    loneliest_first = np.argsort(neighbours, kind="stable")
    chosen: dict[int, int] = {}
    costs: dict[int, float] = {}
    for _ in range(_SWEEPS):
        before = dict(chosen)
        for i in loneliest_first.tolist():
            others = [(options[j], k) for j, k in chosen.items() if j != i]
            cost = options[i].beside(others)
            chosen[i] = int(cost.argmin())
            costs[i] = float(cost.min())
        if chosen == before:
            break
    return [o.place(chosen[i], clear=costs[i] < _CROSSES) for i, o in enumerate(options)]


@dataclass(frozen=True)
class _Options:
    """The k candidate positions of one label: boxes, joining lines, and their own cost."""

    boxes: FloatArray
    joins: FloatArray
    joined: NDArray[np.bool_]
    cost: FloatArray
    sides: NDArray[np.int64]

    def beside(self, others: Sequence[tuple[_Options, int]]) -> FloatArray:
        """The cost of each position, given those of the other labels."""
        boxes = np.array([o.boxes[k] for o, k in others]).reshape(-1, 4)
        joins = np.array([o.joins[k] for o, k in others if o.joined[k]]).reshape(-1, 4)
        covered = _overlap(self.boxes, boxes).sum(axis=1)
        crossed = (_inside(joins, self.boxes) > 0).sum(axis=0)
        crossed += self.joined * (_inside(self.joins, boxes) > 0).sum(axis=1)
        crossed += self.joined * _crossing(self.joins, joins).sum(axis=1)
        return np.asarray(self.cost + _COVERS * covered + _CROSSES * crossed)

    def place(self, k: int, *, clear: bool) -> LabelPosition:
        left, top, right, bottom = (float(v) for v in self.boxes[k])
        side = int(self.sides[k])
        x = {1: left, 0: (left + right) / 2, -1: right}[side]
        align = {1: "left", 0: "center", -1: "right"}[side]
        a, b, c, d = (float(v) for v in self.joins[k])
        join = (a, b, c, d) if self.joined[k] else None
        return LabelPosition(
            (x, (top + bottom) / 2), align, (left, top, right, bottom), join, clear
        )


def _options(
    dots: FloatArray,
    radii: FloatArray,
    i: int,
    width: float,
    *,
    plot: tuple[float, float],
    lines: FloatArray,
) -> _Options:
    angle, gap = (a.ravel() for a in np.meshgrid(_ANGLES, _GAPS))
    way = np.stack([np.cos(angle), -np.sin(angle)], axis=1)
    sides = np.where(way[:, 0] > 0.3, 1, np.where(way[:, 0] < -0.3, -1, 0))
    # The edge of the name, not its middle, lies `gap` from the edge of the point.
    reach = radii[i] + gap
    x = dots[i, 0] + reach * way[:, 0]
    y = dots[i, 1] + (reach + np.where(sides == 0, _HALF_LINE - 2, 0)) * way[:, 1]
    left = np.where(sides == 1, x, np.where(sides == -1, x - width, x - width / 2))
    boxes = np.stack([left, y - _HALF_LINE, left + width, y + _HALF_LINE], axis=1)
    joins = np.concatenate([dots[i] + radii[i] * way, np.stack([x, y], axis=1)], axis=1)
    outside = (boxes[:, :2] < 0).any(axis=1) | (boxes[:, 2:] > np.asarray(plot)).any(axis=1)
    joined = gap > _JOINED
    marks = np.concatenate([dots - radii[:, None], dots + radii[:, None]], axis=1)
    elsewhere = np.hypot(*(dots - dots[i]).T) > 1  # a point under this one is not in the way
    away = _away(dots, i)
    cost = (
        gap
        + _COVERS * (outside + _overlap(boxes, marks).sum(axis=1))
        + _OVER_LINE * _inside(lines, boxes).sum(axis=0)
        + joined * _CROSSES * (_inside(joins, marks[elsewhere]) > 0).sum(axis=1)
        + 5 * (1 - way @ away)
    )
    return _Options(boxes, joins, joined, cost, sides)


def _away(dots: FloatArray, i: int) -> FloatArray:
    """The direction away from the neighbours; up and right where there are none."""
    apart = dots[i] - dots
    distance = np.hypot(*apart.T)
    near = (distance > 1) & (distance < _NEAR)
    push = np.array([0.01, -0.01]) + (apart[near] / distance[near, None] ** 2).sum(axis=0)
    return np.asarray(push / np.hypot(*push), dtype=np.float64)


def _overlap(a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
    """[k, n]: which boxes share any area."""
    first, second = a[:, None], b[None]
    return np.asarray(
        (
            np.maximum(first[..., :2], second[..., :2])
            < np.minimum(first[..., 2:], second[..., 2:])
        ).all(axis=2)
    )


def _inside(lines: FloatArray, boxes: FloatArray) -> FloatArray:
    """[m, k]: how much of each of m lines lies in each of k boxes, in pixels."""
    start, step = lines[:, None, :2], (lines[:, 2:] - lines[:, :2])[:, None]
    step = np.where(np.abs(step) < 1e-9, 1e-9, step)
    ends = np.stack([(boxes[None, :, :2] - start) / step, (boxes[None, :, 2:] - start) / step])
    enter, leave = ends.min(axis=0).max(axis=2), ends.max(axis=0).min(axis=2)
    share = np.clip(leave, 0, 1) - np.clip(enter, 0, 1)
    return np.asarray(np.maximum(share, 0) * np.hypot(step[..., 0], step[..., 1]))


def _crossing(a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
    """[k, m]: which lines cross. Those from one point do not."""

    def side(p: FloatArray, q: FloatArray, r: FloatArray) -> FloatArray:
        u, v = q - p, r - p
        return np.asarray(np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]))

    p, q, r, s = a[:, None, :2], a[:, None, 2:], b[None, :, :2], b[None, :, 2:]
    return np.asarray((side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0))


# --- Names next to points: each near its own, none over another name or point --------------------


_SAME = 3.0  # pixels: points nearer than this share a number


@dataclass(frozen=True)
class Plot:
    """The ranges of a plot's axes, and its inner size in pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: float
    height: float
    log_x: bool = False

    def pixels(self, x: Any, y: Any) -> FloatArray:
        """[n, 2], counted from the upper left corner."""
        across, ends = np.asarray(x, dtype=float), np.asarray(self.x, dtype=float)
        if self.log_x:
            across, ends = np.log(across), np.log(ends)
        right = (across - ends[0]) / (ends[1] - ends[0]) * self.width
        down = (self.y[1] - np.asarray(y, dtype=float)) / (self.y[1] - self.y[0]) * self.height
        return np.stack([right, down], axis=-1)

    def values(self, pixels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """x and y of positions given in pixels."""
        ends = np.log(self.x) if self.log_x else np.asarray(self.x, dtype=float)
        x = ends[0] + pixels[..., 0] / self.width * (ends[1] - ends[0])
        y = self.y[1] - pixels[..., 1] / self.height * (self.y[1] - self.y[0])
        return (np.exp(x) if self.log_x else x), y


def name_points(
    points: pd.DataFrame,
    plot: Plot,
    *,
    others: pd.DataFrame | None = None,
    lines: Sequence[tuple[float, float, float, float]] = (),
    size: int = 12,
) -> list[Any]:
    """Layers that name points.

    points: x, y, label, radius (pixels). others: points without a name, which are not covered
    either. lines: x, y, x, y of lines that should not cross a name.
    """
    named = points.reset_index(drop=True)
    dots = named if others is None else pd.concat([named, others], ignore_index=True)
    at, radii = plot.pixels(dots["x"], dots["y"]), dots["radius"].to_numpy(dtype=float)
    ends = np.asarray(lines, dtype=float).reshape(-1, 4)
    ends = ends[~np.isnan(ends).any(axis=1)]
    ends = np.hstack([plot.pixels(ends[:, 0], ends[:, 1]), plot.pixels(ends[:, 2], ends[:, 3])])

    def placed(texts: Sequence[str], which: Sequence[int]) -> list[LabelPosition]:
        widths = np.array([text_width(t, size) for t in texts])
        within = (plot.width, plot.height)
        return place_labels(at, radii, which, widths, plot=within, lines=ends)

    names = list(named["label"])
    places = placed(names, range(len(names)))
    if all(place.clear for place in places):
        return _written(names, places, plot, size)
    which, numbers = _numbers(at[: len(names)])
    return [
        *_written(numbers, placed(numbers, which), plot, size),
        _key([f"{i + 1}\u2002{name}" for i, name in enumerate(names)], plot),
    ]


def paths(
    frame: pd.DataFrame, x: str, y: str, *, by: str, order: str
) -> list[tuple[float, float, float, float]]:
    """The lines that a chart draws through the points of each series, piece by piece."""
    out = []
    for _, part in frame.groupby(by, sort=False):
        steps = part.sort_values(order)[[x, y]].to_numpy(dtype=float)
        out += [(*a, *b) for a, b in pairwise(steps)]
    return out


def _numbers(at: FloatArray) -> tuple[list[int], list[str]]:
    """One label for all points at a position: the first of them, and the numbers of all."""
    shared: dict[int, list[int]] = {}
    for i, here in enumerate(at):
        same = [k for k in shared if np.hypot(*(at[k] - here)) < _SAME]
        shared.setdefault(same[0] if same else i, []).append(i + 1)
    return list(shared), [spans(numbers) for numbers in shared.values()]


def spans(numbers: Sequence[int]) -> str:
    """Increasing numbers in short form.

    >>> spans([1, 3, 4, 5, 9, 10])
    '1, 3–5, 9, 10'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


def _written(
    texts: Sequence[str], places: Sequence[LabelPosition], plot: Plot, size: int
) -> list[Any]:
    """The texts at their positions, and the lines that join them to their points."""
    alt = altair()
    joins = np.array([p.join for p in places if p.join]).reshape(-1, 4)
    ends = [*plot.values(joins[:, :2]), *plot.values(joins[:, 2:])]
    layers = [
        alt.Chart(rows(pd.DataFrame(dict(zip(("x", "y", "x2", "y2"), ends, strict=True)))))
        .mark_rule(color=MARK, strokeWidth=0.8)
        .encode(x="x:Q", y="y:Q", x2="x2:Q", y2="y2:Q")
    ]
    x, y = plot.values(np.array([p.at for p in places]).reshape(-1, 2))
    frame = pd.DataFrame({"x": x, "y": y, "text": texts, "align": [p.align for p in places]})
    for align, part in frame.groupby("align", sort=False):
        base = alt.Chart(rows(part)).encode(x="x:Q", y="y:Q", text="text:N")
        inset = {"left": 2, "center": 0, "right": -2}[str(align)]
        style = {"align": align, "baseline": "middle", "fontSize": size, "dx": inset}
        # The colour of the page around each letter, so that no line runs through a name.
        halo = base.mark_text(**style, color=PAGE, stroke=PAGE, strokeWidth=2.5, strokeJoin="round")
        layers += [halo, base.mark_text(**style, color=INK)]
    return layers


def _key(entries: Sequence[str], plot: Plot) -> Any:
    """A legend of the numbers."""
    alt = altair()
    widest = max(text_width(entry) for entry in entries)
    legend = alt.Legend(
        orient="bottom",
        columns=max(1, int(plot.width / (widest + 16))),
        symbolSize=0,
        symbolOffset=-8,
        labelOffset=0,
        labelLimit=plot.width,
    )
    shape = alt.Shape("entry:N", legend=legend).scale(domain=list(entries), range=["circle"])
    frame = pd.DataFrame({"entry": list(entries)})
    return alt.Chart(rows(frame)).mark_point(opacity=0, size=0).encode(shape=shape)


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
