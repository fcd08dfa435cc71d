"""One interval of a mean, one test of a difference, and the bracket that makes a mean of a risk.

J is convex and positively homogeneous. So for any directions d that were chosen without looking at
a context c,

    E <d, s(c)>  <=  J(E s)  <=  E J(mean of s)          (d a gradient of J somewhere)

and the bias risk lies between two plain means over contexts: the *cross-fitted* one (directions
from some contexts, means from the others) and the *plug-in* one. R is a mean over contexts anyway,
R^v = R - R^b the difference of two, and replies bracket J of a cell in the same way (`Evidence`).
docs/inference.md explains it, with a picture and the coverage; docs/measure.md derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from clinometer.measure.evidence import Evidence, by_unit, unit_numbers
from clinometer.measure.grid import (
    PreferenceArguments,
    PreferenceGrid,
    read_preferences,
)
from clinometer.measure.risk import GroupIntervals, RiskReport, decompose_grid
from clinometer.settings import LEVEL
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap
from clinometer.statistics.estimate import Estimate, around
from clinometer.statistics.significance import flip_interval, flip_p_value

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

FOLDS, SPLITS = 3, 100
"""Cross-fitting: parts that units are split into, each measured along directions that the others
choose, and random splits that this is averaged over."""

MOST_SKEW = 0.9
"""The skewness of a mean that an interval allows for at most."""

LEAST_ARM = 0.7
"""No arm of an interval is shorter than this share of Student's."""

FEW = 3.0
"""Of n units the upper end of R reaches 1 + FEW / n times as far: few units seldom include the
largest departures."""

LEAST_EFFECTIVE = 2.5
"""Effective units that an interval needs: of two it reaches from 0 to several times the value and
says nothing that two values do not."""

LEAST_FOR_NONE = 30.0
"""With at least this many effective units, full agreement gives an interval of width 0."""

WIDE = 0.5
"""A bracket over replies that makes up this share of an interval is worth a word."""

METHOD = "bracket"


# --- The interval of a mean ----------------------------------------------------------------------


