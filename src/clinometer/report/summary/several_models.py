"""The headline and the pictures for several models: which is furthest, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clinometer.display.numbers import between, percent, risk
from clinometer.errors import ClinometerError
from clinometer.report.charts.style import (
    BIAS,
    INK,
    LINE,
    MARK,
    PAGE,
    SOFT,
    VOLATILITY,
    brief,
    distinct,
)
from clinometer.report.drawing import Drawing, bar, dot, fitting, line, text
from clinometer.report.figure import Figure
from clinometer.report.figures.comparison import basis, risk_rows
from clinometer.report.summary.leans import Leans
from clinometer.report.summary.pictures import ROW, ROWS, reference_share
from clinometer.runs import Run, compare
from clinometer.runs.group_sentences import above_floor


def headline_of_several(names: Sequence[str], runs: Sequence[Run]) -> str:
    """The main result for several models: their order, if it is clear; else what differs."""
    chance = sum(above_floor(run) is False for run in runs)
    below = f"{chance} of them {'is' if chance == 1 else 'are'} not"
    if chance == len(runs):
        below = "None of them is"
    alike = f" {below} above what shuffled words give." if chance else ""
    order = sorted(range(len(runs)), key=lambda i: runs[i].risks.R.value)
    low, high = order[0], order[-1]
    span = f"R {risk(runs[low].risks.R.value)} to {risk(runs[high].risks.R.value)}"
    if len({run.record.topic.sha256 for run in runs}) > 1:
        return f"{len(runs)} runs on different topics: {span}; their risks are not comparable."
    if apart(runs[low], runs[high], pairs=len(runs) * (len(runs) - 1) // 2):
        return (
            f"Of {len(runs)} models, {brief(names[high], 40)} is furthest from the reference "
            f"(R {risk(runs[high].risks.R.value)}) and {brief(names[low], 40)} nearest "
            f"(R {risk(runs[low].risks.R.value)}).{alike}"
        )
    shares = [_swing_value(run) for run in runs]
    top = max(range(len(runs)), key=shares.__getitem__)
    rest = [share for i, share in enumerate(shares) if i != top]
    if shares[top] >= 0.5 and max(rest) < shares[top] - 0.25:
        others = (
            f"the other {_percent(rest[0])}"
            if len(rest) == 1
            else f"the others {_percent(min(rest))} to {_percent(max(rest))}"
        )
        return (
            f"{len(runs)} models are about equally far from the reference ({span}), but "
            f"{brief(names[top], 40)} swings: {_percent(shares[top])} of its risk, {others}.{alike}"
        )
    return (
        f"{len(runs)} models cannot be told apart in how far they are from the reference: "
        f"{span}.{alike}"
    )


def apart(low: Run, high: Run, *, pairs: int) -> bool:
    """Whether the lowest and the highest of several risks differ clearly; `pairs`: of how many
    pairs of models these two are the furthest apart.

    Models that answered the same questions are compared in pairs of answers: their intervals may
    overlap although one is above the other in nearly every context. Of other runs the intervals
    must not overlap; without intervals the risks must differ by 0.01.
    """
    a, b = low.risks.R, high.risks.R
    if a.high is None or b.low is None:
        return b.value - a.value >= 0.01
    try:
        p = compare(low, high, level=high.record.settings.level).overall[0].p
    except ClinometerError:  # other contexts or groups
        return a.high < b.low
    return p is not None and p * pairs <= 1 - high.record.settings.level


def _swing_value(run: Run) -> float:
    R = run.risks.R.value
    return run.risks.R_volatility.value / R if R > 0 else 0.0


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
        draw=lambda width: ranked_bars(rows, width),
        table=pd.DataFrame(rows).drop(columns=["muted"]),
    )


def ranked_bars(rows: Sequence[dict[str, object]], width: int) -> Drawing:
    """One bar per row, numbered from the top: bias and volatility end to end, interval of R."""
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
            text(0, y + 12, fitting(f"{i + 1} {label}", width - 130, 13), size=13, colour=INK),
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
    said = "; ".join(
        f"{frame['group'][x]} differs by {100 * float(spread[x]):.0f} points" for x in groups
    )
    return Figure(
        key="spread",
        title="Where the models differ most",
        caption=(
            f"Share of {category} words, averaged over sentences. "
            + ", ".join(
                f"{k + 1}:\N{NO-BREAK SPACE}{name}" for k, name in enumerate(distinct(keys, 40))
            )
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
    high = top + ROW * len(groups)
    middle, name = reference_share(one, y)
    marks = [
        *(line(left + span * q, top - 6, left + span * q, high, LINE) for q in (0, 0.25, 0.75, 1)),
        line(left + span * middle, top - 6, left + span * middle, high, MARK, dash="3 3"),
        text(left, top - 14, f"no {names[y]}"),
        text(left + span * middle, top - 14, name, anchor="middle"),
        text(left + span, top - 14, f"all {names[y]}", anchor="end"),
    ]
    for i, (x, label) in enumerate(zip(groups, labels, strict=True)):
        at = top + ROW * (i + 0.5)
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


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
