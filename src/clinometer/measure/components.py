"""Lean, swing, dice: the variance of repeated replies in three parts.

A reply of group x in context c is y = p* + lean + swing + dice: the lean of x is the same in every
context, its swing belongs to the context, and dice are what one and the same request gives when it
is asked again. docs/measure.md derives the estimators. With exact probabilities there are no dice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from clinometer.errors import SettingsError
from clinometer.measure.evidence import by_unit, unit_numbers
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.means import jackknife
from clinometer.statistics.intervals.reach import student_reach
from clinometer.statistics.significance import holm

NO_DICE = "every request was made once, so dice cannot be told from swing"
ONE_CONTEXT = "one context, so swing cannot be told from lean"


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Replies of each cell, summed up: all that the split needs.

    mean     [X,C,D] of the replies: their number on a scale, or the shares of K categories
    within   [X,C] variance of one reply within its cell, unbiased; NaN where one reply was given
    n        [X,C] replies, inf for exact probabilities, 0 for a missing cell
    weights  [C] of the contexts, sum to one
    groups   [X] weights of the groups, sum to one
    centre   [X,C,D] or what broadcasts to it: p*; None: the mean of the groups in the context
    units    [C] which contexts are one unit of sampling
    scale    the length of the squares: 1/√2 for shares, so that two categories have the variance
             of a share; 1 on a scale
    """

    mean: FloatArray
    within: FloatArray
    n: FloatArray
    weights: FloatArray
    groups: FloatArray
    centre: FloatArray | None
    units: NDArray[np.intp]
    scale: float = 1.0

    @classmethod
    def of(
        cls,
        grid: PreferenceGrid,
        answers: FloatArray | None,
        *,
        clusters: Sequence[object] | None = None,
    ) -> CellMoments:
        """The moments of preferences that were counted from `answers` [X,C], or read exactly."""
        X, C = grid.shape
        seen = np.ones((X, C), bool) if grid.mask is None else grid.mask
        n = np.where(seen, np.inf if answers is None else answers, 0.0)
        p = np.where(seen[..., None], np.asarray(grid.values, dtype=np.float64), 0.0)
        star = None if grid.relative else np.asarray(grid.reference)
        scale = 1.0
        if grid.criterion.points:
            points = np.array(grid.criterion.points)
            mean = (p @ points)[..., None]
            square = p @ points**2 - mean[..., 0] ** 2
            star = None if star is None else (star @ points)[..., None]
        else:
            mean, square, scale = p, (p * (1 - p)).sum(axis=-1) / 2, math.sqrt(0.5)
        with np.errstate(invalid="ignore", divide="ignore"):
            within = np.where(np.isinf(n), 0.0, square * n / (n - 1))
        weights = grid.context_weights
        return cls(
            mean,
            np.where(n > 1, within, np.nan),
            n,
            weights[0] if len(weights) == 1 else grid.group_weights @ weights,
            np.asarray(grid.group_weights),
            star,
            unit_numbers(clusters, C),
            scale,
        )


@dataclass(frozen=True)
class GroupPart:
    """One group: its steady lean, in points of the scale or shares of the categories.

    lean       one number on a scale, else one for each category
    low, high  of the lean on a scale, or of the first category's share
    p          of no lean, corrected for all groups (Holm)
    """

    group: str
    lean: tuple[float, ...]
    low: float | None
    high: float | None
    p: float | None

    def clear(self, level: float) -> bool:
        """Whether the lean is clear with all groups looked at."""
        return self.p is not None and self.p <= 1 - level


class VarianceParts(NamedTuple):
    """The variance of a reply in three parts, at least 0 each."""

    lean: float
    swing: float
    dice: float


def _at_least_zero(part: Estimate | None) -> float:
    """Return the value of a part of the variance, 0 where it cannot be told."""
    return 0.0 if part is None else max(part.value, 0.0)


