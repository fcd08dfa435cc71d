"""How far answers lean over contexts: the distribution of the stereotype s (Figure 3)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clinometer.report.charts.style.theme import (
    INK,
    MARK,
    NARROW,
    SOFT,
    WIDE,
    altair,
    brief,
    category_colours,
    distinct,
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
    marks["text"] = [f"mean {m:+.2f}".replace("-", "−") for m in marks["mean"]]
    marks["about"] = [
        f"{c}: mean {m:+.3f}" for c, m in zip(marks["curve"], marks["mean"], strict=True)
    ]
    palette = [MARK, *category_colours(8)[:5]]
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
