"""Charts that set models side by side.

Stacked bias and volatility (Table 1 as a picture), values with intervals, paired differences, the
lean of the groups as box plots (Figure 5), groups on which models differ, the plane of bias and
volatility (Figures 6 to 8), risks against size (Figure 7) and knowledge. Tables in, Altair charts
out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.numbers import IN_SENTENCES, TITLES
from clinometer.display.text import brief
from clinometer.report.charts.one_model import (
    GROUP_ROW,
    direction_axis,
    group_axis,
    reach,
    share_axis,
)
from clinometer.report.charts.style import (
    BESIDE,
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
    numbered_points,
    rows,
    signed_axis,
    wrap_axis_title,
)

PARTS = (IN_SENTENCES["R_bias"], IN_SENTENCES["R_volatility"])
_ROW, _NARROW_ROW = 30, 46


def stacked(
    table: pd.DataFrame,
    *,
    width: int = WIDE,
    axis: str = "discrimination risk: 0 as the reference, 1 always the same extreme",
    limit: float | None = 1.0,
) -> Any:
    """Bars of bias risk and volatility risk end to end, with the interval of their sum.

    table: name, R, R_bias, R_volatility; optionally R_low, R_high, and `muted` (True for rows that
    serve as a comparison, such as the reference models). One bar per row, in order.
    limit: end of the axis; None ends it at the largest value.
    """
    alt = altair()
    narrow = is_narrow(width)
    frame = _labelled(table, "name")
    frame["muted"] = frame["muted"].fillna(False).astype(bool) if "muted" in frame else False
    for column in ("R_low", "R_high"):
        frame[column] = frame[column].astype(float) if column in frame else float("nan")
    frame["end"] = frame[["R", "R_high"]].max(axis=1)
    interval = limit is None  # on an axis that ends where the values end there is room for it
    frame["shown"] = [
        _with_interval(row, "R") if interval else f"{row['R']:.3f}" for _, row in frame.iterrows()
    ]
    frame["about"] = [
        f"{row['label']}: R {_with_interval(row, 'R')}, bias {row['R_bias']:.3f}, "
        f"volatility {row['R_volatility']:.3f}"
        for _, row in frame.iterrows()
    ]
    long = frame.melt(
        id_vars=["label", "muted", "about"], value_vars=["R_bias", "R_volatility"], var_name="part"
    )
    long["order"] = (long["part"] == "R_volatility").astype(int)
    long["part"] = long["part"].map(IN_SENTENCES)
    room = 1.35 if frame["R_low"].notna().any() and not narrow else 1.08
    top = room * float(frame["end"].max() or 1.0) if limit is None else limit
    step = _NARROW_ROW if narrow else _ROW
    y = (
        alt.Y("label:N", sort=list(frame["label"]), title=None)
        .axis(None if narrow else alt.Axis(labelLimit=240))
        .scale(paddingInner=0.55 if narrow else 0.42, paddingOuter=0.3)
    )
    x_axis = alt.Axis(
        values=_ticks(top), format=".2~f", title=wrap_axis_title(axis, width), titleAnchor="start"
    )
    bars = (
        alt.Chart(rows(long))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", stack="zero", axis=x_axis).scale(domain=[0, top], clamp=True),
            y=y,
            color=alt.Color("part:N").scale(domain=list(PARTS), range=[BIAS, VOLATILITY]),
            order=alt.Order("order:Q"),
            opacity=alt.condition("datum.muted", alt.value(0.38), alt.value(1.0)),
            description="about:N",
        )
    )
    base = alt.Chart(rows(frame))
    seen = base.transform_filter("datum.R_low !== null")
    rule = seen.mark_rule(color=INK, strokeWidth=1.5).encode(x="R_low:Q", x2="R_high:Q", y=y)
    ends = [
        seen.mark_tick(color=INK, thickness=1.5, size=8).encode(x=f"{end}:Q", y=y)
        for end in ("R_low", "R_high")
    ]
    if narrow and interval:
        values = base.mark_text(align="right", dy=-19, color=SOFT).encode(
            x=alt.value(alt.expr("width")), y=y, text="shown:N"
        )
    else:
        values = base.mark_text(align="left", dx=8, color=INK).encode(
            x=alt.X("end:Q"), y=y, text="shown:N"
        )
    layers = [bars, rule, *ends, values]
    if narrow:
        layers.append(
            base.mark_text(align="left", dy=-19, limit=width, color=INK).encode(
                x=alt.datum(0), y=y, text="label:N"
            )
        )
    return fitted(alt.layer(*layers), width, step * len(frame))


def ranked(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """R of each model as a point with its interval, on an axis as long as the values need; behind
    it, in grey, what shuffled words give.

    table: name, R, R_volatility, ink (a colour); optionally R_low, R_high, chance_low, chance_high.
    """
    alt = altair()
    frame = _labelled(table, "name")
    for column in ("R_low", "R_high", "chance_low", "chance_high"):
        frame[column] = frame[column].astype(float) if column in frame else float("nan")
    frame["shown"] = [
        f"{_with_interval(r, 'R')} · swing {r['R_volatility']:.3f}" for _, r in frame.iterrows()
    ]
    frame["about"] = [f"{r['label']}: R {r['shown']}" for _, r in frame.iterrows()]
    if is_narrow(width):  # no room beside a name
        frame["shown"] = frame["shown"].str.partition(" · ")[0]
    ends = frame[["R", "R_low", "R_high", "chance_low", "chance_high"]]
    low, high = float(ends.min().min()), float(ends.max().max())
    room = 0.06 * (high - low) or 0.05
    domain = [max(0.0, low - room), high + room]
    y = alt.Y("label:N", sort=list(frame["label"]), title=None, axis=None)
    title = wrap_axis_title("discrimination risk R → higher", width)
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    axis = alt.Axis(tickCount=5, format=".2~f", titleAnchor="start")

    def x(column: str) -> Any:
        return alt.X(f"{column}:Q", title=title, scale=scale, axis=axis)

    base, ink = alt.Chart(rows(frame)), alt.Color("ink:N", scale=None)
    words = {"dy": -18, "limit": 0.55 * width}
    layers = [
        base.transform_filter("datum.chance_low !== null")
        .mark_bar(height=16, color=LINE)
        .encode(x=x("chance_low"), x2="chance_high:Q", y=y),
        base.transform_filter("datum.R_low !== null")
        .mark_bar(height=6, cornerRadius=3, opacity=0.45)
        .encode(x=x("R_low"), x2="R_high:Q", y=y, color=ink),
        base.mark_circle(size=90, opacity=1).encode(
            x=x("R"), y=y, color=ink, description="about:N"
        ),
        base.mark_text(align="left", color=INK, **words).encode(
            x=alt.value(0), y=y, text="label:N"
        ),
        base.mark_text(align="right", color=SOFT, **words).encode(
            x=alt.value(alt.expr("width")), y=y, text="shown:N"
        ),
    ]
    return fitted(alt.layer(*layers), width, 44 * len(frame))


def components(table: pd.DataFrame, *, unit: str, width: int = WIDE) -> Any:
    """One bar per model in three parts: lean, swing and dice; where `edit` is known, beside it how
    far another group and an irrelevant edit move the answer.

    table: name, size (the length of the bar), lean, swing, dice (their shares of the variance);
    group and edit (may be missing).
    """
    alt = altair()
    narrow = width < BESIDE
    frame = _labelled(table, "name")
    parts = {"lean": BIAS, "swing": VOLATILITY, "dice": "#c9ccd1"}
    for part in parts:
        frame[f"{part} length"] = frame[part] * frame["size"]
    frame["shown"] = [f"{size:.2f} {unit}".strip() for size in frame["size"]]
    frame["about"] = [
        f"{r['label']}: {r['shown']}; lean {r['lean']:.0%}, swing {r['swing']:.0%}, "
        f"dice {r['dice']:.0%} of the variance"
        for _, r in frame.iterrows()
    ]
    long = frame.melt(
        id_vars=["label", "about"], value_vars=[f"{part} length" for part in parts], var_name="part"
    )
    long["part"] = long["part"].str.removesuffix(" length")
    long["order"] = long["part"].map({part: i for i, part in enumerate(parts)})
    edits = bool(frame["edit"].notna().any())
    step = _NARROW_ROW if narrow else _ROW
    y = (
        alt.Y("label:N", sort=list(frame["label"]), title=None)
        .axis(None if narrow else alt.Axis(labelLimit=240))
        .scale(paddingInner=0.55 if narrow else 0.42, paddingOuter=0.3)
    )
    top = 1.25 * float(frame["size"].max() or 1.0)
    axis = alt.Axis(
        format=".2~f",
        tickCount=5,
        title=wrap_axis_title(f"how much an answer moves, {unit}", width),
        titleAnchor="start",
    )
    bars = (
        alt.Chart(rows(long))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", stack="zero", axis=axis).scale(domain=[0, top]),
            y=y,
            color=alt.Color("part:N").scale(domain=list(parts), range=list(parts.values())),
            order=alt.Order("order:Q"),
            description="about:N",
        )
    )
    base = alt.Chart(rows(frame))
    values = base.mark_text(align="left", dx=8, color=INK).encode(x="size:Q", y=y, text="shown:N")
    layers = [bars, values]
    if narrow:
        layers.append(
            base.mark_text(align="left", dy=-19, limit=width, color=INK).encode(
                x=alt.datum(0), y=y, text="label:N"
            )
        )
    if not edits:
        return fitted(alt.layer(*layers), width, step * len(frame))
    gutter = min(240, 12 + int(6.4 * frame["label"].str.len().max()))
    right = int(width * 0.2)
    left = width - gutter - right - 64
    if narrow:  # one below the other
        left = right = width - 24
    known = frame[frame["edit"].notna()]
    reach_ = 1.1 * float(known[["group", "edit"]].max().max())
    shared = alt.Y("label:N", sort=list(frame["label"]), title=None, axis=None).scale(
        paddingInner=0.55 if narrow else 0.42, paddingOuter=0.3
    )
    where = alt.X("value:Q", title=["dot: another group", "diamond: irrelevant edit"]).scale(
        domain=[0, reach_]
    )
    marks = known.melt(id_vars=["label"], value_vars=["group", "edit"], var_name="what")
    marks["about"] = [
        f"{r['label']}: {'another group' if r['what'] == 'group' else 'an irrelevant edit'} moves "
        f"the answer by {r['value']:.2f} {unit}"
        for _, r in marks.iterrows()
    ]
    points = alt.Chart(rows(marks)).encode(
        x=where.axis(tickCount=3, format=".2~f", titleAnchor="start"),
        y=shared,
        description="about:N",
    )
    panel = alt.layer(
        points.transform_filter("datum.what === 'group'").mark_point(
            shape="circle", filled=True, size=70, color=BIAS, opacity=1
        ),
        points.transform_filter("datum.what === 'edit'").mark_point(
            shape="diamond", filled=False, size=90, color=MARK, strokeWidth=2, opacity=1
        ),
        alt.Chart(rows(frame[frame["edit"].isna()].assign(text="no edit asked")))
        .mark_text(align="left", color=SOFT)
        .encode(x=alt.datum(0), y=shared, text="text:N"),
    )
    if narrow:
        panel += base.mark_text(align="left", dy=-19, limit=width, color=INK).encode(
            x=alt.datum(0), y=shared, text="label:N"
        )
    height = step * len(frame)
    return finish(
        (alt.vconcat if narrow else alt.hconcat)(
            alt.layer(*layers).properties(width=left, height=height),
            panel.properties(width=right, height=height),
            spacing=24,
        )
    )


def intervals(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """R and its bias and volatility components of each model, each with its interval.

    table: name, then R, R_bias, R_volatility, each also with _low and _high (may be missing).
    """
    alt = altair()
    narrow = is_narrow(width)
    frame = _labelled(table, "name")
    long = pd.DataFrame(
        [
            {
                "label": row["label"],
                "measure": title,
                "value": row[m],
                "low": row.get(f"{m}_low"),
                "high": row.get(f"{m}_high"),
                "text": f"{row[m]:.3f}",
                "about": f"{row['label']}: {title} {_with_interval(row, m)}",
            }
            for _, row in frame.iterrows()
            for m, title in TITLES.items()
        ]
    )
    top = max(0.05, 1.12 * float(long[["value", "high"]].max().max()))
    panels = []
    gutter = min(130 if narrow else 190, 12 + int(6.4 * frame["label"].str.len().max()))
    plot = width - gutter - 14 if narrow else (width - gutter - 56) / 3
    for i, title in enumerate(TITLES.values()):
        here = alt.Chart(rows(long[long["measure"] == title]))
        axis = alt.Axis(labelLimit=gutter - 8) if narrow or i == 0 else None
        y = alt.Y("label:N", sort=list(frame["label"]), title=None, axis=axis)
        x = alt.X("value:Q", title=None).scale(domain=[0, top]).axis(tickCount=4, format=".2~f")
        colour = (INK, BIAS, VOLATILITY)[i]
        panels.append(
            alt.layer(
                here.transform_filter("datum.low !== null")
                .mark_rule(color=colour, strokeWidth=2)
                .encode(x=alt.X("low:Q", title=None), x2="high:Q", y=y),
                here.mark_circle(color=colour, size=70, opacity=1).encode(
                    x=x, y=y, description="about:N"
                ),
                here.mark_text(dy=-12, color=SOFT, fontSize=11).encode(x=x, y=y, text="text:N"),
            ).properties(
                width=plot,
                height=34 * len(frame),
                title=alt.TitleParams(title, fontSize=12, fontWeight="bold", offset=6),
            )
        )
    if narrow:
        return finish(alt.vconcat(*panels, spacing=14))
    return finish(alt.hconcat(*panels, spacing=20))


def differences(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Paired differences on one axis; right of zero the first model has the higher risk.

    table: pair, measure (R, R_bias, R_volatility), value, low, high. An interval that holds zero
    has a ring instead of a dot.
    """
    alt = altair()
    narrow = is_narrow(width)
    frame = table.reset_index(drop=True).copy()
    pairs = list(dict.fromkeys(frame["pair"]))
    names = distinct(pairs, 60)
    frame["label"] = frame["pair"].map(dict(zip(pairs, names, strict=True)))
    frame["part"] = frame["measure"].map(TITLES)
    frame[["low", "high"]] = frame[["low", "high"]].astype(float)  # None without an interval
    frame["about"] = [
        f"{r['label']}: {r['part']} {r['value']:+.3f}{_span(r['low'], r['high'], '+.3f')}"
        for _, r in frame.iterrows()
    ]
    inks = dict(zip(TITLES, (INK, BIAS, VOLATILITY), strict=True))
    frame["ink"] = frame["measure"].map(inks)
    clear = (frame["low"] > 0) | (frame["high"] < 0) | frame["low"].isna()
    frame["fill"] = [ink if c else PAGE for ink, c in zip(frame["ink"], clear, strict=True)]
    reach = 1.1 * max(0.01, float(frame[["value", "low", "high"]].abs().max().max()))
    # One row per pair and risk on a single axis, and the name of the pair over its rows.
    step, places, at = 17, [], 0.0
    for label in names:
        at += 26
        for i in frame.index[frame["label"] == label]:
            frame.loc[i, "at"] = at
            at += step
        places.append((label, at - step * int((frame["label"] == label).sum()) - 17))
    heads = pd.DataFrame(places, columns=["label", "at"])
    y = alt.Y("at:Q", title=None, axis=None).scale(domain=[at, 0], nice=False)
    x = alt.X("value:Q", title=None).scale(domain=[-reach, reach], nice=False)
    x = x.axis(**signed_axis(4 if narrow else 6), orient="top")
    zero = alt.Chart(rows(pd.DataFrame({"zero": [0]}))).mark_rule(color=MARK, strokeDash=[3, 3])
    base, stroke = alt.Chart(rows(frame)), alt.Color("ink:N", scale=None)
    key = alt.Chart(rows(frame)).mark_point(opacity=0, filled=True)
    legend = alt.Legend(symbolOpacity=1, columns=2 if narrow else 3)
    colour = alt.Color("part:N", legend=legend)
    layers = [
        zero.encode(x="zero:Q"),
        base.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=5, opacity=0.45, strokeCap="round")
        .encode(x=alt.X("low:Q", title=None), x2="high:Q", y=y, color=stroke),
        base.mark_point(size=65, strokeWidth=1.5, opacity=1).encode(
            x=x, y=y, fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("ink:N", scale=None),
            description="about:N",
        ),
        alt.Chart(rows(heads))
        .mark_text(align="left", fontWeight="bold", limit=width)
        .encode(x=alt.value(0), y=y, text="label:N"),
        key.encode(color=colour.scale(domain=list(TITLES.values()), range=list(inks.values()))),
    ]  # fmt: skip
    return fitted(alt.layer(*layers).resolve_scale(color="independent"), width, int(at))


