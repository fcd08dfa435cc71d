"""Which way the groups lean: box plots of the mean stereotype (Figure 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clinometer.report.charts.density import direction_axis, reach
from clinometer.report.charts.style.theme import (
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


def boxes(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    category: str | None = None,
    width: int = WIDE,
) -> Any:
    """Box plot over groups of the mean stereotype, one box per model (and per category if there
    are more than two), with every group as a point and the outermost two named.

    table: model, category, group, s (mean stereotype of the group towards the category, 0 is the
    reference). With two categories only `category` is drawn: the other is its mirror image.
    """
    alt = altair()
    two = len(categories) == 2
    shown = category or categories[0]
    frame = _labelled(table[table["category"] == shown] if two else table, by_model=two)
    limits = reach(frame["s"], symmetric=two)
    if two:
        place = categories.index(shown)
        colours = category_colours(2)
        colour = alt.condition(
            "datum.s > 0", alt.value(colours[place]), alt.value(colours[1 - place])
        )
        title = direction_axis(categories, shown, width)
        layers = _layers(frame, colour, title=title, limits=limits, width=width)
        return fitted(layers, width, _height(frame, width))
    colour = alt.Color("category:N", legend=None).scale(
        domain=[brief(c, 30) for c in categories], range=category_colours(len(categories))
    )
    title = wrap_axis_title("← less often than the reference  ·  more often →", width)
    panels = []
    for model in dict.fromkeys(frame["model"]):
        part = frame[frame["model"] == model]
        panel = _layers(part, colour, title=title, limits=limits, width=width).properties(
            width=width - (24 if _narrow(width) else 130), height=_height(part, width)
        )
        panels.append(panel.properties(title=alt.TitleParams(model, fontSize=12, offset=6)))
    return finish(alt.vconcat(*panels, spacing=18))


def _labelled(table: pd.DataFrame, *, by_model: bool) -> pd.DataFrame:
    models = list(dict.fromkeys(table["model"]))
    names = dict(zip(models, distinct(models, 40), strict=True))
    frame = table.copy()
    frame["model"] = frame["model"].map(names)
    frame["category"] = [brief(c, 30) for c in frame["category"]]
    frame["row"] = frame["model"] if by_model else frame["category"]
    frame["label"] = [brief(g, 28) for g in frame["group"]]
    frame["about"] = [
        f"{label}: {s:+.3f} ({model})"
        for label, s, model in zip(frame["label"], frame["s"], frame["model"], strict=True)
    ]
    return frame


def _layers(
    frame: pd.DataFrame, colour: Any, *, title: list[str], limits: tuple[float, float], width: int
) -> Any:
    """Zero, whiskers, boxes, medians, points below them, the outermost names."""
    alt = altair()
    narrow = _narrow(width)
    order = list(dict.fromkeys(frame["row"]))
    axis = None if narrow else alt.Axis(labelLimit=170)
    y = alt.Y("row:N", sort=order, title=None).axis(axis)
    x = alt.X("s:Q", title=title).scale(domain=list(limits)).axis(**signed_axis())
    summary = alt.Chart(rows(_five(frame)))
    zero = alt.Chart(rows(pd.DataFrame({"s": [0]}))).mark_rule(color=MARK, strokeDash=[3, 3])
    ends = _outermost(frame, *limits)
    layers = [
        zero.encode(x="s:Q"),
        summary.mark_rule(color=INK).encode(x=alt.X("low:Q"), x2="high:Q", y=y),
        summary.mark_bar(size=14, color=PAGE, stroke=INK, strokeWidth=1.2).encode(
            x="q25:Q", x2="q75:Q", y=y
        ),
        summary.mark_tick(color=INK, thickness=2.5, size=14).encode(
            x="median:Q", y=y, description="about:N"
        ),
        alt.Chart(rows(frame))
        .mark_circle(size=20, opacity=0.55, yOffset=14)
        .encode(x=x, y=y, color=colour, description="about:N"),
        *[
            alt.Chart(rows(ends[ends["align"] == align]))
            .mark_text(align=align, dx=4 if align == "left" else -4, dy=28, fontSize=11, color=SOFT)
            .encode(x="s:Q", y=y, text="label:N")
            for align in ("left", "right")
        ],
    ]
    if narrow:
        names = summary.mark_text(align="left", dy=-19, color=INK, limit=width)
        layers.append(names.encode(x=alt.value(0), y=y, text="row:N"))
    return alt.layer(*layers)


def _narrow(width: int) -> bool:
    return width < (WIDE + NARROW) / 2


def _height(frame: pd.DataFrame, width: int) -> int:
    return (78 if _narrow(width) else 62) * int(frame["row"].nunique())


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
    """The lowest and the highest group of each row, with the side for its name."""
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
