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

TINY = 1e-300
"""A divisor that is never 0."""

NO_WEIGHT = 1e-9
"""Differences of weights below this are rounding."""


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Replies of each cell, summed up: all that the split needs."""

    mean: FloatArray
    """[X,C,D], mean of the replies: their number on a scale, or the shares of K categories."""

    within: FloatArray
    """[X,C], variance of one reply within its cell, unbiased; NaN where one reply was given."""

    n: FloatArray
    """[X,C], replies, inf for exact probabilities, 0 for a missing cell."""

    weights: FloatArray
    """[C], of the contexts, sum to one."""

    groups: FloatArray
    """[X], weights of the groups, sum to one."""

    centre: FloatArray | None
    """[X,C,D] or what broadcasts to it: p*; None: the mean of the groups in the context."""

    units: NDArray[np.intp]
    """[C], which contexts are one unit of sampling."""

    scale: float = 1.0
    """The length of the squares: 1/√2 for shares, so that two categories have the variance of a
    share; 1 on a scale."""

    @classmethod
    def of(
        cls,
        grid: PreferenceGrid,
        answers: FloatArray | None,
        *,
        clusters: Sequence[object] | None = None,
    ) -> CellMoments:
        """Return the moments of preferences that were counted from `answers` [X,C], or read
        exactly."""
        X, C = grid.shape
        observed = np.ones((X, C), bool) if grid.mask is None else grid.mask
        n = np.where(observed, np.inf if answers is None else answers, 0.0)
        values = np.asarray(grid.values, dtype=np.float64)
        p = np.where(observed[..., None], values, 0.0)
        centre = None if grid.relative else np.asarray(grid.reference)
        if grid.criterion.points:
            points = np.array(grid.criterion.points)
            mean = (p @ points)[..., None]
            variance = p @ points**2 - mean[..., 0] ** 2
            centre = None if centre is None else (centre @ points)[..., None]
            scale = 1.0
        else:
            mean = p
            variance = (p * (1 - p)).sum(axis=-1) / 2
            scale = math.sqrt(0.5)
        with np.errstate(invalid="ignore", divide="ignore"):
            unbiased = np.where(np.isinf(n), 0.0, variance * n / (n - 1))
        weights = grid.context_weights[0]
        if len(grid.context_weights) > 1:
            weights = grid.group_weights @ grid.context_weights
        return cls(
            mean=mean,
            within=np.where(n > 1, unbiased, np.nan),
            n=n,
            weights=weights,
            groups=np.asarray(grid.group_weights),
            centre=centre,
            units=unit_numbers(clusters, C),
            scale=scale,
        )


@dataclass(frozen=True)
class GroupPart:
    """One group: its steady lean, in points of the scale or shares of the categories."""

    group: str
    """Name of the group."""

    lean: tuple[float, ...]
    """One number on a scale, else one for each category."""

    low: float | None
    """Lower end of the lean on a scale, or of the first category's share."""

    high: float | None
    """Upper end of the lean on a scale, or of the first category's share."""

    p: float | None
    """p of no lean, corrected for all groups (Holm)."""

    def clear(self, level: float) -> bool:
        """Return whether the lean is clear with all groups looked at."""
        return self.p is not None and self.p <= 1 - level


class VarianceParts(NamedTuple):
    """The variance of a reply in three parts."""

    lean: float
    swing: float
    dice: float


@dataclass(frozen=True)
class Components:
    """The three parts of the variance of a reply, each an estimate that may fall below 0."""

    lean: Estimate
    """Variance of the groups' leans."""

    swing: Estimate | None
    """Variance that belongs to contexts; None where the replies cannot tell, and `note` says
    why."""

    dice: Estimate | None
    """Variance of the same request asked again; None as for `swing`."""

    p: float | None
    """p of no lean at all."""

    groups: tuple[GroupPart, ...]
    """Each group's steady lean."""

    contexts: int
    """How many contexts (units)."""

    replies: float
    """Replies per cell on average; inf: exact."""

    note: str = ""
    """What the replies cannot tell, and why."""

    @property
    def total(self) -> float:
        """Return the variance of a reply around p*, each part at least 0."""
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
        """Return groups whose steady lean is clear, the largest first; none unless any lean is:
        one test decides whether anything is said."""
        level = self.lean.level or 0.95
        if self.p is None or self.p > 1 - level:
            return ()
        clear = [group for group in self.groups if group.clear(level)]
        clear.sort(key=lambda group: max(map(abs, group.lean)), reverse=True)
        return tuple(clear)