def _labelled(table: pd.DataFrame, column: str) -> pd.DataFrame:
    frame = table.reset_index(drop=True).copy()
    frame["label"] = distinct(frame[column], 48)
    return frame


def _ticks(top: float) -> list[float]:
    for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0):
        if top / step <= 5.001:
            return [round(i * step, 3) for i in range(int(top / step + 1e-9) + 1)]
    return [0.0, top]


def _with_interval(row: pd.Series, measure: str) -> str:
    span = _span(row.get(f"{measure}_low"), row.get(f"{measure}_high"), ".3f")
    return f"{row[measure]:.3f}{span}"


def _span(low: object, high: object, form: str) -> str:
    if low is None or high is None or pd.isna(low) or pd.isna(high):  # type: ignore[call-overload]
        return ""
    return f" ({low:{form}} to {high:{form}})"


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
    frame = _labelled_box(table[table["category"] == shown] if two else table, by_model=two)
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
            width=width - (24 if is_narrow(width) else 130), height=_height(part, width)
        )
        panels.append(panel.properties(title=alt.TitleParams(model, fontSize=12, offset=6)))
    return finish(alt.vconcat(*panels, spacing=18))


def _labelled_box(table: pd.DataFrame, *, by_model: bool) -> pd.DataFrame:
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
    narrow = is_narrow(width)
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


