"""The groups that swing most, sentence by sentence: a heat map small enough to label."""

from __future__ import annotations

import numpy as np

from clinometer.display.numbers import percent
from clinometer.report.charts.style import (
    INK,
    LINE,
    MARK,
    SOFT,
    WIDE,
    brief,
    category_colours,
    distinct,
)
from clinometer.report.derived import Reading
from clinometer.report.drawing import Drawing, bar, fitting, line, text
from clinometer.report.figure import Figure
from clinometer.report.figures.comparison import basis
from clinometer.report.summary.decisions import asks, question_label

_GROUPS, _CONTEXTS = 20, 20
_ROW = 18.0


def swing_figure(reading: Reading) -> Figure | None:
    """Rows: the groups with the highest volatility risk. Columns: the contexts that swing most."""
    run, p = reading.run, reading.run.preferences
    r = np.nan_to_num(run.risks.r_volatility, nan=-np.inf)
    groups = [int(x) for x in np.argsort(-r, kind="stable")[:_GROUPS] if r[x] > 1e-9]
    if not groups or len(p.contexts) < 2:
        return None
    spread = np.nan_to_num(np.abs(reading.s[groups] - _means(reading, groups)).max(axis=2))
    order = np.argsort(-spread.mean(axis=0), kind="stable")[:_CONTEXTS]
    contexts = [int(c) for c in order[np.argsort(_pull(reading)[order], kind="stable")]]
    said = "; ".join(f"{brief(p.groups[x], 30)} {r[x]:.3f}" for x in groups[:8])
    one = "question" if asks(run) else "sentence"
    return Figure(
        key="swing",
        title=f"The most swinging groups, {one} by {one}",
        caption=(
            "Colour: the favoured category; the fuller the square, the further from the reference; "
            f"a cross: no answer. {len(groups)} of {len(p.groups)} groups, {len(contexts)} of "
            f"{len(p.contexts):,} contexts. {basis(run)}."
        ),
        alt=f"Heat map. Volatility risk of the groups shown: {said}.",
        draw=lambda width: _map(reading, groups, contexts, width),
    )


def _means(reading: Reading, groups: list[int]) -> np.ndarray:
    return np.asarray(reading.run.risks.mean_stereotype)[groups][:, None, :]


def _pull(reading: Reading) -> np.ndarray:
    return np.nan_to_num(reading.context_mean[:, -1])


def _map(reading: Reading, groups: list[int], contexts: list[int], width: int) -> Drawing:
    p = reading.run.preferences
    colours = category_colours(len(p.categories))
    left = 130.0 if width >= WIDE else 96.0
    side = min(_ROW * 1.9, (width - left - 8) / len(contexts))
    marks: list[str] = []
    at = left
    for name, colour in zip(p.categories, colours, strict=True):
        shown = fitting(name, 90)
        marks += [bar(at, 2, 10, 10, colour), text(at + 14, 11, shown, colour=INK)]
        at += 26 + 6.6 * len(shown)
    top = 24.0
    labels = distinct([p.groups[x] for x in groups], 40)
    for i, (x, label) in enumerate(zip(groups, labels, strict=True)):
        y = top + _ROW * i
        marks.append(text(left - 10, y + 13, fitting(label, left - 16), colour=INK, anchor="end"))
        for j, c in enumerate(contexts):
            box = left + side * j, y + 1, side - 1, _ROW - 2
            depth = reading.strength[x, c]
            if np.isnan(depth):
                marks.append(line(box[0] + 3, y + 4, box[0] + side - 4, y + _ROW - 4, MARK))
                marks.append(line(box[0] + 3, y + _ROW - 4, box[0] + side - 4, y + 4, MARK))
                continue
            k = int(reading.favoured[x, c])
            marks.append(bar(*box, LINE, opacity=0.45))
            wide = box[2] * float(np.sqrt(min(1.0, depth)))
            high = box[3] * float(np.sqrt(min(1.0, depth)))
            about = f"{label}, {j + 1}: {percent(float(p.values[x, c, k]))} {p.categories[k]}"
            marks.append(
                bar(
                    box[0] + (box[2] - wide) / 2,
                    box[1] + (box[3] - high) / 2,
                    wide,
                    high,
                    colours[k],
                    about=about if width >= WIDE else "",
                )
            )
    bottom = top + _ROW * len(groups)
    for j in range(len(contexts)):
        marks.append(
            text(left + side * (j + 0.5), bottom + 13, str(j + 1), size=10, anchor="middle")
        )
    templates = p.templates or p.contexts
    asked = asks(reading.run)
    y = bottom + 34
    for j, c in enumerate(contexts):  # which sentence each column is
        whole = templates[c].replace("[X]", "…").replace("[Y]", "___")
        shown = fitting(question_label(templates[c]) if asked else whole, width - 40, 11)
        marks.append(text(22, y + 15 * j, shown, size=11, colour=SOFT))
        marks.append(text(14, y + 15 * j, str(j + 1), size=11, colour=SOFT, anchor="end"))
    return Drawing(width, y + 15 * len(contexts), tuple(marks))
