"""Steady lean against swing: the bias-volatility plane (Figures 6 to 8)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tiltmeter.report.charts.theme import (
    INK,
    LINE,
    MARK,
    NARROW,
    PAGE,
    WIDE,
    above,
    altair,
    brief,
    category_colours,
    distinct,
    fitted,
    rows,
    wrap_axis_title,
)


def plane(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Models in the plane of bias risk and volatility risk; R is constant along the diagonals.

    table: name, R_bias, R_volatility; optionally their _low and _high; `series` (models joined by
    a line, such as one family in several sizes, or before and after alignment) and `order` in it.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.reset_index(drop=True).copy()
    frame["label"] = distinct(frame["name"], 28)
    frame["series"] = (
        [brief(s, 28) for s in frame["series"]] if "series" in frame else frame["label"]
    )
    frame["order"] = frame["order"] if "order" in frame else range(len(frame))
    for column in ("R_bias_low", "R_bias_high", "R_volatility_low", "R_volatility_high"):
        frame[column] = frame[column].astype(float) if column in frame else float("nan")
    frame["about"] = [
        f"{r['label']}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for _, r in frame.iterrows()
    ]
    right = _end(frame[["R_bias", "R_bias_high"]])
    top = _end(frame[["R_volatility", "R_volatility_high"]])
    x = alt.X("R_bias:Q", title=wrap_axis_title("bias risk Rᵇ: steady lean → more", width))
    x = x.scale(domain=[0, right], nice=False).axis(tickCount=5, format=".2~f")
    y = alt.Y("R_volatility:Q", title="volatility risk Rᵛ ↑ more swing").scale(
        domain=[0, top], nice=False
    )
    digits = ".2~f" if top > 0.06 else ".3~f"
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=digits))
    names = list(dict.fromkeys(frame["series"]))
    single = len(names) == len(frame)
    palette = [INK] if single else category_colours(len(names))
    colour = alt.Color(
        "series:N",
        legend=None if single else alt.Legend(orient="bottom", columns=2 if narrow else 4),
    )
    colour = colour.scale(domain=names, range=palette)
    base = alt.Chart(rows(frame))
    labels = frame.assign(
        align=["right" if b > 0.78 * right else "left" for b in frame["R_bias"]],
        at=_label_heights(frame["R_bias"], frame["R_volatility"], right, top),
    )
    layers = [
        alt.Chart(rows(_diagonals(right, top)))
        .mark_line(color=MARK, strokeWidth=1, strokeDash=[2, 3], clip=True, opacity=0.7)
        .encode(x="R_bias:Q", y="R_volatility:Q", detail="level:N"),
        base.transform_filter("datum.R_bias_low !== null")
        .mark_rule(opacity=0.45)
        .encode(x=alt.X("R_bias_low:Q"), x2="R_bias_high:Q", y=y, color=colour),
        base.transform_filter("datum.R_volatility_low !== null")
        .mark_rule(opacity=0.45)
        .encode(x=x, y=alt.Y("R_volatility_low:Q"), y2="R_volatility_high:Q", color=colour),
        base.mark_circle(size=90, opacity=1, stroke=PAGE, strokeWidth=1.5).encode(
            x=x, y=y, color=colour, description="about:N"
        ),
        *[
            alt.Chart(rows(labels[labels["align"] == align]))
            .mark_text(align=align, dx=9 if align == "left" else -9, color=INK, limit=width * 0.5)
            .encode(x=x, y="at:Q", text="label:N")
            for align in ("left", "right")
        ],
    ]
    if not single:
        layers.insert(
            1, base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, order="order:Q")
        )
    return fitted(alt.layer(*layers), width, 240 if narrow else 320)


def _end(frame: pd.DataFrame) -> float:
    return max(0.02, 1.2 * float(frame.max().max()))


def _label_heights(x: pd.Series, y: pd.Series, right: float, top: float) -> list[float]:
    """Where labels stand: a little above their point, and above any label they would cover."""
    placed: list[tuple[float, float]] = []
    out = dict.fromkeys(y.index, 0.0)
    for i in y.sort_values().index:
        at = float(y[i]) + 0.045 * top
        for other_x, other in sorted(placed, key=lambda p: p[1]):
            if abs(other_x - float(x[i])) < 0.3 * right and abs(other - at) < 0.06 * top:
                at = other + 0.06 * top
        placed.append((float(x[i]), at))
        out[i] = at
    return list(out.values())


def _diagonals(right: float, top: float) -> pd.DataFrame:
    step = next(
        s
        for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
        if (right + top) / s <= 6.5 or s == 1.0
    )
    out = []
    level = step
    while level < right + top:
        out += [(level, level, 0.0), (level, 0.0, level)]
        level += step
    return pd.DataFrame(out, columns=["level", "R_bias", "R_volatility"])
