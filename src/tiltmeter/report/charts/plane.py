"""Two numbers at a time: the bias-volatility plane (Figures 6-8), regressions (Figures 9, 12-15),
and the views of contextual reliability."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tiltmeter.report.charts.theme import (
    BIAS,
    INK,
    LINE,
    MARK,
    NARROW,
    PAGE,
    SOFT,
    WIDE,
    above,
    altair,
    brief,
    category_colours,
    distinct,
    finish,
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
        "series:N", legend=None if single else alt.Legend(columns=2 if narrow else 4)
    )
    colour = colour.scale(domain=names, range=palette)
    base = alt.Chart(rows(frame))
    labels = frame.assign(
        align=["right" if b > 0.6 * right else "left" for b in frame["R_bias"]],
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


def regression(
    table: pd.DataFrame,
    line: pd.DataFrame,
    *,
    factor: str,
    measure: str = "discrimination risk r of a group (0 to 1)",
    size: str | None = None,
    width: int = WIDE,
) -> Any:
    """A risk against a social factor: one point a group, the fitted line and its interval band.

    table: group, x, y and optionally size (employment). line: x, y, low, high.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True).copy()
    frame["label"] = [brief(g, 26) for g in frame["group"]]
    sized = size is not None and "size" in frame
    frame["about"] = [
        f"{r['label']}: {factor} {r['x']:,.4g}, risk {r['y']:.3f}"
        + (f", {size} {r['size']:,.0f}" if sized else "")
        for _, r in frame.iterrows()
    ]
    x = alt.X("x:Q", title=wrap_axis_title(f"{factor} → higher", width)).scale(zero=False)
    x = x.axis(tickCount=4 if narrow else 6, format="~s")
    top = 1.06 * max(float(frame["y"].max()), 1e-3)
    y = alt.Y("y:Q", title=f"{measure} ↑ higher").scale(domain=[0, top], nice=False)
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"))
    points = alt.Chart(rows(frame)).mark_circle(
        opacity=0.55, color=BIAS, stroke=PAGE, strokeWidth=0.8
    )
    points = points.encode(x=x, y=y, description="about:N")
    if sized:
        legend = alt.Legend(
            title=size,
            titleOrient="left",
            orient="bottom",
            symbolType="circle",
            values=_sizes(frame["size"]),
            format=",.0f",
        )
        points = points.encode(
            size=alt.Size("size:Q", legend=legend).scale(range=[12, 520 if narrow else 900])
        )
    named = frame.loc[_named(frame)]
    layers = [
        alt.Chart(rows(line))
        .mark_area(opacity=0.16, color=INK, clip=True)
        .encode(x="x:Q", y=alt.Y("low:Q", title=f"{measure} ↑ higher"), y2="high:Q"),
        points,
        alt.Chart(rows(line))
        .mark_line(color=INK, strokeWidth=2, clip=True)
        .encode(x="x:Q", y="y:Q"),
        alt.Chart(rows(named))
        .mark_text(dy=-9, color=INK, fontSize=11)
        .encode(x=x, y=y, text="label:N"),
    ]
    return fitted(alt.layer(*layers), width, 230 if narrow else 300)


def reliability(table: pd.DataFrame, *, score: str, width: int = WIDE) -> Any:
    """Scores of statements, one row of points a dataset, with its median.

    table: dataset, value (from 0 to 1), and optionally `statement` for the pointer's text.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.dropna(subset=["value"]).reset_index(drop=True).copy()
    counts = frame.groupby("dataset", sort=False)["value"].agg(["size", "median"])
    labels = {d: f"{brief(d, 24)} (n {n})" for d, n in counts["size"].items()}
    frame["row"] = frame["dataset"].map(labels)
    statements = frame["statement"] if "statement" in frame else frame["dataset"]
    frame["about"] = [
        f"{v:.3f}: {brief(s, 90)}" for s, v in zip(statements, frame["value"], strict=True)
    ]
    # A fixed spread by position, so that the same table gives the same picture.
    frame["jitter"] = [(i * 0.618034) % 1 for i in range(len(frame))]
    middle = counts.reset_index().assign(row=lambda t: t["dataset"].map(labels))
    middle["text"] = middle["median"].map("median {:.2f}".format)
    y = alt.Y("row:N", sort=list(labels.values()), title=None).axis(
        None if narrow else alt.Axis(labelLimit=190)
    )
    x = (
        alt.X("value:Q", title=wrap_axis_title(score, width))
        .scale(domain=[0, 1])
        .axis(format=".2~f")
    )
    layers = [
        alt.Chart(rows(frame))
        .mark_circle(size=16, opacity=0.4, color=BIAS)
        .encode(
            x=x, y=y, yOffset=alt.YOffset("jitter:Q").scale(range=[14, 42]), description="about:N"
        ),
        alt.Chart(rows(middle))
        .mark_tick(color=INK, thickness=2.5, size=30)
        .encode(x="median:Q", y=y),
        alt.Chart(rows(middle))
        .mark_text(color=INK, dy=-21, fontSize=11)
        .encode(x="median:Q", y=y, text="text:N"),
    ]
    if narrow:
        layers.append(
            alt.Chart(rows(middle))
            .mark_text(align="left", dy=-32, color=SOFT, limit=width)
            .encode(x=alt.value(0), y=y, text="row:N")
        )
    step = 84 if narrow else 56
    return fitted(alt.layer(*layers), width, step * len(labels))


def agreement(table: pd.DataFrame, *, x_title: str, y_title: str, width: int = WIDE) -> Any:
    """One score against another, such as a computed one against people's: points and the diagonal.

    table: x, y (both 0 to 1) and optionally name.
    """
    alt = altair()
    frame = table.dropna(subset=["x", "y"]).reset_index(drop=True).copy()
    names = frame["name"] if "name" in frame else pd.Series([""] * len(frame))
    frame["about"] = [
        f"{brief(n, 80)} {a:.3f}, {b:.3f}".strip()
        for n, a, b in zip(names, frame["x"], frame["y"], strict=True)
    ]
    x = alt.X("x:Q", title=wrap_axis_title(x_title, width)).scale(domain=[0, 1]).axis(format=".2~f")
    y = (
        alt.Y("y:Q", title=y_title)
        .scale(domain=[0, 1])
        .axis(**above(grid=True, gridColor=LINE, format=".2~f"))
    )
    ends = pd.DataFrame({"x": [0, 1], "y": [0, 1]})
    side = min(width - 50, 380)
    return finish(
        alt.layer(
            alt.Chart(rows(ends)).mark_line(color=MARK, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q"),
            alt.Chart(rows(frame))
            .mark_circle(size=36, opacity=0.55, color=BIAS)
            .encode(x=x, y=y, description="about:N"),
        ).properties(width=side, height=side)
    )


def _end(frame: pd.DataFrame) -> float:
    return max(0.02, 1.15 * float(frame.max().max()))


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


def _sizes(size: pd.Series) -> list[float]:
    top = float(size.max())
    return [v for v in (10, 100, 500, 1000, 5000, 10_000, 100_000, 1e6) if top / 30 <= v <= top][:3]


def _named(frame: pd.DataFrame) -> list[int]:
    """The outermost points, which a reader asks about first."""
    if frame.empty:
        return []
    picked = [frame["x"].idxmax(), frame["y"].idxmax(), frame["y"].idxmin(), frame["x"].idxmin()]
    if "size" in frame and frame["size"].notna().any():
        picked.append(frame["size"].idxmax())
    return list(dict.fromkeys(int(str(i)) for i in picked))
