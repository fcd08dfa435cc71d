"""Distributions: risks over groups (Figures 10, 16), coverage, convergence."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.names import HEADINGS, MEASURES
from clinometer.report.charts.style.theme import (
    BIAS,
    INK,
    LINE,
    MARK,
    NARROW,
    PAGE,
    SOFT,
    VOLATILITY,
    WIDE,
    above,
    altair,
    brief,
    finish,
    fitted,
    rows,
    wrap_axis_title,
)

_TITLES = {"r_bias": "bias risk rᵇ of a group", "r_volatility": "volatility risk rᵛ of a group"}
_COLOURS = {"r_bias": BIAS, "r_volatility": VOLATILITY}


def shapes(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Histograms of r^b and r^v over groups with the fitted normal as a line.

    table: measure (r_bias, r_volatility), group, value. Bars above the line far to the right are a
    heavy tail; the highest group is named.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
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
