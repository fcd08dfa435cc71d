"""The drawings of a leaderboard: the plane of bias and volatility, and how likely each rank is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from clinometer.display.names import MEASURES, TITLES
from clinometer.display.numbers import percent, risk
from clinometer.report.charts.style.theme import (
    BIAS,
    INK,
    LINE,
    MARK,
    NARROW,
    PAGE,
    SOFT,
    brief,
)
from clinometer.report.drawing import Drawing, bar, dot, line, text
from clinometer.report.figure import Figure
from clinometer.report.leaderboard.board import Board, Ranked
from clinometer.report.summary.several_models import ranked_bars

#: From a value to pixels.
Scale = Callable[[float], float]

_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 14, 26, 40
_BARS = 8  # models drawn beside the plane, about as high as it
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)


def plane_figure(board: Board, addresses: Sequence[str]) -> Figure:
    """Every run of a board, numbered by its rank; each point leads to the page of its model."""
    rows = _rows(board.rows)
    said = "; ".join(
        f"{brief(r['name'], 40)}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for r in rows[:12]
    )
    more = f"; and {len(rows) - 12} more in the table" if len(rows) > 12 else ""
    return Figure(
        key=f"{board.key}-plane",
        title="Steady lean against swing",
        caption="Numbers are ranks by R. Along a dotted line R is the same; thin lines are "
        "intervals.",
        alt=f"Models in the plane of bias and volatility. {said}{more}.",
        draw=lambda width: _plane(board, addresses, width),
        table=pd.DataFrame(rows),
    )


def ranking_figure(board: Board) -> Figure | None:
    """The first models of a board as bars: what the numbers of the plane stand for."""
    rows = _rows(board.ranked[:_BARS])
    if len(rows) < 2:
        return None
    all_of = len(board.ranked)
    first = f"The {len(rows)} lowest of {all_of} models. " if len(rows) < all_of else ""
    said = "; ".join(f"{brief(r['name'], 40)}: R {risk(r['R'])}" for r in rows)
    return Figure(
        key=f"{board.key}-ranking",
        title="Ranked by R, the lowest first",
        caption=f"{first}Bar: bias risk, then volatility risk. Line: interval of R.",
        alt=f"Ranked bars. {said}.",
        draw=lambda width: ranked_bars(rows, width),
        table=pd.DataFrame(rows),
    )


def _rows(ranked: Sequence[Ranked]) -> list[dict[str, Any]]:
    return [
        {
            "rank": row.ranks["R"].rank if row.ranks else None,
            "name": row.name,
            **{
                f"{m}{end}": getattr(getattr(row.summary, m), part)
                for m in MEASURES
                for end, part in (("", "value"), ("_low", "low"), ("_high", "high"))
            },
        }
        for row in ranked
    ]


def rank_figure(row: Ranked, key: str) -> Figure:
    """How likely each rank is, for the three measures."""
    table = pd.DataFrame(
        {"rank": range(1, len(row.ranks["R"].probability) + 1)}
        | {m: row.ranks[m].probability for m in MEASURES}
    )
    said = "; ".join(
        f"{m}: rank {row.ranks[m].rank}, first in {percent(row.ranks[m].probability[0])}"
        for m in MEASURES
    )
    return Figure(
        key=f"{key}-ranks",
        title="How likely each rank is",
        caption="Rank 1 has the lowest risk. Shares of the replicates of the paired bootstrap "
        "over contexts.",
        alt=f"Bars of the probability of each rank. {said}.",
        draw=lambda width: _ranks(row, width),
        table=table,
    )


def strip(probability: Sequence[float]) -> str:
    """The probability of each rank as a strip, the lowest rank on the left: an SVG of a line."""
    top = max(probability)
    marks = "".join(
        f'<rect x="{i}" width="1" height="1" fill-opacity="{p / top:.2f}"/>'
        for i, p in enumerate(probability)
        if p >= 0.005
    )
    return (
        f'<svg class="strip" viewBox="0 0 {len(probability)} 1" preserveAspectRatio="none" '
        f'aria-hidden="true">{marks}</svg>'
    )


def _plane(board: Board, addresses: Sequence[str], width: int) -> Drawing:
    height = 0.62 * width if width > NARROW else 0.9 * width
    right = _end([(r.summary.R_bias.value, r.summary.R_bias.high) for r in board.rows])
    top = _end([(r.summary.R_volatility.value, r.summary.R_volatility.high) for r in board.rows])
    inner, tall = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def x(value: float) -> float:
        return _LEFT + inner * min(value / right, 1.0)

    def y(value: float) -> float:
        return _TOP + tall * (1 - min(value / top, 1.0))

    marks = [text(4, 14, "volatility risk ↑ more swing")]
    for value in _ticks(right):
        marks.append(line(x(value), _TOP, x(value), _TOP + tall, LINE))
        marks.append(text(x(value), height - 22, f"{value:g}", anchor="middle"))
    for value in _ticks(top):
        marks.append(line(_LEFT, y(value), width - _RIGHT, y(value), LINE))
        marks.append(text(_LEFT - 6, y(value) + 4, f"{value:g}", anchor="end"))
    marks += _diagonals(right, top, x, y)
    marks.append(text(width - _RIGHT, height - 4, "bias risk: steady lean → more", anchor="end"))
    for row in board.rows:
        b, v = row.summary.R_bias, row.summary.R_volatility
        for ends in (
            (x(b.low or 0), y(v.value), x(b.high or 0), y(v.value)) if b.high is not None else None,
            (x(b.value), y(v.low or 0), x(b.value), y(v.high or 0)) if v.high is not None else None,
        ):
            if ends is not None:
                marks.append(f'<g opacity=".25">{line(*ends, INK)}</g>')
    shown = list(zip(board.rows, addresses, strict=True))
    for row, address in reversed(shown):  # the lowest risk on top
        marks.append(_point(row, address, x(row.summary.R_bias.value),
                            y(row.summary.R_volatility.value)))  # fmt: skip
    return Drawing(width, height, tuple(marks))


def _point(row: Ranked, address: str, x: float, y: float) -> str:
    s = row.summary
    about = (
        f"{row.name}: R {s.R.value:.3f}, bias {s.R_bias.value:.3f}, "
        f"volatility {s.R_volatility.value:.3f}"
    )
    rank = str(row.ranks["R"].rank) if row.ranks else ""
    size = 9 if len(rank) < 3 else 7.5
    inside = text(x, y + 3.2, rank, size=size, colour=PAGE, anchor="middle", weight="bold")
    circle = dot(x, y, 8 if rank else 5, BIAS if rank else MARK, ring=PAGE, about=about)
    number = inside.replace("<text", '<text pointer-events="none"', 1)
    return f'<g data-point="{address}">{circle}{number}</g>'


def _ranks(row: Ranked, width: int) -> Drawing:
    count = len(row.ranks["R"].probability)
    inner, tall, gap = width - _LEFT - _RIGHT, 70, 44
    step = inner / count
    marks = []
    for k, measure in enumerate(MEASURES):
        base = 24 + k * (tall + gap) + tall
        marks.append(text(_LEFT, base - tall - 8, TITLES[measure], colour=INK))
        for share in (0.5, 1.0):
            marks.append(
                line(_LEFT, base - tall * share, width - _RIGHT, base - tall * share, LINE)
            )
            marks.append(text(_LEFT - 6, base - tall * share + 4, percent(share), size=10,
                              anchor="end"))  # fmt: skip
        marks.append(line(_LEFT, base, width - _RIGHT, base, MARK))
        for i, p in enumerate(row.ranks[measure].probability):
            if p == 0:
                continue
            about = f"rank {i + 1}: {percent(p)}"
            marks.append(bar(_LEFT + i * step + 0.5, base - tall * p, max(step - 1, 1), tall * p,
                             BIAS, about=about))  # fmt: skip
        for i in sorted({0, count - 1, *range(4, count, 5)}):
            if i in (0, count - 1) or count - 1 - i > 2:
                marks.append(text(_LEFT + (i + 0.5) * step, base + 14, str(i + 1), size=10,
                                  colour=SOFT, anchor="middle"))  # fmt: skip
    return Drawing(width, 24 + len(MEASURES) * (tall + gap), tuple(marks))


def _end(pairs: Sequence[tuple[float, float | None]]) -> float:
    """The end of an axis: beyond every value, and every interval that is not far longer."""
    values = max(value for value, _ in pairs)
    ends = max(high if high is not None else value for value, high in pairs)
    return max(0.02, min(1.08 * ends, 1.6 * values) or 0.02)


def _ticks(end: float) -> list[float]:
    step = next((s for s in _STEPS if end / s <= 6), 1.0)
    return [round(step * i, 10) for i in range(int(end / step) + 1)]


def _diagonals(right: float, top: float, x: Scale, y: Scale) -> list[str]:
    """Lines along which R is the same."""
    step = next((s for s in _STEPS if (right + top) / s <= 6.5), 1.0)
    found, level = [], step
    while level < right + top:
        a, b = min(level, right), min(level, top)
        found.append(line(x(a), y(level - a), x(level - b), y(b), MARK, dash="2 3"))
        level += step
    return found
