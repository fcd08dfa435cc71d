"""The pictures of the first screen: groups as dots and ranges, models as ranked bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clinometer.display.numbers import between, percent, risk
from clinometer.report.charts.style.theme import (
    BIAS,
    INK,
    LINE,
    MARK,
    PAGE,
    SOFT,
    VOLATILITY,
    WIDE,
    category_colours,
    distinct,
)
from clinometer.report.drawing import Drawing, bar, dot, fitting, line, text
from clinometer.report.figure import Figure
from clinometer.report.figures.comparison import basis, risk_rows
from clinometer.report.summary.headline import noun_of
from clinometer.report.summary.leans import Leans
from clinometer.runs import Run

ROWS = 18  # groups on the first screen
_ROW = 21.0
_EXTREMES = 4  # of each side, before the rest is taken evenly


def chosen_groups(leans: Leans, n: int = ROWS) -> list[int]:
    """Groups to show, in order of their lean: the outermost, and evenly spaced ones between."""
    order = _ordered(leans)
    if len(order) <= n:
        return order
    between_ends = np.linspace(_EXTREMES, len(order) - _EXTREMES - 1, n - 2 * _EXTREMES)
    inner = [order[round(i)] for i in between_ends]
    return [*order[:_EXTREMES], *inner, *order[-_EXTREMES:]]


def _ordered(leans: Leans) -> list[int]:
    two = leans.share.shape[1] == 2
    value = leans.share[:, 1] if two else -np.nan_to_num(leans.run.risks.r, nan=-np.inf)
    return [int(x) for x in leans.seen[np.argsort(value[leans.seen], kind="stable")]]


def groups_picture(leans: Leans, *, every: bool = False) -> Figure:
    """Dots and ranges for two categories, stacked shares for more."""
    groups = _ordered(leans) if every else chosen_groups(leans)
    two = leans.share.shape[1] == 2
    run = leans.run
    noun, _ = noun_of(run)
    frame = _frame(leans)
    many = f"{len(groups)} of {len(leans.seen)} shown. " if len(groups) < len(leans.seen) else ""
    band = "lowest to highest sentence" if leans.whole_range else "middle 90 % of its sentences"
    if two:
        read = f"Dot: average of its sentences. Band: {band}. Grey ring: not clear."
    else:
        read = "Share of each category's words, averaged over sentences. Grey name: not clear."
    said = "; ".join(
        f"{r['group']} {percent(r[f'share of {run.preferences.categories[-1]}'])}"
        + ("" if r["clear"] else " (not clear)")
        for r in frame.iloc[groups[:40]].to_dict("records")
    )
    title = f"Which words the model writes, by {noun.removesuffix('s')}"
    return Figure(
        key="groups" if not every else "every-group",
        title=title if not every else f"All {len(groups)} {noun}",
        caption=f"{many}{read}",
        alt=f"{title}. Share of {run.preferences.categories[-1]} words: {said}.",
        draw=lambda width: (_dots if two else _stacks)(leans, groups, width),
        table=frame,
    )


def _frame(leans: Leans) -> pd.DataFrame:
    """One row per group: shares, ranges, whether its lean is clear."""
    run = leans.run
    names = run.preferences.categories
    frame = pd.DataFrame({"group": run.risks.groups})
    for y, name in enumerate(names):
        frame[f"share of {name}"] = leans.share[:, y]
        frame[f"lowest share of {name}"] = leans.low[:, y]
        frame[f"highest share of {name}"] = leans.high[:, y]
    frame["leans to"] = [names[y] if y >= 0 else None for y in leans.favoured]
    frame["clear"] = leans.clear
    for name in ("r", "r_bias", "r_volatility"):
        frame[name] = getattr(run.risks, name)
    return frame


def _reference_share(leans: Leans, y: int) -> tuple[float, str]:
    given = leans.run.preferences.reference
    if isinstance(given, str):
        weights = np.where(np.isnan(leans.share[:, y]), 0.0, leans.run.risks.group_weights)
        return float(weights @ np.nan_to_num(leans.share[:, y]) / weights.sum()), "mean"
    if given is None or np.asarray(given).ndim != 1:
        return 1 / leans.share.shape[1], "even"
    return float(np.asarray(given)[y]), "reference"


def _dots(leans: Leans, groups: Sequence[int], width: int) -> Drawing:
    names = leans.run.preferences.categories
    colours = category_colours(2)
    labels = distinct([leans.run.risks.groups[x] for x in groups], 40)
    left, top = (130.0 if width >= WIDE else 96.0), 30.0
    right = width - 16.0
    high = top + _ROW * len(groups)
    span = right - left

    def at(share: float) -> float:
        return left + span * min(1.0, max(0.0, share))

    middle, name = _reference_share(leans, 1)
    marks = [
        *(line(at(q), top - 6, at(q), high, LINE) for q in (0, 0.25, 0.75, 1)),
        line(at(middle), top - 6, at(middle), high, MARK, dash="3 3"),
        text(at(0), top - 14, fitting(f"all {names[0]}", span / 3), colour=colours[0]),
        text(at(middle), top - 14, name, anchor="middle"),
        text(
            at(1), top - 14, fitting(f"all {names[1]}", span / 3), colour=colours[1], anchor="end"
        ),
    ]
    for i, (x, label) in enumerate(zip(groups, labels, strict=True)):
        y = top + _ROW * (i + 0.5)
        clear = bool(leans.clear[x])
        colour = colours[int(leans.favoured[x])] if clear else MARK
        share, low, far = (float(v[x, 1]) for v in (leans.share, leans.low, leans.high))
        about = (
            f"{label}: {percent(share)} {names[1]} words on average, {percent(low)} to "
            f"{percent(far)}; {'clear' if clear else 'not clear'}"
        )
        marks += [
            text(left - 10, y + 4, fitting(label, left - 16), colour=INK, anchor="end"),
            bar(at(low), y - 2.5, at(far) - at(low), 5, colour, opacity=0.3, radius=2.5),
            dot(
                at(share), y, 5, colour if clear else PAGE, ring="" if clear else MARK, about=about
            ),
        ]
    return Drawing(width, high + 4, tuple(marks))


def _stacks(leans: Leans, groups: Sequence[int], width: int) -> Drawing:
    names = leans.run.preferences.categories
    colours = category_colours(len(names))
    labels = distinct([leans.run.risks.groups[x] for x in groups], 40)
    left = 130.0 if width >= WIDE else 96.0
    marks, x0, y0 = [], left, 12.0
    for name, colour in zip(names, colours, strict=True):  # the key, as many lines as it takes
        shown = fitting(name, 110)
        wide = 22 + 7.2 * len(shown)
        if x0 + wide > width - 8 and x0 > left:
            x0, y0 = left, y0 + 18
        marks += [bar(x0, y0 - 9, 10, 10, colour), text(x0 + 14, y0, shown, colour=INK)]
        x0 += wide
    top, span = y0 + 12, width - left - 16
    for i, (x, label) in enumerate(zip(groups, labels, strict=True)):
        y = top + _ROW * i
        ink = INK if leans.clear[x] else MARK
        marks.append(text(left - 10, y + 14, fitting(label, left - 16), colour=ink, anchor="end"))
        at = left
        for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
            share = float(leans.share[x, k])
            about = f"{label}: {percent(share)} {name}"
            marks.append(bar(at, y + 3, max(0.0, span * share - 1), 14, colour, about=about))
            at += span * share
    return Drawing(width, top + _ROW * len(groups) + 4, tuple(marks))


def ranking_picture(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    """Models by R, the highest first: bias and volatility end to end, with the interval of R."""
    rows = sorted(risk_rows(runs, names), key=lambda r: -r["R"])
    said = "; ".join(
        f"{r['name']}: R {risk(r['R'])}, bias {risk(r['R_bias'])}, volatility "
        f"{risk(r['R_volatility'])}"
        for r in rows
    )
    return Figure(
        key="ranking",
        title="Risk of each model: steady lean and swing",
        caption=(
            "Bar: bias risk (steady lean), then volatility risk (swing). Line: interval of R. "
            f"{'; '.join(dict.fromkeys(basis(run) for run in runs))}."
        ),
        alt=f"Ranked bars. {said}.",
        draw=lambda width: _bars(rows, width),
        table=pd.DataFrame(rows).drop(columns=["muted"]),
    )


def _bars(rows: Sequence[dict[str, object]], width: int) -> Drawing:
    labels = distinct([r["name"] for r in rows], 60)
    top, step = 34.0, 50.0
    number = 52.0
    ends = [float(r["R_high"] or r["R"]) for r in rows]  # type: ignore[arg-type]
    most = max(*ends, 0.05) if len(ends) > 1 else max(ends[0], 0.05)
    scale = (width - number - 16) / min(1.0, most * 1.02)
    marks = [
        bar(0, 6, 10, 10, BIAS),
        text(15, 15, "steady lean (bias)", colour=INK),
        bar(150, 6, 10, 10, VOLATILITY),
        text(165, 15, "swing (volatility)", colour=INK),
    ]
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y = top + step * i
        R, bias, swing = (float(row[m]) for m in ("R", "R_bias", "R_volatility"))  # type: ignore[arg-type]
        low, high = row["R_low"], row["R_high"]
        about = f"{label}: R {risk(R)}, bias {risk(bias)}, volatility {risk(swing)}"
        marks += [
            text(0, y + 12, fitting(f"{i + 1}  {label}", width - 130, 13), size=13, colour=INK),
            text(
                width,
                y + 12,
                f"{risk(R)} {f'({between(low, high)})' if low is not None else ''}",  # type: ignore[arg-type]
                anchor="end",
            ),
            bar(0, y + 19, bias * scale, 15, BIAS, about=about),
            bar(bias * scale, y + 19, swing * scale, 15, VOLATILITY, about=about),
        ]
        if low is not None and high is not None:
            a, b = float(low) * scale, float(high) * scale  # type: ignore[arg-type]
            marks += [line(a, y + 26.5, b, y + 26.5, INK), line(a, y + 22, a, y + 31, INK)]
            marks.append(line(b, y + 22, b, y + 31, INK))
    return Drawing(width, top + step * len(rows), tuple(marks))


def spread_picture(leans: Sequence[Leans], names: Sequence[str]) -> Figure | None:
    """The groups on which models of one topic differ most: one numbered dot per model."""
    first = leans[0].run.preferences
    if any(
        one.run.preferences.categories != first.categories
        or one.run.risks.groups != leans[0].run.risks.groups
        for one in leans
    ):
        return None
    order = sorted(range(len(leans)), key=lambda i: -leans[i].run.risks.R.value)
    y = (
        1
        if len(first.categories) == 2
        else int(leans[order[0]].counts[0][0] if leans[order[0]].counts else 0)
    )
    shares = np.stack([leans[i].share[:, y] for i in order])
    known = np.asarray(~np.isnan(shares).any(axis=0))
    spread = np.where(known, np.ptp(np.nan_to_num(shares), axis=0), -1)
    groups = [int(x) for x in np.argsort(-spread, kind="stable")[:ROWS] if known[x]]
    if not groups:
        return None
    groups.sort(key=lambda x: float(shares[:, x].mean()))
    category = first.categories[y]
    keys = [names[i] for i in order]
    frame = pd.DataFrame({"group": [leans[0].run.risks.groups[x] for x in range(len(spread))]})
    for k, name in enumerate(keys):
        frame[f"{name}: share of {category}"] = shares[k]
    said = "; ".join(f"{frame['group'][x]} differs by {percent(float(spread[x]))}" for x in groups)
    return Figure(
        key="spread",
        title="Where the models differ most",
        caption=(
            f"Share of {category} words, averaged over sentences. "
            + ", ".join(f"{k + 1}: {name}" for k, name in enumerate(distinct(keys, 40)))
            + "."
        ),
        alt=f"One dot per model and group, share of {category} words. {said}.",
        draw=lambda width: _numbered(leans[0], groups, shares, y, width),
        table=frame,
    )


def _numbered(one: Leans, groups: Sequence[int], shares: np.ndarray, y: int, width: int) -> Drawing:
    names = one.run.preferences.categories
    labels = distinct([one.run.risks.groups[x] for x in groups], 40)
    left, top = 110.0, 30.0
    span = width - left - 16
    high = top + _ROW * len(groups)
    middle, name = _reference_share(one, y)
    marks = [
        *(line(left + span * q, top - 6, left + span * q, high, LINE) for q in (0, 0.25, 0.75, 1)),
        line(left + span * middle, top - 6, left + span * middle, high, MARK, dash="3 3"),
        text(left, top - 14, f"no {names[y]}"),
        text(left + span * middle, top - 14, name, anchor="middle"),
        text(left + span, top - 14, f"all {names[y]}", anchor="end"),
    ]
    for i, (x, label) in enumerate(zip(groups, labels, strict=True)):
        at = top + _ROW * (i + 0.5)
        ends = left + span * shares[:, x].min(), left + span * shares[:, x].max()
        marks += [
            text(left - 10, at + 4, fitting(label, left - 16), colour=INK, anchor="end"),
            line(ends[0], at, ends[1], at, LINE),
        ]
        for k, share in enumerate(shares[:, x]):
            centre = left + span * float(share)
            about = f"{label}, model {k + 1}: {percent(float(share))} {names[y]} words"
            marks += [
                dot(centre, at, 7.5, SOFT, ring=PAGE, about=about),
                text(centre, at + 3.5, str(k + 1), size=10, colour=PAGE, anchor="middle"),
            ]
    return Drawing(width, high + 4, tuple(marks))
