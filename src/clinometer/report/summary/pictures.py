"""The pictures of the first screen: groups as dots and ranges, models as ranked bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clinometer.display.numbers import percent
from clinometer.report.charts.style import (
    INK,
    LINE,
    MARK,
    PAGE,
    WIDE,
    category_colours,
    distinct,
)
from clinometer.report.drawing import Drawing, bar, dot, fitting, line, text
from clinometer.report.figure import Figure
from clinometer.report.summary.decisions import asks, favourable
from clinometer.report.summary.headline import group_noun, noun_of
from clinometer.report.summary.leans import Leans
from clinometer.runs import Run

ROWS = 18  # groups on the first screen
ROW = 21.0
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
    value = -np.nan_to_num(leans.run.risks.r, nan=-np.inf)
    if leans.share.shape[1] == 2:
        value = leans.share[:, _right(leans.run)]
    return [int(x) for x in leans.seen[np.argsort(value[leans.seen], kind="stable")]]


def _right(run: Run) -> int:
    """Of two categories the one that an axis ends with: the favourable one, else the second."""
    y = favourable(run)
    return 1 if y is None else y


def groups_picture(leans: Leans, *, every: bool = False) -> Figure:
    """Dots and ranges for two categories, stacked shares for more."""
    groups = _ordered(leans) if every else chosen_groups(leans)
    two = leans.share.shape[1] == 2
    run = leans.run
    noun, _ = noun_of(run)
    frame = _frame(leans)
    many = f"{len(groups)} of {len(leans.seen)} shown. " if len(groups) < len(leans.seen) else ""
    one = "question" if asks(run) else "sentence"
    band = f"lowest to highest {one}" if leans.whole_range else f"middle 90 % of its {one}s"
    words = "" if asks(run) else "'s words"
    if two:
        read = f"Dot: average of its {one}s. Band: {band}. Grey ring: not clear."
    else:
        read = f"Share of each category{words}, averaged over {one}s. Grey name: not clear."
    last = run.preferences.categories[_right(run) if two else -1]
    said = "; ".join(
        f"{r['group']} {percent(r[f'share of {last}'])}" + ("" if r["clear"] else " (not clear)")
        for r in frame.iloc[groups[:40]].to_dict("records")
    )
    asked = "What the model answers" if asks(run) else "Which words the model writes"
    title = f"{asked}, by {group_noun(run)}"
    return Figure(
        key="groups" if not every else "every-group",
        title=title if not every else f"All {len(groups)} {noun}",
        caption=f"{many}{read}",
        alt=f"{title}. Share of {last}{'' if asks(run) else ' words'}: {said}.",
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


def reference_share(leans: Leans, y: int) -> tuple[float, str]:
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
    end = _right(leans.run)
    words = "" if asks(leans.run) else " words"
    labels = distinct([leans.run.risks.groups[x] for x in groups], 40)
    left, top = _room(labels, width), 30.0
    right = width - 16.0
    high = top + ROW * len(groups)
    span = right - left

    def at(share: float) -> float:
        return left + span * min(1.0, max(0.0, share))

    middle, name = reference_share(leans, end)
    marks = [
        *(line(at(q), top - 6, at(q), high, LINE) for q in (0, 0.25, 0.75, 1)),
        line(at(middle), top - 6, at(middle), high, MARK, dash="3 3"),
        text(at(0), top - 14, fitting(f"all {names[1 - end]}", span / 3), colour=colours[1 - end]),
        text(at(middle), top - 14, name, anchor="middle"),
        text(
            *(at(1), top - 14, fitting(f"all {names[end]}", span / 3)),
            colour=colours[end],
            anchor="end",
        ),
    ]
    for i, (x, label) in enumerate(zip(groups, labels, strict=True)):
        y = top + ROW * (i + 0.5)
        clear = bool(leans.clear[x])
        colour = colours[int(leans.favoured[x])] if clear else MARK
        share, low, far = (float(v[x, end]) for v in (leans.share, leans.low, leans.high))
        about = (
            f"{label}: {percent(share)} {names[end]}{words} on average, {percent(low)} to "
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


def _room(labels: Sequence[str], width: int) -> float:
    """The space for the names of the groups: what they need, within limits."""
    least, most = (130.0, 180.0) if width >= WIDE else (96.0, 0.36 * width)
    return min(most, max(least, 6.6 * max((len(label) for label in labels), default=0) + 18))


def _stacks(leans: Leans, groups: Sequence[int], width: int) -> Drawing:
    names = leans.run.preferences.categories
    colours = category_colours(len(names))
    labels = distinct([leans.run.risks.groups[x] for x in groups], 40)
    left = _room(labels, width)
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
        y = top + ROW * i
        ink = INK if leans.clear[x] else MARK
        marks.append(text(left - 10, y + 14, fitting(label, left - 16), colour=ink, anchor="end"))
        at = left
        for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
            share = float(leans.share[x, k])
            about = f"{label}: {percent(share)} {name}"
            marks.append(bar(at, y + 3, max(0.0, span * share - 1), 14, colour, about=about))
            at += span * share
    return Drawing(width, top + ROW * len(groups) + 4, tuple(marks))