@dataclass(frozen=True)
class Components:
    """The three parts of the variance of a reply, each an estimate that may fall below 0.

    lean, swing, dice  None where the replies cannot tell; `note` says why
    p                  of no lean at all
    groups             each group's steady lean
    contexts, replies  how many contexts (units), and replies per cell on average; inf: exact
    """

    lean: Estimate
    swing: Estimate | None
    dice: Estimate | None
    p: float | None
    groups: tuple[GroupPart, ...]
    contexts: int
    replies: float
    note: str = ""

    @property
    def total(self) -> float:
        """The variance of a reply around p*, each part at least 0."""
        return sum(self.parts)

    @property
    def parts(self) -> VarianceParts:
        """Return lean, swing and dice, at least 0; a part that cannot be told is 0."""
        return VarianceParts(
            lean=_at_least_zero(self.lean),
            swing=_at_least_zero(self.swing),
            dice=_at_least_zero(self.dice),
        )

    def clear_groups(self) -> tuple[GroupPart, ...]:
        """Groups whose steady lean is clear, the largest first; none unless any lean is."""
        level = self.lean.level or 0.95
        if (
            self.p is None or self.p > 1 - level
        ):  # one test decides whether anything is said
            return ()
        clear = [group for group in self.groups if group.clear(level)]
        return tuple(sorted(clear, key=lambda g: -max(map(abs, g.lean))))


def split_replies(
    cells: CellMoments, names: Sequence[str], *, level: float = 0.95
) -> Components:
    """Lean, swing and dice of replies, with intervals.

    Args:
        cells: the replies of each group and context.
        names: [X] of the groups.
        level: of the intervals.

    One context, or one reply per cell, leave a part untold and the note says so. No reply at all is
    an error.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=(4, 50, 6)) + np.array([0.5, 0, 0, -0.5])[:, None, None]
    >>> cells = CellMoments(
    ...     y.mean(axis=2)[..., None], y.var(axis=2, ddof=1), np.full((4, 50), 6.0),
    ...     np.full(50, 1 / 50), np.full(4, 1 / 4), None, np.arange(50))
    >>> found = split_replies(cells, ["a", "b", "c", "d"])
    >>> [round(part, 1) for part in found.parts], [g.group for g in found.clear_groups()]
    ([0.1, 0.0, 0.9], ['d', 'a'])
    """
    d = Deviations.of(cells)
    contexts = int(cells.units.max()) + 1
    alone = contexts < 2
    once = not (cells.n > 1).any()
    v_lean, v_swing, v_dice = d.parts(fixed=alone)
    notes = [*([ONE_CONTEXT] if alone else []), *([NO_DICE] if once else [])]
    lean, p = Estimate(v_lean), None
    swing = None if alone else Estimate(v_swing)
    dice = None if once else Estimate(v_dice)
    groups = [
        GroupPart(name, tuple(x), None, None, None)
        for name, x in zip(names, d.shown.tolist(), strict=True)
    ]
    if not alone:
        share = d.W @ d.groups

        def estimate(value: float, without: FloatArray) -> Estimate:
            part = jackknife(value, without, share, level=level)
            low, high = max(part.low or 0.0, 0.0), max(part.high or 0.0, 0.0)
            return replace(part, low=low, high=high)

        of_lean, of_swing, of_dice = d.without()
        p = d.p_of_no_lean(v_lean)
        lean, swing = estimate(v_lean, of_lean), estimate(v_swing, of_swing)
        if p <= 1 - level and v_lean > 0:  # its root is further from 0, and less skewed
            root = estimate(math.sqrt(v_lean), np.sqrt(np.maximum(of_lean, 0.0)))
            ends = (root.low or 0.0) ** 2, (root.high or 0.0) ** 2
            lean = replace(lean, low=ends[0], high=max(ends[1], v_lean))
        groups = d.group_leans(names, level)
        dice = None if once else estimate(v_dice, of_dice)
    asked = cells.n[cells.n > 0]
    return Components(
        lean,
        swing,
        dice,
        p,
        tuple(groups),
        contexts,
        float(asked.mean()),
        "; ".join(notes),
    )


