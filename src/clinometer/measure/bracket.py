"""The bracket that makes a mean of a risk.

J is convex and positively homogeneous. So for any directions d that were chosen without looking at
a context c,

    E <d, s(c)>  <=  J(E s)  <=  E J(mean of s)          (d a gradient of J somewhere)

and the bias risk lies between two plain means over contexts: the *cross-fitted* one (directions
from some contexts, means from the others) and the *plug-in* one. R is a mean over contexts anyway,
R^v = R - R^b the difference of two, and replies bracket J of a cell in the same way (`Evidence`).
docs/inference.md explains it, with a picture and the coverage; docs/measure.md derives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clinometer.measure.evidence import Evidence
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap
from clinometer.statistics.intervals.means import IntervalOfMeans, interval_of_means

FOLDS = 3
"""Cross-fitting: parts that units are split into, each measured along directions that the others
choose."""

SPLITS = 100
"""Random splits into FOLDS parts that the cross-fitted mean is averaged over."""

FEW = 3.0
"""Of n units the upper end of R reaches 1 + FEW / n times as far: few units seldom include the
largest departures."""


@dataclass(frozen=True, eq=False)
class Bracket:
    """r, r^b, r^v of X groups, and of all of them together in the last column."""

    value: FloatArray
    """[3,X+1], the middle of what is possible."""

    low: FloatArray
    """[3,X+1], lower ends of the intervals."""

    high: FloatArray
    """[3,X+1], upper ends of the intervals."""

    plug_in: FloatArray
    """[3,X+1], the upper ends of r and r^b as means, and their difference."""

    contributions: FloatArray
    """[3,U,X+1], what each unit contributes, r^b along its own direction."""

    weights: FloatArray
    """[U,X+1], of the units."""

    level: float
    """Of the intervals."""

    evidence: Evidence
    """What it was made from."""

    @property
    def half_width(self) -> FloatArray:
        """Return half the width of the brackets of r and r^b, [3,X+1]; r^v is off by at most
        either."""
        r, r_bias, _ = self.plug_in - self.value
        return np.stack([r, r_bias, np.abs(r - r_bias)])


def bracket(evidence: Evidence, *, level: float = 0.95, seed: int = 0) -> Bracket:
    """Return the risks of evidence, each as a mean over its units; see the top of this module.

    R: from the lower mean of J to the upper one, which are the same for exact probabilities. The
    upper end is at least Student's on the scale of log odds, 1 + `FEW` / n times as far, since few
    units show the skewness of J and their own spread too small.

    R^b: from the cross-fitted mean less the error of a mean, to the highest end of the lines that
    the truth may follow: each group's own direction, or one for all, either way.

    R^v: that of R - R^b. A few contexts may all have stayed on one side, so that its upper end
    also allows for departures larger than were seen, and for a smaller lean (`_unseen_swing`);
    where R^b may be 0, all of R may be swing.
    """
    means = _Means.of(evidence, level=level, seed=seed)
    value = _middles(means)
    low = np.minimum(_lowest(means), value)
    high = np.maximum(_highest(means, value[0]), value)
    plug_in_R = means.upper.mean
    plug_in_bias = means.plug_in_bias
    r = (means.lower_risks + means.upper_risks) / 2
    r_bias = means.along_own
    return Bracket(
        value=snap(value),
        low=snap(np.maximum(low, 0.0)),
        high=snap(np.minimum(high, evidence.criterion.top)),
        plug_in=np.stack([plug_in_R, plug_in_bias, plug_in_R - plug_in_bias]),
        contributions=np.stack([r, r_bias, r - r_bias]),
        weights=means.weights,
        level=level,
        evidence=evidence,
    )


@dataclass(frozen=True, eq=False)
class _Means:
    """The means over units that risks lie between, of X groups and all of them, X+1."""

    evidence: Evidence
    level: float

    weights: FloatArray
    """[U,X+1], of the units."""

    lower_risks: FloatArray
    """[U,X+1], what each unit adds to the lower mean of J."""

    upper_risks: FloatArray
    """[U,X+1], what each unit adds to the upper mean of J."""

    along_own: FloatArray
    """[U,X+1], departures along each group's own direction."""

    lines: list[FloatArray]
    """[U,X+1] each, departures along the directions that the truth may follow."""

    plug_in_bias: FloatArray
    """[X+1], J of the mean: the upper mean of R^b."""

    cross_fitted_bias: FloatArray
    """[X+1], the lower mean of R^b."""

    @classmethod
    def of(cls, evidence: Evidence, *, level: float, seed: int) -> _Means:
        J = evidence.criterion
        lower_risks = evidence.with_whole(evidence.low)
        upper_risks = (
            evidence.with_whole(evidence.high) if evidence.sampled else lower_risks
        )
        along_own = evidence.with_whole(J.slope(evidence.mean, evidence.s))
        plug_in_bias = _with_mean(evidence, J(evidence.mean))
        return cls(
            evidence=evidence,
            level=level,
            weights=evidence.weights_with_whole,
            lower_risks=lower_risks,
            upper_risks=upper_risks,
            along_own=along_own,
            lines=_bias_lines(evidence, along_own),
            plug_in_bias=plug_in_bias,
            cross_fitted_bias=np.minimum(_cross_fitted(evidence, seed), plug_in_bias),
        )

    def interval(self, values: FloatArray) -> IntervalOfMeans:
        """Return the means of values [U,X+1] with their intervals."""
        return interval_of_means(values, self.weights, level=self.level)

    @cached_property
    def lower(self) -> IntervalOfMeans:
        """Return the lower mean of R."""
        return self.interval(self.lower_risks)

    @cached_property
    def upper(self) -> IntervalOfMeans:
        """Return the upper mean of R."""
        return (
            self.lower
            if self.upper_risks is self.lower_risks
            else self.interval(self.upper_risks)
        )

    @cached_property
    def bias_along_lines(self) -> list[IntervalOfMeans]:
        return [self.interval(line) for line in self.lines]

    @property
    def slack(self) -> FloatArray:
        """Return how far the two means of R^b lie apart, [X+1]."""
        return self.plug_in_bias - self.cross_fitted_bias

    @property
    def lowest_bias(self) -> FloatArray:
        """Return the lower end of R^b [X+1], which may lie below 0."""
        return self.bias_along_lines[0].low - self.slack


