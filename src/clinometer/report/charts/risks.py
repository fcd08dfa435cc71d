"""Risks side by side: bias and volatility stacked (Table 1 as a picture), and with intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clinometer.display.names import IN_SENTENCES, TITLES
from clinometer.report.charts.style.theme import (
    BIAS,
    INK,
    MARK,
    NARROW,
    SOFT,
    VOLATILITY,
    WIDE,
    altair,
    distinct,
    finish,
    fitted,
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
    narrow = width < (WIDE + NARROW) / 2
    frame = _labelled(table, "name")
    frame["muted"] = frame["muted"].fillna(False).astype(bool) if "muted" in frame else False
    for column in ("R_low", "R_high"):
        frame[column] = frame[column].astype(float) if column in frame else float("nan")
    frame["end"] = frame[["R", "R_high"]].max(axis=1)
    frame["shown"] = frame["R"].map("{:.3f}".format)
    frame["about"] = [_about(row) for _, row in frame.iterrows()]
    long = frame.melt(
        id_vars=["label", "muted", "about"], value_vars=["R_bias", "R_volatility"], var_name="part"
    )
    long["order"] = (long["part"] == "R_volatility").astype(int)
    long["part"] = long["part"].map(IN_SENTENCES)
    top = limit if limit is not None else 1.08 * float(frame["end"].max() or 1.0)
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


def intervals(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """R and its bias and volatility components of each model, each with its interval.

    table: name, then R, R_bias, R_volatility, each also with _low and _high (may be missing).
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
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
    """Paired differences with their intervals; right of zero the first model has the higher risk.

    table: pair, measure (R, R_bias, R_volatility), value, low, high.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.reset_index(drop=True).copy()
    pairs = list(dict.fromkeys(frame["pair"]))
    frame["label"] = frame["pair"].map(dict(zip(pairs, distinct(pairs, 60), strict=True)))
    frame["part"] = frame["measure"].map(TITLES)
    frame["text"] = [f"{v:+.3f}".replace("-", "−") for v in frame["value"]]
    frame["about"] = [
        f"{r['label']}: {r['part']} {r['value']:+.3f}{_span(r['low'], r['high'], '+.3f')}"
        for _, r in frame.iterrows()
    ]
    ends = frame[["value", "low", "high"]].astype(float)  # None where there is no interval
    reach = 1.15 * max(0.01, float(ends.abs().max().max()))
    order = list(dict.fromkeys(frame["label"]))
    y = alt.Y("part:N", sort=list(TITLES.values()), title=None).axis(labelColor=SOFT)
    x = (
        alt.X("value:Q", title=None)
        .scale(domain=[-reach, reach])
        .axis(**signed_axis(4 if narrow else 6))
    )
    colour = alt.Color("part:N", legend=None).scale(
        domain=list(TITLES.values()), range=[INK, BIAS, VOLATILITY]
    )
    panels = []
    for label in order:
        here = alt.Chart(rows(frame[frame["label"] == label]))
        panels.append(
            alt.layer(
                alt.Chart(rows(pd.DataFrame({"zero": [0]})))
                .mark_rule(color=MARK, strokeDash=[3, 3])
                .encode(x="zero:Q"),
                here.transform_filter("datum.low !== null")
                .mark_rule(strokeWidth=2)
                .encode(x=alt.X("low:Q", title=None), x2="high:Q", y=y, color=colour),
                here.mark_circle(size=70, opacity=1).encode(
                    x=x, y=y, color=colour, description="about:N"
                ),
                here.mark_text(dy=-12, color=SOFT, fontSize=11).encode(x=x, y=y, text="text:N"),
            ).properties(
                width=width - 116,
                height=34 * 3,
                title=alt.TitleParams(
                    wrap_axis_title(label, width),
                    fontSize=12,
                    fontWeight="bold",
                    offset=4,
                    frame="group",
                ),
            )
        )
    return finish(alt.vconcat(*panels, spacing=12))


def _labelled(table: pd.DataFrame, column: str) -> pd.DataFrame:
    frame = table.reset_index(drop=True).copy()
    frame["label"] = distinct(frame[column], 48)
    return frame


def _ticks(top: float) -> list[float]:
    for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0):
        if top / step <= 5.001:
            return [round(i * step, 3) for i in range(int(top / step + 1e-9) + 1)]
    return [0.0, top]


def _about(row: pd.Series) -> str:
    return (
        f"{row['label']}: R {_with_interval(row, 'R')}, bias {row['R_bias']:.3f}, "
        f"volatility {row['R_volatility']:.3f}"
    )


def _with_interval(row: pd.Series, measure: str) -> str:
    span = _span(row.get(f"{measure}_low"), row.get(f"{measure}_high"), ".3f")
    return f"{row[measure]:.3f}{span}"


def _span(low: object, high: object, form: str) -> str:
    if low is None or high is None or pd.isna(low) or pd.isna(high):  # type: ignore[call-overload]
        return ""
    return f" ({low:{form}} to {high:{form}})"
