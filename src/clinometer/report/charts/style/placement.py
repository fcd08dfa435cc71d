"""Label placement: a position next to each point, none over another label or point.

All units are pixels. A label takes the position with the least cost: near its point, away from
neighbours, over few lines; each in turn, then a few more rounds given the others' positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]

_SWEEPS = 4
_HALF_LINE = 7.0  # a line of 12 pixels and its air
_GAPS = (7.0, 11.0, 15.0, 20.0, 27.0, 38.0, 50.0)  # from the edge of a point to its label
_JOINED = 10.0  # a gap from which on a line joins the two
_NEAR = 70.0  # between points that are neighbours
_ANGLES = np.arange(24) * (np.pi / 12)

#: Penalties of a position, in pixels of distance. From _CROSSES on it is not clear.
_COVERS, _CROSSES, _OVER_LINE = 1e4, 150.0, 0.5


@dataclass(frozen=True)
class LabelPosition:
    """The start, middle or end of a label (depending on `align`), and its line, if any.

    clear: it covers nothing, its line crosses nothing, and few lines run through it.
    """

    at: tuple[float, float]
    align: str
    box: Box
    join: Box | None
    clear: bool


def place_labels(
    dots: Floats,
    radii: Floats,
    which: Sequence[int],
    widths: Floats,
    *,
    plot: tuple[float, float],
    lines: Floats,
) -> list[LabelPosition]:
    """A position for the label of each of the dots [n, 2] in `which`, `widths` wide.

    plot: its width and height. lines [m, 4]: x, y, x, y of lines that a label should not cover.
    """
    options = [
        _options(dots, radii, i, width, plot=plot, lines=lines)
        for i, width in zip(which, widths, strict=True)
    ]
    neighbours = [(np.hypot(*(dots - dots[i]).T) < _NEAR).sum() for i in which]
    loneliest_first = np.argsort(neighbours, kind="stable")
    chosen: dict[int, int] = {}
    costs: dict[int, float] = {}
    for _ in range(_SWEEPS):
        before = dict(chosen)
        for i in loneliest_first.tolist():
            others = [(options[j], k) for j, k in chosen.items() if j != i]
            cost = options[i].beside(others)
            chosen[i] = int(cost.argmin())
            costs[i] = float(cost.min())
        if chosen == before:
            break
    return [o.place(chosen[i], clear=costs[i] < _CROSSES) for i, o in enumerate(options)]


@dataclass(frozen=True)
class _Options:
    """The k candidate positions of one label: boxes, joining lines, and their own cost."""

    boxes: Floats
    joins: Floats
    joined: NDArray[np.bool_]
    cost: Floats
    sides: NDArray[np.int64]

    def beside(self, others: Sequence[tuple[_Options, int]]) -> Floats:
        """The cost of each position, given those of the other labels."""
        boxes = np.array([o.boxes[k] for o, k in others]).reshape(-1, 4)
        joins = np.array([o.joins[k] for o, k in others if o.joined[k]]).reshape(-1, 4)
        covered = _overlap(self.boxes, boxes).sum(axis=1)
        crossed = (_inside(joins, self.boxes) > 0).sum(axis=0)
        crossed += self.joined * (_inside(self.joins, boxes) > 0).sum(axis=1)
        crossed += self.joined * _crossing(self.joins, joins).sum(axis=1)
        return np.asarray(self.cost + _COVERS * covered + _CROSSES * crossed)

    def place(self, k: int, *, clear: bool) -> LabelPosition:
        left, top, right, bottom = (float(v) for v in self.boxes[k])
        side = int(self.sides[k])
        x = {1: left, 0: (left + right) / 2, -1: right}[side]
        align = {1: "left", 0: "center", -1: "right"}[side]
        a, b, c, d = (float(v) for v in self.joins[k])
        join = (a, b, c, d) if self.joined[k] else None
        return LabelPosition(
            (x, (top + bottom) / 2), align, (left, top, right, bottom), join, clear
        )


def _options(
    dots: Floats,
    radii: Floats,
    i: int,
    width: float,
    *,
    plot: tuple[float, float],
    lines: Floats,
) -> _Options:
    angle, gap = (a.ravel() for a in np.meshgrid(_ANGLES, _GAPS))
    way = np.stack([np.cos(angle), -np.sin(angle)], axis=1)
    sides = np.where(way[:, 0] > 0.3, 1, np.where(way[:, 0] < -0.3, -1, 0))
    # The edge of the name, not its middle, lies `gap` from the edge of the point.
    reach = radii[i] + gap
    x = dots[i, 0] + reach * way[:, 0]
    y = dots[i, 1] + (reach + np.where(sides == 0, _HALF_LINE - 2, 0)) * way[:, 1]
    left = np.where(sides == 1, x, np.where(sides == -1, x - width, x - width / 2))
    boxes = np.stack([left, y - _HALF_LINE, left + width, y + _HALF_LINE], axis=1)
    joins = np.concatenate([dots[i] + radii[i] * way, np.stack([x, y], axis=1)], axis=1)
    outside = (boxes[:, :2] < 0).any(axis=1) | (boxes[:, 2:] > np.asarray(plot)).any(axis=1)
    joined = gap > _JOINED
    marks = np.concatenate([dots - radii[:, None], dots + radii[:, None]], axis=1)
    elsewhere = np.hypot(*(dots - dots[i]).T) > 1  # a point under this one is not in the way
    away = _away(dots, i)
    cost = (
        gap
        + _COVERS * (outside + _overlap(boxes, marks).sum(axis=1))
        + _OVER_LINE * _inside(lines, boxes).sum(axis=0)
        + joined * _CROSSES * (_inside(joins, marks[elsewhere]) > 0).sum(axis=1)
        + 5 * (1 - way @ away)
    )
    return _Options(boxes, joins, joined, cost, sides)


def _away(dots: Floats, i: int) -> Floats:
    """The direction away from the neighbours; up and right where there are none."""
    apart = dots[i] - dots
    distance = np.hypot(*apart.T)
    near = (distance > 1) & (distance < _NEAR)
    push = np.array([0.01, -0.01]) + (apart[near] / distance[near, None] ** 2).sum(axis=0)
    return np.asarray(push / np.hypot(*push), dtype=np.float64)


def _overlap(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """[k, n]: which boxes share any area."""
    first, second = a[:, None], b[None]
    return np.asarray(
        (
            np.maximum(first[..., :2], second[..., :2])
            < np.minimum(first[..., 2:], second[..., 2:])
        ).all(axis=2)
    )


def _inside(lines: Floats, boxes: Floats) -> Floats:
    """[m, k]: how much of each of m lines lies in each of k boxes, in pixels."""
    start, step = lines[:, None, :2], (lines[:, 2:] - lines[:, :2])[:, None]
    step = np.where(np.abs(step) < 1e-9, 1e-9, step)
    ends = np.stack([(boxes[None, :, :2] - start) / step, (boxes[None, :, 2:] - start) / step])
    enter, leave = ends.min(axis=0).max(axis=2), ends.max(axis=0).min(axis=2)
    share = np.clip(leave, 0, 1) - np.clip(enter, 0, 1)
    return np.asarray(np.maximum(share, 0) * np.hypot(step[..., 0], step[..., 1]))


def _crossing(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """[k, m]: which lines cross. Those from one point do not."""

    def side(p: Floats, q: Floats, r: Floats) -> Floats:
        u, v = q - p, r - p
        return np.asarray(np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]))

    p, q, r, s = a[:, None, :2], a[:, None, 2:], b[None, :, :2], b[None, :, 2:]
    return np.asarray((side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0))