@dataclass(frozen=True, eq=False)
class Deviations:
    """Cells as deviations from p*, with what dice leave in them.

    d       [X,C,D] deviation of a cell's mean; 0 where missing
    noise   [X,C] expected square that dice add to it
    within  [X,C] variance of a reply; cells with one reply have the mean of the others
    w       [X,C] weights within the group, sum to one in each
    groups  [X] weights of the groups that were observed
    W, z    [U,X] weights and [U,X,D] weighted sums of d, by unit
    """

    d: FloatArray
    noise: FloatArray
    within: FloatArray
    w: FloatArray
    groups: FloatArray
    units: NDArray[np.intp]
    rank: int
    W: FloatArray
    z: FloatArray

    @classmethod
    def of(cls, cells: CellMoments) -> Deviations:
        seen = cells.n > 0
        if not seen.any():
            raise SettingsError("replies: expected at least one reply, found none")
        w = np.where(seen, cells.weights, 0.0)
        total = w.sum(axis=1, keepdims=True)
        w = w / np.where(total > 0, total, 1.0)
        groups = np.where(total[:, 0] > 0, cells.groups, 0.0)
        groups = groups / groups.sum()
        known = np.isfinite(cells.within) & seen
        weight = groups[:, None] * w * known
        typical = (weight * np.where(known, cells.within, 0.0)).sum() / max(
            weight.sum(), 1e-300
        )
        within = np.where(known, cells.within, np.where(seen, typical, 0.0))
        dice = within / np.where(seen, cells.n, 1.0)  # the variance of a cell's mean
        mean = np.where(seen[..., None], cells.mean, 0.0)
        if cells.centre is None:
            share = np.where(seen, groups[:, None], 0.0)
            share = share / np.maximum(share.sum(axis=0), 1e-300)
            d = mean - (share[..., None] * mean).sum(axis=0)
            noise = dice * (1 - 2 * share) + (share**2 * dice).sum(axis=0)
        else:
            d, noise = mean - cells.centre, dice
        directions = max(mean.shape[-1] - 1, 1)
        rank = max(directions * (len(groups) - (cells.centre is None)), 1)
        d = np.where(seen[..., None], d, 0.0) * cells.scale
        noise = np.where(seen, noise, 0.0)
        W = by_unit(w.T, cells.units)
        z = by_unit(np.moveaxis(w[..., None] * d, 0, 1), cells.units)
        return cls(d, noise, within, w, groups, cells.units, rank, W, z)

    @property
    def lean(self) -> FloatArray:
        """[X,D], the mean deviation of each group."""
        return np.asarray(self.z.sum(axis=0))

    @property
    def shown(self) -> FloatArray:
        """The same in points, or as shares of the categories, of which each is counted in full."""
        return self.lean * (1.0 if self.lean.shape[-1] == 1 else math.sqrt(2))

    def lean_squares(self) -> FloatArray:
        """[X], unbiased squares of the leans: products of two different units have no noise."""
        W, z = self.W, self.z
        apart = 1 - (W**2).sum(axis=0)
        square = (z.sum(axis=0) ** 2).sum(axis=-1) - (z**2).sum(axis=(0, 2))
        return np.asarray(np.where(apart > 1e-9, square / np.maximum(apart, 1e-9), 0.0))

    def parts(self, *, fixed: bool) -> tuple[float, float, float]:
        """Lean, swing and dice, means over the groups."""
        square = (self.w * (self.d**2).sum(axis=-1)).sum(axis=1)
        noise = (self.w * self.noise).sum(axis=1)
        if fixed:
            lean = (self.lean**2).sum(axis=-1) - (self.w**2 * self.noise).sum(axis=1)
        else:
            lean = self.lean_squares()
        dice = (self.w * self.within).sum(axis=1)
        g = self.groups
        return float(g @ lean), float(g @ (square - noise - lean)), float(g @ dice)

    def residuals(self) -> FloatArray:
        """[U,X,D], √W (mean of the unit − lean) √w_x: their squares sum to the variance between
        units."""
        W = self.W
        z = self.z / np.where(W > 0, W, 1.0)[..., None] - self.lean
        return np.asarray(z * np.sqrt(W * self.groups)[..., None])

    def freedom(self) -> FloatArray:
        """[X], degrees of freedom of a weighted variance between units (Satterthwaite)."""
        W = self.W
        two, three = (W**2).sum(axis=0), (W**3).sum(axis=0)
        trace = two - 2 * three + two**2
        return np.asarray(np.maximum((1 - two) ** 2 / np.maximum(trace, 1e-15), 1.0))

    def sums(self, values: FloatArray) -> FloatArray:
        """[U,X], what each unit adds to the mean of values [X,C] over the cells of a group."""
        return by_unit((self.w * values).T, self.units)

    def without(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """[U], lean, swing and dice without each unit."""
        W, z = self.W, self.z
        left = 1 - W
        apart = left**2 - ((W**2).sum(axis=0) - W**2)
        own = (z**2).sum(axis=-1)
        square = ((z.sum(axis=0) - z) ** 2).sum(axis=-1) - (own.sum(axis=0) - own)
        lean = np.where(
            apart > 1e-9, square / np.maximum(apart, 1e-9), self.lean_squares()
        )

        def mean(values: FloatArray) -> FloatArray:
            """Weighted means over the cells of [X,C] without each unit, [U,X]."""
            sums = self.sums(values)
            rest = sums.sum(axis=0) - sums
            return np.asarray(
                np.where(left > 1e-9, rest / np.maximum(left, 1e-9), rest)
            )

        g = self.groups
        swing = mean((self.d**2).sum(axis=-1) - self.noise) - lean
        return lean @ g, swing @ g, mean(self.within) @ g

    def p_of_no_lean(self, lean: float) -> float:
        """Of no lean in any group."""
        observed = float(self.groups @ (self.lean**2).sum(axis=-1))
        n = float(self.groups @ self.freedom())
        residuals = self.residuals().reshape(-1, self.d[:, 0].size)
        return box_test(observed, observed - lean, residuals, n, self.rank)

    def group_leans(self, names: Sequence[str], level: float) -> list[GroupPart]:
        """Each group's lean, tested by its own spread over the contexts."""
        lean, shown, freedom = self.lean, self.shown, self.freedom()
        residuals = self.residuals()
        square, unbiased = (lean**2).sum(axis=-1), self.lean_squares()
        D = lean.shape[-1]
        p = holm([
            box_test(square[x], square[x] - unbiased[x], residuals[:, x], freedom[x], max(D - 1, 1))
            for x in range(len(names))
        ])  # fmt: skip
        W, z = self.W, self.z[..., 0]
        q = (W**2).sum(axis=0)
        off = (z - W * lean[:, 0]) ** 2 / np.where(W > 0, W, 1.0)
        error = np.sqrt(q / np.maximum(1 - q, 1e-9) * off.sum(axis=0))
        reach = student_reach(
            (1.0 if D == 1 else math.sqrt(2)) * error, freedom, level=level
        )
        low, high = shown[:, 0] - reach, shown[:, 0] + reach
        columns = (part.tolist() for part in (shown, low, high, p))
        rows = zip(names, *columns, strict=True)
        return [GroupPart(name, tuple(x), a, b, q) for name, x, a, b, q in rows]


def box_test(
    square: float, noise: float, residuals: FloatArray, n: float, rank: int
) -> float:
    """p of a squared lean being its noise alone, a quadratic form (Box's F): noise goes in
    (tr Σ)² / tr Σ² directions, at most `rank`, of which residuals [U,dims] of n degrees tell.

    tr S² of a sample is too large; n²/((n − 1)(n + 2)) (tr S² − (tr S)²/n) is unbiased for normal
    ones.
    """
    if noise <= ROUNDING * max(square, 1e-300):  # no noise: what is seen is there
        return 0.0 if square > ROUNDING**2 else 1.0
    few = residuals.shape[0] <= residuals.shape[1]
    products = residuals @ residuals.T if few else residuals.T @ residuals
    trace, two = float(np.trace(products)), float((products**2).sum())
    first = 1.0
    if n > 1.5 and trace > 0:
        unbiased = n**2 / ((n - 1) * (n + 2)) * (two - trace**2 / n)
        first = float(np.clip(trace**2 / max(unbiased, 1e-300), 1.0, rank))
    return float(fdtrc(first, n * first, square / noise))