def _height(frame: pd.DataFrame, width: int) -> int:
    return (78 if is_narrow(width) else 62) * int(frame["row"].nunique())


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


def plane(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Models in the plane of bias risk and volatility risk; R is constant along the diagonals.

    table: name, R_bias, R_volatility; optionally their _low and _high; `series` (models joined by
    a line, such as one family in several sizes, or before and after alignment) and `order` in it.
    A key below the chart says whose the numbers are.
    """
    alt = altair()
    narrow = is_narrow(width)
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
    height = 240 if narrow else 320
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
    colour = alt.Color(
        "series:N",
        legend=None if single else alt.Legend(offset=OVER_TITLE, columns=2 if narrow else 4),
    )
    colour = colour.scale(domain=names, range=model_colours(len(names)))
    base = alt.Chart(rows(frame))
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
    ]
    if not single:
        layers.insert(
            1, base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, order="order:Q")
        )
    layers += numbered_points(frame, x=x, y=y, colour=colour, width=width)
    return fitted(alt.layer(*layers), width, height)


def _end(frame: pd.DataFrame) -> float:
    return max(0.02, 1.2 * float(frame.max().max()))


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


_COLOURS = {"R": INK, "R_bias": BIAS, "R_volatility": VOLATILITY}


def trend(table: pd.DataFrame, *, x_title: str, width: int = WIDE) -> Any:
    """R, R^b and R^v against a size on a logarithmic axis.

    table: name, measure (R, R_bias, R_volatility), x, value, low, high, optionally series; models
    of one series are joined by a line. R has the number of its model, and a key the names.
    """
    alt = altair()
    narrow = is_narrow(width)
    frame = table.reset_index(drop=True).copy()
    frame["part"] = frame["measure"].map(TITLES)
    frame["label"] = [brief(n, 22) for n in frame["name"]]
    frame["series"] = frame.get("series", "")
    frame["line"] = frame["part"] + frame["series"].astype(str)
    frame["about"] = [f"{r['label']}: {r['part']} {r['value']:.3f}" for _, r in frame.iterrows()]
    parts = [TITLES[m] for m in _COLOURS if m in set(frame["measure"])]
    colours = [c for m, c in _COLOURS.items() if m in set(frame["measure"])]
    legend = alt.Legend(offset=OVER_TITLE, columns=2 if narrow else 3)
    colour = alt.Color("part:N", legend=legend).scale(domain=parts, range=colours)
    low, high = float(frame["x"].min()), float(frame["x"].max())
    x = alt.X("x:Q", title=wrap_axis_title(f"{x_title} (logarithmic) → larger", width))
    x = x.scale(type="log", domain=[low / 1.35, high * 1.35], nice=False)
    x = x.axis(values=sorted(set(frame["x"])), format=".2~s", labelOverlap="greedy")
    room = 1.12 * max(0.01, float(frame[["value", "high"]].astype(float).max().max()))
    y = alt.Y("value:Q", title="risk ↑ higher").scale(domain=[0, room], nice=False)
    y = y.axis(**above(grid=True, gridColor=LINE, tickCount=4, format=".2~f"))
    base = alt.Chart(rows(frame))
    height = 230 if narrow else 280
    layers = [
        base.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=2, opacity=0.5)
        .encode(x=x, y=alt.Y("low:Q", title="risk ↑ higher"), y2="high:Q", color=colour),
        base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, detail="line:N"),
        base.mark_circle(size=70, opacity=1).encode(x=x, y=y, color=colour, description="about:N"),
        *numbered_points(frame[frame["measure"] == "R"], x=x, y=y, colour=colour, width=width),
    ]
    return fitted(alt.layer(*layers), width, height)


def spread(
    table: pd.DataFrame, *, category: str, reference: tuple[float, str], width: int = WIDE
) -> Any:
    """The share of a category by group: one numbered dot per model.

    table: group, number (of the model), ink (its colour), share, about, in display order.
    reference: its share and its name.
    """
    alt = altair()
    groups = list(dict.fromkeys(table["group"]))
    labels = dict(zip(groups, distinct(groups, 40), strict=True))
    frame = table.assign(label=table["group"].map(labels))
    ends = (f"no {category}", f"all {category}")
    axis = share_axis(ends, reference, width=width)
    x = alt.X("share:Q", title=None, axis=axis).scale(domain=[0, 1])
    y = group_axis(list(labels.values()), width)
    base = alt.Chart(rows(frame)).encode(x=x, y=y)
    ranges = frame.groupby("label", sort=False)["share"].agg(["min", "max"]).reset_index()
    return fitted(
        alt.layer(
            alt.Chart(rows(ranges)).mark_rule(color=LINE).encode(x="min:Q", x2="max:Q", y=y),
            base.mark_circle(size=200, opacity=1, stroke=PAGE, strokeWidth=1.5).encode(
                color=alt.Color("ink:N", scale=None), description="about:N"
            ),
            base.mark_text(color=PAGE, fontSize=10).encode(text="number:N"),
        ),
        width,
        GROUP_ROW * len(groups),
    )


def knowledge(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Bars of knowledge inside bars of deterministic knowledge, with chance as a tick.

    table: name, relation, knowledge (with _low, _high), deterministic, chance; all from 0 to 1.
    """
    alt = altair()
    narrow = is_narrow(width)
    frame = table.reset_index(drop=True).copy()
    frame["label"] = [brief(n, 24) for n in frame["name"]]
    frame["text"] = frame["knowledge"].map("{:.2f}".format)
    frame["end"] = frame[["deterministic", "knowledge_high"]].max(axis=1)
    frame["about"] = [
        f"{r['label']}, {r['relation']}: knowledge {r['knowledge']:.3f}, deterministic "
        f"{r['deterministic']:.3f}, chance {r['chance']:.3f}"
        for _, r in frame.iterrows()
    ]
    gutter = min(110 if narrow else 190, 12 + int(6.4 * frame["label"].str.len().max()))
    panels = []
    names = list(dict.fromkeys(frame["relation"]))
    for i, name in enumerate(names):
        here = alt.Chart(rows(frame[frame["relation"] == name]))
        y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=gutter - 8))
        last = i == len(names) - 1
        x = alt.X("deterministic:Q", title="0 never right, 1 always certain" if last else None)
        x = x.scale(domain=[0, 1]).axis(format=".2~f", tickCount=5)
        panels.append(
            alt.layer(
                here.mark_bar(height=16, color=BIAS, opacity=0.35).encode(
                    x=x, y=y, description="about:N"
                ),
                here.mark_bar(height=16, color=BIAS).encode(x=alt.X("knowledge:Q"), y=y),
                here.mark_rule(color=INK, strokeWidth=1.5).encode(
                    x="knowledge_low:Q", x2="knowledge_high:Q", y=y
                ),
                here.mark_tick(color=SOFT, thickness=2, size=22).encode(x="chance:Q", y=y),
                here.mark_text(align="left", dx=8, color=INK).encode(x="end:Q", y=y, text="text:N"),
            ).properties(
                width=width - gutter - 16,
                height=30 * int((frame["relation"] == name).sum()),
                title=alt.TitleParams(name, fontSize=12, fontWeight="bold", offset=4),
            )
        )
    return finish(alt.vconcat(*panels, spacing=14))