def _middles(means: _Means) -> FloatArray:
    """Return the middles of what R, R^b and R^v may be, [3,X+1]; R is at least the bias risk."""
    lower_R = np.maximum(means.lower.mean, means.cross_fitted_bias)
    R = _middle(lower_R, means.upper.mean)
    bias = np.minimum(_middle(means.cross_fitted_bias, means.plug_in_bias), R)
    return np.stack([R, bias, R - bias])


def _lowest(means: _Means) -> FloatArray:
    """Return the lower ends of R, R^b and R^v [3,X+1], which may lie below 0."""
    swings = [means.interval(means.lower_risks - line).low for line in means.lines]
    lowest_risk = _lowest_risk(means.lower, sampled=means.evidence.sampled)
    return np.stack([lowest_risk, means.lowest_bias, np.min(swings, axis=0)])


def _highest(means: _Means, R: FloatArray) -> FloatArray:
    """Return the upper ends of R, R^b and R^v [3,X+1]; neither part is above the whole."""
    highest_R = _highest_risk(means.upper, means.weights, means.evidence.criterion.top)
    ends_of_bias = [interval.high for interval in means.bias_along_lines]

    lowest_bias = np.maximum(means.lowest_bias, 0.0)
    least_lean = lowest_bias / np.maximum(means.plug_in_bias, ROUNDING)
    unseen = _unseen_swing(means.evidence, least_lean, means.level)
    swing = means.interval(means.upper_risks - means.lines[0])
    ends_of_swing = [
        swing.high + means.slack,
        means.upper.mean - means.plug_in_bias + unseen,
        np.where(lowest_bias > 0, 0.0, highest_R),
    ]
    high = np.stack(
        [highest_R, np.max(ends_of_bias, axis=0), np.max(ends_of_swing, axis=0)]
    )
    return np.asarray(np.minimum(high, np.maximum(highest_R, R)))


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the middle of what is between low and high, and at least 0."""
    return np.asarray(np.maximum((low + high) / 2, high / 2))


def _with_mean(evidence: Evidence, by_group: FloatArray) -> FloatArray:
    """Return numbers of the groups [X] with their weighted mean at the end, [X+1]."""
    return np.append(by_group, evidence.groups @ by_group)


def _lowest_risk(lower_mean: IntervalOfMeans, *, sampled: bool) -> FloatArray:
    """Return the lower end of R [X+1].

    Of replies the lower mean may be skewed by a few cells: no arm shorter than Student's.
    """
    if not sampled:
        return lower_mean.low
    return np.minimum(lower_mean.low, lower_mean.mean - lower_mean.student_reach)


def _highest_risk(
    upper_mean: IntervalOfMeans, weights: FloatArray, top: float
) -> FloatArray:
    """Return the upper end of R [X+1], at least that on the scale of log odds, stretched for few
    units."""
    n = np.maximum((weights > 0).sum(axis=0), 1)
    stretched = (1 + FEW / n) * upper_mean.student_reach
    return np.maximum(upper_mean.high, _log_odds_end(upper_mean.mean, stretched, top))


def _log_odds_end(mean: FloatArray, reach: FloatArray, top: float) -> FloatArray:
    """Return the upper end on the scale of log odds, or of logarithms where there is no largest
    value."""
    if not np.isfinite(top):
        share = np.clip(mean, ROUNDING, None)
        return np.asarray(mean * np.exp(np.minimum(reach / share, 1.0)))
    share = np.clip(mean / top, ROUNDING, 1 - ROUNDING)
    reach_of_log_odds = reach / top / (share * (1 - share))
    odds = share / (1 - share) * np.exp(np.minimum(reach_of_log_odds, 20.0))
    # Closer to 0 than the reach, log odds would stretch without end.
    return np.asarray(np.minimum(top * odds / (1 + odds), mean + 2 * reach))


def _bias_lines(evidence: Evidence, own: FloatArray) -> list[FloatArray]:
    """Return departures [U,X+1] along three choices of directions, of which `own` is the first.

    1. Each group's own. All groups together are measured, unit by unit, along what the other units
       choose, since a heavy unit pulls the direction of every group its own way, and along them
       stands out among the units by more than chance; the mean stays that of their own directions.
    2. The opposite of each group's own; one for all groups together.
    3. Each group's own; the opposite of that one.
    """
    J = evidence.criterion
    s = evidence.s
    mean = evidence.mean
    weights = evidence.weights_with_whole[:, -1]
    opposite = evidence.with_whole(J.slope(-mean, s))

    without_unit = mean - evidence.weights[..., None] * s
    chosen_by_others = evidence.with_whole(J.slope(without_unit, s))[:, -1]
    shift = weights @ (own[:, -1] - chosen_by_others)
    shared_mean = snap(evidence.groups @ mean)
    along_shared = evidence.with_whole(J.slope(shared_mean, s))[:, -1]
    against_shared = evidence.with_whole(J.slope(-shared_mean, s))[:, -1]
    return [
        _with_last_column(own, chosen_by_others + shift),
        _with_last_column(opposite, along_shared),
        _with_last_column(own, against_shared),
    ]


def _with_last_column(values: FloatArray, column: FloatArray) -> FloatArray:
    """Return values [U,X+1] with another last column [U]."""
    return np.append(values[:, :-1], column[:, None], axis=1)


def _cross_fitted(evidence: Evidence, seed: int) -> FloatArray:
    """Return J with directions from some units and means from the others, over random splits,
    [X+1]."""
    U, X, K = evidence.s.shape
    rng = np.random.default_rng(seed)
    units = np.broadcast_to(np.arange(U), (SPLITS, U))
    fold_of_unit = rng.permuted(units, axis=1) % FOLDS
    in_part = fold_of_unit[:, None] == np.arange(FOLDS)[:, None]  # [SPLITS, FOLDS, U]
    parts = in_part.astype(float).reshape(-1, U)

    weighted_s = (evidence.weights[..., None] * evidence.s).reshape(U, X * K)
    part_sums = (parts @ weighted_s).reshape(-1, X, K)
    part_weights = parts @ evidence.weights
    sums_of_others = weighted_s.sum(axis=0).reshape(X, K) - part_sums
    weights_of_others = evidence.weights.sum(axis=0) - part_weights
    possible = (part_weights > ROUNDING) & (weights_of_others > ROUNDING)

    # J is homogeneous: a sum chooses the direction that its mean would. Weighted sums of the parts
    # add up to the mean.
    along_others = evidence.criterion.slope(sums_of_others, part_sums)
    crossed = np.where(possible, along_others, 0.0).sum(axis=0)
    total = np.where(possible, part_weights, 0.0).sum(axis=0)
    mean = crossed / np.where(total > 0, total, 1.0)
    by_group = np.where(total > 0, mean, evidence.criterion(evidence.mean))
    return _with_mean(evidence, by_group)


def _unseen_swing(
    evidence: Evidence, least_lean: FloatArray, level: float
) -> FloatArray:
    """Return how much more swing there may be than was seen, [X+1].

    Units may lie further from the mean of their group than these few do, and that mean nearer to
    0, at the share `least_lean` [X+1] of itself.
    """
    J = evidence.criterion
    deviations = evidence.s - evidence.mean
    spread = evidence.with_whole(J(deviations) + J(-deviations))
    interval = interval_of_means(spread, evidence.weights_with_whole, level=level)
    stretch = np.where(
        interval.mean > ROUNDING,
        interval.high / np.maximum(interval.mean, ROUNDING),
        1.0,
    )
    as_seen = np.ones_like(stretch)
    swing_seen = _symmetric_swing(evidence, as_seen, as_seen)
    if_further = _symmetric_swing(evidence, stretch, as_seen)
    if_nearer = _symmetric_swing(evidence, as_seen, least_lean)
    return np.maximum(if_further - swing_seen, 0.0) + np.maximum(
        if_nearer - swing_seen, 0.0
    )


def _symmetric_swing(
    evidence: Evidence, stretch: FloatArray, lean: FloatArray
) -> FloatArray:
    """Return mean J less J of the mean [X+1], were each unit also on the other side of the mean.

    Args:
        evidence: the units.
        stretch: [X+1], how many times further from the mean they are.
        lean: [X+1], how many times its length the mean is.
    """
    J = evidence.criterion
    deviations = evidence.s - evidence.mean

    def by_group(stretch: FloatArray, lean: FloatArray) -> FloatArray:
        middle = lean[:, None] * evidence.mean
        moved = stretch[:, None] * deviations
        either_side = (J(middle + moved) + J(middle - moved)) / 2
        return np.asarray((evidence.weights * either_side).sum(axis=0) - J(middle))

    whole = evidence.groups @ by_group(stretch[-1:], lean[-1:])
    return np.append(by_group(stretch[:-1], lean[:-1]), whole)
