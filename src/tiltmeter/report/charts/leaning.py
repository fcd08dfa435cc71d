"""Which way and how far: leanings of groups (Figure 5), and the stereotype s (Figure 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.report.charts.theme import (
    INK,
    MARK,
    NARROW,
    PAGE,
    SOFT,
    WIDE,
    altair,
    brief,
    category_colours,
    distinct,
    finish,
    fitted,
    rows,
    signed_axis,
    wrap_axis_title,
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


def boxes(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    category: str | None = None,
    width: int = WIDE,
) -> Any:
    """Box plot over groups of the mean stereotype, one box a model (and a category if there are
    more than two), with every group as a point and the outermost two named.

    table: model, category, group, s (mean stereotype of the group towards the category, 0 is the
    reference). With two categories only `category` is drawn: the other is its mirror image.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    two = len(categories) == 2
    shown = category or categories[0]
    frame = table[table["category"] == shown].copy() if two else table.copy()
    models = list(dict.fromkeys(frame["model"]))
    names = dict(zip(models, distinct(models, 40), strict=True))
    frame["model"] = frame["model"].map(names)
    frame["category"] = [brief(c, 30) for c in frame["category"]]
    frame["row"] = frame["model"] if two else frame["category"]
    frame["label"] = [brief(g, 28) for g in frame["group"]]
    frame["about"] = [
        f"{label}: {s:+.3f} ({model})"
        for label, s, model in zip(frame["label"], frame["s"], frame["model"], strict=True)
    ]
    panels = []
    groups = [("", frame)] if two else [(m, frame[frame["model"] == m]) for m in names.values()]
    low, high = _reach(frame["s"], symmetric=two)
    colours = dict(
        zip((brief(c, 30) for c in categories), category_colours(len(categories)), strict=True)
    )
    for title, part in groups:
        order = list(dict.fromkeys(part["row"]))
        summary = _five(part)
        y = alt.Y("row:N", sort=order, title=None).axis(
            None if narrow else alt.Axis(labelLimit=170)
        )
        x = alt.X(
            "s:Q", title=direction_axis(categories, shown if two else "of the category", width)
        )
        x = x.scale(domain=[low, high]).axis(**signed_axis())
        if not two:
            x = x.title(wrap_axis_title("← less often than the reference  ·  more often →", width))
        zero = alt.Chart(rows(pd.DataFrame({"s": [0]}))).mark_rule(color=MARK, strokeDash=[3, 3])
        points = (
            alt.Chart(rows(part))
            .mark_circle(size=20, opacity=0.55, yOffset=14)
            .encode(x=x, y=y, description="about:N")
        )
        if two:
            side = alt.condition(
                "datum.s > 0",
                alt.value(category_colours(2)[categories.index(shown)]),
                alt.value(category_colours(2)[1 - categories.index(shown)]),
            )
            points = points.encode(color=side)
        else:
            points = points.encode(
                color=alt.Color("category:N", legend=None).scale(
                    domain=list(colours), range=list(colours.values())
                )
            )
        ends = _outermost(part, low, high)
        layers = [
            zero.encode(x="s:Q"),
            alt.Chart(rows(summary))
            .mark_rule(color=INK)
            .encode(x=alt.X("low:Q"), x2="high:Q", y=y),
            alt.Chart(rows(summary))
            .mark_bar(size=14, color=PAGE, stroke=INK, strokeWidth=1.2)
            .encode(x="q25:Q", x2="q75:Q", y=y),
            alt.Chart(rows(summary))
            .mark_tick(color=INK, thickness=2.5, size=14)
            .encode(x="median:Q", y=y, description="about:N"),
            points,
            *[
                alt.Chart(rows(ends[ends["align"] == align]))
                .mark_text(
                    align=align, dx=4 if align == "left" else -4, dy=28, fontSize=11, color=SOFT
                )
                .encode(x="s:Q", y=y, text="label:N")
                for align in ("left", "right")
            ],
        ]
        if narrow:
            layers.append(
                alt.Chart(rows(summary))
                .mark_text(align="left", dy=-19, color=INK, limit=width)
                .encode(x=alt.value(0), y=y, text="row:N")
            )
        height = (78 if narrow else 62) * len(order)
        if len(groups) == 1:
            return fitted(alt.layer(*layers), width, height)
        panel = alt.layer(*layers).properties(width=width - (24 if narrow else 130), height=height)
        if title and len(groups) > 1:
            panel = panel.properties(title=alt.TitleParams(title, fontSize=12, offset=6))
        panels.append(panel)
    return finish(alt.vconcat(*panels, spacing=18))


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
    narrow = width < (WIDE + NARROW) / 2
    curves = list(dict.fromkeys(table["curve"]))
    names = dict(zip(curves, distinct(curves, 30), strict=True))
    frame = table.assign(curve=table["curve"].map(names))
    marks = means.assign(curve=means["curve"].map(names))
    marks["text"] = [f"mean {m:+.2f}" for m in marks["mean"]]
    marks["about"] = [
        f"{c}: mean {m:+.3f}" for c, m in zip(marks["curve"], marks["mean"], strict=True)
    ]
    palette = [MARK, *category_colours(8)[:5]]
    colour = alt.Color("curve:N", legend=alt.Legend(columns=2 if narrow else 4)).scale(
        domain=list(names.values()), range=palette
    )
    low, high = _reach(frame["s"], symmetric=False)
    x = alt.X("s:Q", title=direction_axis(categories, category, width))
    x = x.scale(domain=[low, high], nice=False).axis(**signed_axis())
    # Room above the curves for the words beside the vertical lines.
    y = alt.Y("density:Q", title=None, axis=None).scale(
        domain=[0, 1.22 * float(frame["density"].max())]
    )
    first = alt.Chart(rows(frame[frame["curve"] == names[curves[0]]]))
    layers = [
        first.mark_area(opacity=0.28).encode(x=x, y=y, color=colour),
        alt.Chart(rows(frame)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        alt.Chart(rows(pd.DataFrame({"s": [0]})))
        .mark_rule(color=INK, strokeDash=[3, 3])
        .encode(x="s:Q"),
        alt.Chart(rows(pd.DataFrame({"s": [0], "t": ["reference"]})))
        .mark_text(align="left", dx=5, baseline="top", color=SOFT, fontSize=11)
        .encode(x="s:Q", y=alt.value(0), text="t:N"),
        alt.Chart(rows(marks))
        .mark_rule(strokeWidth=2)
        .encode(x="mean:Q", color=colour, description="about:N"),
    ]
    if len(curves) == 1:
        side = "right" if float(marks["mean"].iloc[0]) < 0 else "left"
        layers.append(
            alt.Chart(rows(marks))
            .mark_text(align=side, dx=5 if side == "left" else -5, baseline="top", color=INK)
            .encode(x="mean:Q", y=alt.value(0), text="text:N")
        )
        layers = [
            layer.encode(color=alt.value(MARK)) if i < 2 else layer
            for i, layer in enumerate(layers)
        ]
        layers[4] = layers[4].encode(color=alt.value(INK))
    return fitted(alt.layer(*layers), width, 150 if narrow else 190)


def _five(frame: pd.DataFrame) -> pd.DataFrame:
    """Median, quartiles and the whiskers of Tukey (the last point within 1.5 boxes)."""
    out = []
    for name, part in frame.groupby("row", sort=False):
        s = part["s"].dropna().to_numpy(dtype=float)
        if s.size == 0:
            continue
        q25, median, q75 = np.quantile(s, [0.25, 0.5, 0.75])
        near = s[(s >= q25 - 1.5 * (q75 - q25)) & (s <= q75 + 1.5 * (q75 - q25))]
        about = (
            f"{name}: median {median:+.3f}, half of the groups between {q25:+.3f} and {q75:+.3f}"
        )
        out.append([name, near.min(), q25, median, q75, near.max(), about])
    return pd.DataFrame(out, columns=["row", "low", "q25", "median", "q75", "high", "about"])


def _outermost(frame: pd.DataFrame, low: float, high: float) -> pd.DataFrame:
    """The lowest and the highest group of each row, with the side its name is written to."""
    out = []
    for _, part in frame.groupby("row", sort=False):
        there = part.dropna(subset=["s"])
        if len(there) < 3:
            continue
        ends = there.loc[[there["s"].idxmin(), there["s"].idxmax()]].copy()
        ends["align"] = ["left", "right"]
        if (ends["s"].iloc[1] - ends["s"].iloc[0]) < 0.45 * (high - low):
            middle = (low + high) / 2
            keep = 1 if abs(ends["s"].iloc[1] - middle) > abs(ends["s"].iloc[0] - middle) else 0
            ends = ends.iloc[[keep]]
            ends["align"] = "right" if ends["s"].iloc[0] > middle else "left"
        out.append(ends)
    empty = pd.DataFrame({"row": [], "s": [], "label": [], "align": []})
    return pd.concat(out) if out else empty


def _reach(s: pd.Series, *, symmetric: bool) -> tuple[float, float]:
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