def interval_of_means(
    values: FloatArray, weights: FloatArray, *, level: float = 0.95
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weighted means over units with their ends: Student's t, corrected for skewness.

    Args:
        values: [U,T], one value per unit for each of T means.
        weights: [U,T], sum to one in each column: how often a unit is met, not how noisy it is; a
            unit of weight 0 is not there.
        level: of the interval.

    Returns:
        mean, low, high and the reach of Student's t alone, each [T].

    Variance and skewness of a unit come from all units alike (from the squares where the weight
    lies, too, if these are larger). With even weights the quotient of mean and standard error is
    skewed against the mean, since both hold the same units; with one heavy unit it is skewed with
    it. Both are first terms of one expansion, and Hall's transformation takes them out.

    >>> v = np.array([[1.0], [2.0], [3.0], [10.0]])
    >>> [round(float(part[0]), 1) for part in interval_of_means(v, np.full((4, 1), 0.25))]
    [4.0, -0.5, 24.9, 6.5]
    """
    there = weights > 0
    square_weights = weights * weights
    mean = np.einsum("ut,ut->t", weights, values)
    two = square_weights.sum(axis=0)
    three = np.einsum("ut,ut->t", square_weights, weights)
    n = np.maximum(there.sum(axis=0), 1).astype(float)
    two = np.where(two > 0, two, 1.0)  # a mean of nothing
    away = values - (values * there).sum(axis=0) / n
    if not there.all():
        away *= there
    squares = away * away
    square = squares.sum(axis=0) / n
    size = square * two * n / np.maximum(n - 1, 1)
    off = values - mean
    off *= off
    seen = np.einsum("ut,ut->t", square_weights, off) / np.maximum(1 - two, 1e-9)
    size = np.sqrt(np.maximum(size, (size + seen) / 2))
    known = square > ROUNDING**2
    squares *= away
    third = squares.sum(axis=0) / n / np.where(known, square, 1.0) ** 1.5
    # That of a sample is too small, the more the fewer units it has.
    skew = np.where(known, third, 0.0) * (n - 1) ** 2 / (n * np.maximum(n - 2, 1))
    # Skewness of the mean, and three times what its standard error shares with it.
    bent = (3 * skew / n / np.sqrt(two) - skew * three / two**1.5) / 2
    bent = np.clip(bent, -MOST_SKEW, MOST_SKEW)
    bent = np.where(np.abs(bent) < 1e-6, 1e-6, bent)
    t = stdtrit(np.maximum(n - 1, 1), (1 + level) / 2)
    below, above = (
        sign * 3 / bent * (np.cbrt(1 + bent * (sign * t - bent / 6)) - 1)
        for sign in (1.0, -1.0)
    )
    below, above = np.maximum(below, LEAST_ARM * t), np.maximum(above, LEAST_ARM * t)
    return mean, mean - size * below, mean + size * above, t * size


def jackknife(
    value: float, without: FloatArray, weights: FloatArray, *, level: float = 0.95
) -> tuple[float, float]:
    """Ends of a number that is no mean, from what it is without each unit [U].

    What a unit pulls, (1 - w)/w (value - without), is one value per unit, and the number moves like
    their mean. Units of no weight, and those without which there is no number (NaN), take no part.

    >>> v = np.array([1.0, 2.0, 3.0, 10.0])
    >>> [round(end, 1) for end in jackknife(4.0, (16 - v) / 3, np.full(4, 0.25))]
    [-0.5, 24.9]
    """
    kept = (weights > 0) & np.isfinite(without)
    w = weights[kept] / weights[kept].sum()
    pulled = (1 - w) / w * (value - without[kept])
    mean, low, high, _ = interval_of_means(pulled[:, None], w[:, None], level=level)
    return float(value + low[0] - mean[0]), float(value + high[0] - mean[0])


# --- The test of a difference --------------------------------------------------------------------


def flipped(
    gap: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    *,
    level: float,
    slack: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Low, high and p [T] of differences [T], by swapping the two models in each unit.

    Args:
        gap: [T], the differences.
        values: [U,T], what each unit contributes to them, up to a constant: with no difference, its
            sign is as likely to be the other one.
        weights: [U,T], sum to one in each column.
        level: of the interval.
        slack: [T], by how much a difference may be off regardless of the units.

    NaN where one unit carries everything. An interval of width 0 needs LEAST_FOR_NONE units.
    """
    a = weights.T
    slack = np.broadcast_to(np.asarray(slack, dtype=np.float64), gap.shape)
    u = a * (values - (weights * values).sum(axis=0)).T
    nearer = np.sign(gap) * np.maximum(np.abs(gap) - slack, 0.0)
    y = u + a * nearer[:, None]
    rounding = (
        np.abs(y).max(axis=1, keepdims=True, initial=0.0) < ROUNDING
    )  # which has no sign
    p = flip_p_value(np.where(rounding, 0.0, y))
    low, high = flip_interval(gap, u, a, level=level)
    low, high = low - slack, high + slack
    square = (a**2).sum(axis=1)
    gone = (square > 1 / LEAST_FOR_NONE) & (high - low <= ROUNDING)
    alone = ~(square < 1 - ROUNDING) | np.isnan(gap)
    missing = np.where(gone | alone, np.nan, 0.0)
    return low + missing, high + missing, np.where(alone, np.nan, p)


# --- The bracket of the risks --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bracket:
    """r, r^b, r^v of X groups, and of all of them together in the last column.

    value, low, high  [3,X+1]; value is the middle of what is possible
    plug_in           [3,X+1], the upper ends of r and r^b as means, and their difference
    each              [3,U,X+1], what each unit contributes, r^b along its own direction
    weights           [U,X+1] of the units
    level             of the intervals
    evidence          that it was made from
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    plug_in: FloatArray
    each: FloatArray
    weights: FloatArray
    level: float
    evidence: Evidence

    @property
    def half(self) -> FloatArray:
        """[3,X+1], half the width of the brackets of r and r^b; r^v is off by at most either."""
        half = self.plug_in - self.value
        return np.stack([half[0], half[1], np.abs(half[0] - half[1])])


def bracket(evidence: Evidence, *, level: float = 0.95, seed: int = 0) -> Bracket:
    """The risks of evidence, each as a mean over its units; see the top of this module.

    R: from the lower mean of J to the upper one, which are the same for exact probabilities. The
    upper end is at least Student's on the scale of log odds, 1 + `FEW` / n times as far, since few
    units show the skewness of J and their own spread too small.

    R^b: from the cross-fitted mean less the error of a mean, to the highest end of the lines that
    the truth may follow: each group's own direction, or one for all, either way.

    R^v: the same of R - R^b. A few contexts may all have stayed on one side, so that its upper end
    also allows for departures larger than were seen, and for a smaller lean (`_more_swing`); where
    R^b may be 0, all of R may be swing.
    """
    e, J, mean = evidence, evidence.criterion, evidence.mean
    low, weights = e.with_whole(e.low)
    high = e.with_whole(e.high)[0] if e.sampled else low
    own, _ = e.with_whole(J.slope(mean, e.s))
    lines = _lines(e, mean, own)
    ends = [interval_of_means(v, weights, level=level) for v in lines]
    under = interval_of_means(low, weights, level=level)
    over = interval_of_means(high, weights, level=level) if e.sampled else under
    n = np.maximum((weights > 0).sum(axis=0), 1)
    most = np.maximum(over[2], _odds(over[0], (1 + FEW / n) * over[3], J.top))
    size = J(mean)
    plug = np.append(size, e.groups @ size)
    crossed = np.minimum(_crossed(e, seed), plug)
    slack = plug - crossed
    R = _middle(np.maximum(under[0], crossed), over[0])  # at least the bias risk
    bias = np.minimum(_middle(crossed, plug), R)
    swing_low = [interval_of_means(low - v, weights, level=level)[1] for v in lines]
    bias_low = np.maximum(ends[0][1] - slack, 0.0)
    swing_high = [
        interval_of_means(high - lines[0], weights, level=level)[2] + slack,
        over[0]
        - plug
        + _more_swing(e, mean, bias_low / np.maximum(plug, ROUNDING), level),
        np.where(bias_low > 0, 0.0, most),
    ]
    value = np.stack([R, bias, R - bias])
    # Of replies the lower mean may be skewed by a few cells: no arm shorter than Student's.
    least = np.minimum(under[1], under[0] - under[3]) if e.sampled else under[1]
    lows = np.stack([least, ends[0][1] - slack, np.min(swing_low, axis=0)])
    highs = np.stack(
        [most, np.max([end[2] for end in ends], axis=0), np.max(swing_high, axis=0)]
    )
    highs = np.minimum(highs, np.maximum(most, R))  # neither part is above the whole
    each = np.stack([(low + high) / 2, own, (low + high) / 2 - own])
    return Bracket(
        value=snap(value),
        low=snap(np.maximum(np.minimum(lows, value), 0.0)),
        high=snap(np.minimum(np.maximum(highs, value), J.top)),
        plug_in=np.stack([over[0], plug, over[0] - plug]),
        each=each,
        weights=weights,
        level=level,
        evidence=e,
    )


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    """The middle of what is between low and high, and at least 0."""
    return np.asarray(np.maximum((low + high) / 2, high / 2))


def _lines(e: Evidence, mean: FloatArray, own: FloatArray) -> list[FloatArray]:
    """[U,X+1], departures along directions: each group's own; one for all groups (and for a group
    the opposite of its own); and the opposite of that one.

    A heavy unit pulls the direction of every group its own way, and along them stands out among the
    units by more than chance. So all groups together are measured, unit by unit, along what the
    other units choose; the mean stays that of their own directions.
    """
    J = e.criterion
    shared = snap(e.groups @ mean)
    line, back = own.copy(), e.with_whole(J.slope(-mean, e.s))[0]
    others, weights = e.with_whole(J.slope(mean - e.weights[..., None] * e.s, e.s))
    line[:, -1] = others[:, -1] + weights[:, -1] @ (own - others)[:, -1]
    again = own.copy()
    for column, sign in ((back, 1.0), (again, -1.0)):
        column[:, -1] = e.with_whole(J.slope(sign * shared, e.s))[0][:, -1]
    return [line, back, again]


def _crossed(e: Evidence, seed: int) -> FloatArray:
    """[X+1], J with directions from some units and means from the others, over random splits."""
    U, X, K = e.s.shape
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.broadcast_to(np.arange(U), (SPLITS, U)), axis=1) % FOLDS
    parts = (order[:, None] == np.arange(FOLDS)[:, None]).astype(float).reshape(-1, U)
    flat = (e.weights[..., None] * e.s).reshape(U, X * K)
    sums, weight = (parts @ flat).reshape(-1, X, K), parts @ e.weights
    rest = flat.sum(axis=0).reshape(X, K) - sums
    fits = (weight > ROUNDING) & (e.weights.sum(axis=0) - weight > ROUNDING)
    # J is homogeneous: a sum chooses the direction that its mean would. Weighted sums of the parts
    # add up to the mean.
    crossed = np.where(fits, e.criterion.slope(rest, sums), 0.0).sum(axis=0)
    total = np.where(fits, weight, 0.0).sum(axis=0)
    crossed /= np.where(total > 0, total, 1.0)
    found = np.where(total > 0, crossed, e.criterion(e.mean))
    return np.append(found, e.groups @ found)


def _more_swing(
    e: Evidence, mean: FloatArray, least: FloatArray, level: float
) -> FloatArray:
    """[X+1], how much more swing there may be than was seen: units may lie further from the mean
    of their group than these few do, and that mean nearer to 0, at the share `least` of itself."""
    J = e.criterion
    away = e.s - mean
    far, weights = e.with_whole(J(away) + J(-away))
    middle, _, high, _ = interval_of_means(far, weights, level=level)
    further = np.where(middle > ROUNDING, high / np.maximum(middle, ROUNDING), 1.0)
    as_seen = np.ones_like(further)

    def swing(stretch: FloatArray, near: FloatArray) -> FloatArray:
        """Mean J less J of the mean, were units that much further away, to either side."""

        def groups(stretch: FloatArray, near: FloatArray) -> FloatArray:
            middle, moved = near[:, None] * mean, stretch[:, None] * away
            both = (J(middle + moved) + J(middle - moved)) / 2
            return np.asarray((e.weights * both).sum(axis=0) - J(middle))

        of_all = e.groups @ groups(stretch[-1:], near[-1:])
        return np.append(groups(stretch[:-1], near[:-1]), of_all)

    seen = swing(as_seen, as_seen)
    larger, nearer = swing(further, as_seen), swing(as_seen, least)
    return np.maximum(larger - seen, 0.0) + np.maximum(nearer - seen, 0.0)


def _odds(mean: FloatArray, reach: FloatArray, top: float) -> FloatArray:
    """The upper end on the scale of log odds, or of logarithms where there is no largest value."""
    share = np.clip(mean / (top if np.isfinite(top) else 1.0), ROUNDING, None)
    if not np.isfinite(top):
        return np.asarray(mean * np.exp(np.minimum(reach / share, 1.0)))
    share = np.minimum(share, 1 - ROUNDING)
    odds = (
        share
        / (1 - share)
        * np.exp(np.minimum(reach / top / (share * (1 - share)), 20.0))
    )
    # Closer to 0 than the reach, log odds would stretch without end.
    return np.asarray(np.minimum(top * odds / (1 + odds), mean + 2 * reach))


# --- How much of R all groups share, and how much differs between them in the same context -------


def group_split(
    grid: PreferenceGrid,
    *,
    level: float | None = None,
    clusters: Sequence[object] | None = None,
) -> dict[str, Estimate]:
    """R seen from the mean of the groups, by the names of a report; empty for one group, and for
    groups that never meet in a context.

    R_shared: the risk of a model that answers for every group as this one does for the average
    group. R_between: the risk against the average group in the same context instead of the
    reference.

    With s̄(c) the mean of s(x,c) over the groups,

    R_shared  = sum of w_c J(s̄(c)),
    R_between = sum of w_x w_c J(s(x,c) - s̄(c)).

    J is convex, so R_shared <= R; and J(a + b) <= J(a) + J(b), so R <= R_shared + R_between. The
    two do not add up to R where a group leans the same way as the others, only more or less:
    their sum exceeds R by at most R_between. docs/measure.md has the derivation.

    Both are means over the contexts, without the small-sample bias of R^b. With a `level` they have
    intervals; clusters as for `estimate_risks`.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.array([[[0.8, 0.2]], [[0.6, 0.4]]])         # both lean, one more than the other
    >>> {name: round(e.value, 3) for name, e in group_split(read_preferences(p)).items()}
    {'R_shared': 0.4, 'R_between': 0.2}
    """
    if np.count_nonzero(grid.group_weights) < 2 or not _met(grid):
        return {}
    share, means = unit_means(grid, clusters)
    found = {}
    for name, each in zip(("R_shared", "R_between"), means, strict=True):
        value = float(snap(np.array(share @ each)))
        if level is None or 1 / float(share @ share) < LEAST_EFFECTIVE:
            found[name] = Estimate(value)
            continue
        _, low, high, _ = interval_of_means(each[:, None], share[:, None], level=level)
        ends = max(float(low[0]), 0.0), float(high[0])
        found[name] = around(value, *ends, level, "mean over contexts")
    return found


def _met(grid: PreferenceGrid) -> bool:
    """Whether any context has two groups to compare."""
    if grid.mask is None:
        return True
    return bool((grid.mask[grid.group_weights > 0].sum(axis=0) > 1).any())


def unit_means(
    grid: PreferenceGrid, clusters: Sequence[object] | None
) -> tuple[FloatArray, FloatArray]:
    """[U], the share of each unit in R's weight, and [2,U], its means of J(s̄) and of J(s - s̄).

    Cells have the same weights as in R: missing cells are left out of both means, and the
    weights of a group are renormalised over the others.
    """
    w, groups = grid.shares()
    w *= groups[:, None]
    weight, s, J = w.sum(axis=0), grid.stereotypes(), grid.criterion
    inner = w / np.where(weight > 0, weight, 1.0)
    middle = np.einsum("xc,xcy->cy", inner, s)
    means = np.stack([J(middle), (inner * J(s - middle)).sum(axis=0)])
    weight /= weight.sum()
    units = unit_numbers(clusters, len(weight))
    share = by_unit(weight, units)
    return share, by_unit((weight * means).T, units).T / np.where(share > 0, share, 1.0)


# --- Reports -------------------------------------------------------------------------------------


def estimate_risks(
    p: ArrayLike | DataFrame,
    *,
    level: float = 0.95,
    clusters: Sequence[object] | None = None,
    samples: ArrayLike | None = None,
    **given: Unpack[PreferenceArguments],
) -> RiskReport:
    """The report of `decompose` with the middle of the bracket and an interval for every risk.

    Args:
        p: as for `decompose`.
        given: weights, reference, mask, labels and criterion, as for `decompose`.
        level: the share of intervals that should contain the truth.
        clusters: [C] labels (predicate, source) of contexts that were sampled together.
        samples: the number of replies behind p, a number, [C] or [X,C]; None: p is exact.

    Returns:
        `RiskReport` with `intervals` and the ends of R, R_bias, R_volatility. n_eff counts units:
        clusters where these were sampled. R = R_bias + R_volatility, and no value is outside its
        interval.

    Degenerate input: fewer than 2.5 effective units give values without intervals, and a group
    with one observed unit a NaN row; if all units agree, there is no interval from fewer than 30,
    and with more its width is 0. `note` of an estimate says so. One reply a cell cannot tell dice
    from swing: R lies between the bias risk and what the replies show. Errors as for `decompose`.

    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(5, 5, (40, 60))                       # R = R^v = 0.246, R^b = 0
    >>> report = estimate_risks(np.stack([p, 1 - p], axis=-1))
    >>> [round(float(v), 2) for v in (report.R_volatility.low, report.R_volatility.high)]
    [0.2, 0.26]
    >>> report.R_bias.low
    0.0
    """
    LEVEL.check("level", level)
    grid = read_preferences(p, **given)
    evidence = Evidence.of(grid, clusters=clusters, samples=samples)
    report = report_of(grid, evidence, level=level)
    if clusters is not None:
        report = replace(report, n_eff=evidence.n_eff)
    return report


def report_of(
    grid: PreferenceGrid,
    evidence: Evidence,
    *,
    level: float = 0.95,
    arms: FloatArray | None = None,
) -> RiskReport:
    """The report of preferences with the bracket of their evidence.

    `arms` [3,X+1] are errors besides those of the units, which reach as far either way.
    """
    found = bracket(evidence, level=level)
    if arms is not None:
        below, above = found.value - found.low, found.high - found.value
        low = np.maximum(found.value - np.sqrt(below**2 + arms**2), 0.0)
        high = np.minimum(found.value + np.sqrt(above**2 + arms**2), grid.criterion.top)
        found = replace(found, low=low, high=high)
    # No part exceeds R. Its own lower end would be too high as the highest of three.
    low, high = np.fmin(found.low, found.low[0]), np.fmin(found.high, found.high[0])
    found = replace(found, low=low, high=high)
    plain = decompose_grid(grid)
    missing = np.where(evidence.weights.sum(axis=0) > 0, 0.0, np.nan)
    values = found.value[:, :-1] + missing
    # Effective units of each group and of all; missing cells leave fewer of them.
    sizes = 1 / np.maximum((found.weights**2).sum(axis=0), ROUNDING)
    sizes[-1] = min(sizes[-1], plain.n_eff)
    agree = (found.high - found.low <= ROUNDING) & (sizes < LEAST_FOR_NONE)
    few = sizes < np.append(np.full(len(missing), 1 + 1e-9), LEAST_EFFECTIVE)
    gone = agree | few | np.append(np.isnan(missing), False)
    ends = np.where(
        gone[..., None], np.nan, np.stack([found.low, found.high], axis=-1)
    )[:, :-1]
    R, R_bias, R_volatility = (
        _estimate(found, i, bool(few[-1]), bool(agree[i, -1]), evidence.sampled)
        for i in range(3)
    )
    return replace(
        plain,
        r=values[0],
        r_bias=values[1],
        r_volatility=values[2],
        R=R,
        R_bias=R_bias,
        R_volatility=R_volatility,
        intervals=GroupIntervals(ends[0], ends[1], ends[2], level),
    )


def _estimate(
    found: Bracket, i: int, few: bool, agree: bool, sampled: bool
) -> Estimate:
    """One of the three risks of all groups, or why it has no interval."""
    value, low, high = (
        float(part[i, -1]) for part in (found.value, found.low, found.high)
    )
    method = METHOD if i or sampled else "mean over contexts"
    if few or agree:
        needed = 3 if few else int(LEAST_FOR_NONE)
        what = "all contexts agree, and they are" if agree and not few else "these are"
        note = f"{what} too few contexts to tell; {needed} effective ones would do"
        return Estimate(value, method=method, note=note)
    open_ = 2 * float(found.half[0, -1])
    wide = sampled and i == 0 and open_ > WIDE * (high - low)
    note = (
        "so few replies leave it open; four times as many would halve what they leave"
    )
    return Estimate(value, low, high, found.level, method, note if wide else None)