def _at_least_zero(part: Estimate | None) -> float:
    """Return the value of a part of the variance, 0 where it cannot be told."""
    return 0.0 if part is None else max(part.value, 0.0)


def split_replies(
    cells: CellMoments, names: Sequence[str], *, level: float = 0.95
) -> Components:
    """Return lean, swing and dice of replies, with intervals.

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
    deviations = Deviations.of(cells)
    contexts = int(cells.units.max()) + 1
    replies = float(cells.n[cells.n > 0].mean())
    asked_once = not (cells.n > 1).any()
    if contexts < 2:
        return _split_of_one_context(deviations, names, asked_once, replies)

    parts = deviations.parts(fixed=False)
    share = deviations.W @ deviations.groups
    p_value = deviations.p_of_no_lean(parts.lean)
    without = deviations.without()
    lean = _jackknifed(parts.lean, without.lean, share, level)
    if p_value <= 1 - level and parts.lean > 0:
        lean = _lean_by_its_root(lean, without.lean, share, level)
    dice = None
    if not asked_once:
        dice = _jackknifed(parts.dice, without.dice, share, level)
    return Components(
        lean=lean,
        swing=_jackknifed(parts.swing, without.swing, share, level),
        dice=dice,
        p=p_value,
        groups=tuple(deviations.group_leans(names, level)),
        contexts=contexts,
        replies=replies,
        note=NO_DICE if asked_once else "",
    )


def _split_of_one_context(
    deviations: Deviations, names: Sequence[str], asked_once: bool, replies: float
) -> Components:
    """Return lean and dice of a single context, without intervals."""
    parts = deviations.parts(fixed=True)
    groups = [
        GroupPart(name, tuple(lean), None, None, None)
        for name, lean in zip(names, deviations.shown.tolist(), strict=True)
    ]
    return Components(
        lean=Estimate(parts.lean),
        swing=None,
        dice=None if asked_once else Estimate(parts.dice),
        p=None,
        groups=tuple(groups),
        contexts=1,
        replies=replies,
        note=f"{ONE_CONTEXT}; {NO_DICE}" if asked_once else ONE_CONTEXT,
    )


def _jackknifed(
    value: float, without: FloatArray, share: FloatArray, level: float
) -> Estimate:
    """Return a variance with its interval, which does not fall below 0."""
    estimate = jackknife(value, without, share, level=level)
    low = max(estimate.low or 0.0, 0.0)
    return replace(estimate, low=low, high=max(estimate.high or 0.0, 0.0))


def _lean_by_its_root(
    lean: Estimate, without: FloatArray, share: FloatArray, level: float
) -> Estimate:
    """Return a clear variance of leans with the interval of its root, squared: the root is further
    from 0, and less skewed."""
    root_without = np.sqrt(np.maximum(without, 0.0))
    root = _jackknifed(math.sqrt(lean.value), root_without, share, level)
    low = (root.low or 0.0) ** 2
    high = (root.high or 0.0) ** 2
    return replace(lean, low=low, high=max(high, lean.value))


class PartsWithout(NamedTuple):
    """Lean, swing and dice without each unit, [U] each."""

    lean: FloatArray
    swing: FloatArray
    dice: FloatArray


@dataclass(frozen=True, eq=False)
class Deviations:
    """Cells as deviations from p*, with what dice leave in them."""

    d: FloatArray
    """[X,C,D], deviation of a cell's mean; 0 where missing."""

    noise: FloatArray
    """[X,C], expected square that dice add to it."""

    within: FloatArray
    """[X,C], variance of a reply; cells with one reply have the mean of the others."""

    w: FloatArray
    """[X,C], weights within the group, sum to one in each."""

    groups: FloatArray
    """[X], weights of the groups that were observed."""

    units: NDArray[np.intp]
    """[C], which contexts are one unit."""

    rank: int
    """How many directions the leans of all groups can have."""

    W: FloatArray
    """[U,X], weights by unit."""

    z: FloatArray
    """[U,X,D], weighted sums of d by unit."""

    @classmethod
    def of(cls, cells: CellMoments) -> Deviations:
        """Return the deviations of cells; an error if none was answered."""
        observed = cells.n > 0
        if not observed.any():
            raise SettingsError("replies: expected at least one reply, found none")
        weights = np.where(observed, cells.weights, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        w = weights / np.where(total > 0, total, 1.0)
        groups = np.where(total[:, 0] > 0, cells.groups, 0.0)
        groups = groups / groups.sum()

        within = _variance_of_a_reply(cells, groups[:, None] * w)
        variance_of_mean = within / np.where(observed, cells.n, 1.0)
        mean = np.where(observed[..., None], cells.mean, 0.0)
        if cells.centre is None:
            share = np.where(observed, groups[:, None], 0.0)
            share = share / np.maximum(share.sum(axis=0), TINY)
            d = mean - (share[..., None] * mean).sum(axis=0)
            noise_of_centre = (share**2 * variance_of_mean).sum(axis=0)
            noise = variance_of_mean * (1 - 2 * share) + noise_of_centre
            free_groups = len(groups) - 1
        else:
            d = mean - cells.centre
            noise = variance_of_mean
            free_groups = len(groups)
        d = np.where(observed[..., None], d, 0.0) * cells.scale
        directions = max(mean.shape[-1] - 1, 1)
        return cls(
            d=d,
            noise=np.where(observed, noise, 0.0),
            within=within,
            w=w,
            groups=groups,
            units=cells.units,
            rank=max(directions * free_groups, 1),
            W=by_unit(w.T, cells.units),
            z=by_unit(np.moveaxis(w[..., None] * d, 0, 1), cells.units),
        )

    @property
    def lean(self) -> FloatArray:
        """Return the mean deviation of each group, [X,D]."""
        return np.asarray(self.z.sum(axis=0))

    @property
    def length_of_lean(self) -> float:
        """Return what a lean is multiplied by to be in points, or a share of the categories, of
        which each is counted in full."""
        return 1.0 if self.d.shape[-1] == 1 else math.sqrt(2)

    @property
    def shown(self) -> FloatArray:
        """Return the lean of each group in points, or as shares of the categories, [X,D]."""
        return self.lean * self.length_of_lean

    def lean_squares(self) -> FloatArray:
        """Return unbiased squares of the leans [X]: products of two different units have no
        noise."""
        of_pairs = 1 - (self.W**2).sum(axis=0)
        of_all = (self.lean**2).sum(axis=-1)
        of_same_unit = (self.z**2).sum(axis=(0, 2))
        square = (of_all - of_same_unit) / np.maximum(of_pairs, NO_WEIGHT)
        return np.asarray(np.where(of_pairs > NO_WEIGHT, square, 0.0))

    def parts(self, *, fixed: bool) -> VarianceParts:
        """Return lean, swing and dice, means over the groups; they may fall below 0.

        `fixed`: the contexts are all that there are, so that dice alone are noise of the leans.
        """
        square = (self.w * (self.d**2).sum(axis=-1)).sum(axis=1)
        noise = (self.w * self.noise).sum(axis=1)
        if fixed:
            noise_of_lean = (self.w**2 * self.noise).sum(axis=1)
            lean = (self.lean**2).sum(axis=-1) - noise_of_lean
        else:
            lean = self.lean_squares()
        swing = square - noise - lean
        dice = (self.w * self.within).sum(axis=1)
        return VarianceParts(
            lean=float(self.groups @ lean),
            swing=float(self.groups @ swing),
            dice=float(self.groups @ dice),
        )

    def residuals(self) -> FloatArray:
        """Return √W (mean of the unit − lean) √w_x [U,X,D]: their squares sum to the variance
        between units."""
        unit_means = self.z / np.where(self.W > 0, self.W, 1.0)[..., None]
        roots = np.sqrt(self.W * self.groups)[..., None]
        return np.asarray((unit_means - self.lean) * roots)

    def freedom(self) -> FloatArray:
        """Return the degrees of freedom of a weighted variance between units [X]
        (Satterthwaite)."""
        sum_w2 = (self.W**2).sum(axis=0)
        sum_w3 = (self.W**3).sum(axis=0)
        trace = sum_w2 - 2 * sum_w3 + sum_w2**2
        return np.asarray(np.maximum((1 - sum_w2) ** 2 / np.maximum(trace, 1e-15), 1.0))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return what each unit adds to the mean of values [X,C] over the cells of a group,
        [U,X]."""
        return by_unit((self.w * values).T, self.units)

    def without(self) -> PartsWithout:
        """Return lean, swing and dice without each unit."""
        swing_and_lean = (self.d**2).sum(axis=-1) - self.noise
        lean = self._lean_squares_without()
        swing = self._means_without(swing_and_lean) - lean
        dice = self._means_without(self.within)
        return PartsWithout(
            lean=lean @ self.groups, swing=swing @ self.groups, dice=dice @ self.groups
        )

    def _lean_squares_without(self) -> FloatArray:
        """Return `lean_squares` without each unit, [U,X]; all of them where no pair is left."""
        sum_w2_of_others = (self.W**2).sum(axis=0) - self.W**2
        of_pairs = (1 - self.W) ** 2 - sum_w2_of_others
        of_unit = (self.z**2).sum(axis=-1)
        of_others = ((self.lean - self.z) ** 2).sum(axis=-1)
        of_same_unit = of_unit.sum(axis=0) - of_unit
        square = (of_others - of_same_unit) / np.maximum(of_pairs, NO_WEIGHT)
        return np.where(of_pairs > NO_WEIGHT, square, self.lean_squares())

    def _means_without(self, values: FloatArray) -> FloatArray:
        """Return weighted means over the cells of values [X,C] without each unit, [U,X]."""
        sums = self.sums(values)
        sums_of_others = sums.sum(axis=0) - sums
        weight_of_others = 1 - self.W
        means = sums_of_others / np.maximum(weight_of_others, NO_WEIGHT)
        enough = weight_of_others > NO_WEIGHT
        return np.asarray(np.where(enough, means, sums_of_others))

    def p_of_no_lean(self, lean: float) -> float:
        """Return the p-value of no lean in any group; `lean` is their variance without noise."""
        observed = float(self.groups @ (self.lean**2).sum(axis=-1))
        freedom = float(self.groups @ self.freedom())
        residuals = self.residuals().reshape(-1, self.d[:, 0].size)
        return box_test(observed, observed - lean, residuals, freedom, self.rank)

    def group_leans(self, names: Sequence[str], level: float) -> list[GroupPart]:
        """Return each group's lean, tested by its own spread over the contexts."""
        freedom = self.freedom()
        residuals = self.residuals()
        square = (self.lean**2).sum(axis=-1)
        noise = square - self.lean_squares()
        rank = max(self.d.shape[-1] - 1, 1)
        p_values = [
            box_test(square[x], noise[x], residuals[:, x], freedom[x], rank)
            for x in range(len(names))
        ]
        corrected = holm(p_values)

        shown = self.shown
        error = self.length_of_lean * self._error_of_first_lean()
        reach = student_reach(error, freedom, level=level)
        groups = []
        for x, name in enumerate(names):
            part = GroupPart(
                name,
                tuple(shown[x].tolist()),
                low=float(shown[x, 0] - reach[x]),
                high=float(shown[x, 0] + reach[x]),
                p=float(corrected[x]),
            )
            groups.append(part)
        return groups

    def _error_of_first_lean(self) -> FloatArray:
        """Return the standard errors [X] of the leans in their first direction."""
        sum_w2 = (self.W**2).sum(axis=0)
        residuals = self.z[..., 0] - self.W * self.lean[:, 0]
        squares = residuals**2 / np.where(self.W > 0, self.W, 1.0)
        variance = sum_w2 / np.maximum(1 - sum_w2, NO_WEIGHT) * squares.sum(axis=0)
        return np.asarray(np.sqrt(variance))


def _variance_of_a_reply(cells: CellMoments, weights: FloatArray) -> FloatArray:
    """Return the variance of a reply in each cell [X,C]; that of the others, averaged by weight,
    where one was given, and 0 where none was."""
    observed = cells.n > 0
    measured = np.isfinite(cells.within) & observed
    measured_variance = np.where(measured, cells.within, 0.0)
    measured_weights = weights * measured
    total = (measured_weights * measured_variance).sum()
    typical = total / max(measured_weights.sum(), TINY)
    return np.where(measured, measured_variance, np.where(observed, typical, 0.0))


def box_test(
    square: float, noise: float, residuals: FloatArray, n: float, rank: int
) -> float:
    """Return the p-value of a squared lean being its noise alone, a quadratic form (Box's F).

    Noise goes in (tr Σ)² / tr Σ² directions, at most `rank`, of which residuals [U,dims] of n
    degrees tell. tr S² of a sample is too large; n²/((n − 1)(n + 2)) (tr S² − (tr S)²/n) is
    unbiased for normal ones. Without noise, a lean that is seen is there.
    """
    if noise <= ROUNDING * max(square, TINY):
        return 0.0 if square > ROUNDING**2 else 1.0
    # The products of the shorter side: both have the same trace, and so have their squares.
    if residuals.shape[0] <= residuals.shape[1]:
        products = residuals @ residuals.T
    else:
        products = residuals.T @ residuals
    trace = float(np.trace(products))
    trace_of_square = float((products**2).sum())
    directions = 1.0
    if n > 1.5 and trace > 0:
        unbiased = n**2 / ((n - 1) * (n + 2)) * (trace_of_square - trace**2 / n)
        directions = float(np.clip(trace**2 / max(unbiased, TINY), 1.0, rank))
    return float(fdtrc(directions, n * directions, square / noise))
