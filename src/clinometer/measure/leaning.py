"""Which groups lean, and to what: a list with at most 5 % of wrong entries on average.

The list controls the false discovery rate, not the chance of any wrong entry (the family-wise
error). Flipping ten contexts gives no p-value below 1/512, so that a family-wise correction such as
Holm's could never list one of 120 groups asked in the ten contexts of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from clinometer.display.text import Plain
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import BoolArray, FloatArray, plain
from clinometer.statistics.intervals.means import interval_of_means
from clinometer.statistics.significance import benjamini_hochberg, flip_p_value

KNOWN = 1e-9
"""A lean that is known and larger than rounding."""

EXCHANGES = 499
"""Exchanges of the groups, always the same."""

EXCHANGED = 200
"""Units in which groups are exchanged at most."""

Categories = NDArray[np.intp]
"""[X], the number of a category for each group."""


@dataclass(frozen=True)
class GroupLean(Plain):
    """How one group leans; a group without an observed cell has None throughout."""

    group: str
    """Name of the group."""

    category: str | None
    """The category that it clearly leans to; None if that is not clear."""

    favoured: str | None
    """The category with the largest mean stereotype, clear or not; None if missing."""

    lean: float | None
    """Mean stereotype of `favoured`, at most r^b; None if missing."""

    low: float | None
    """Lower end of `lean`, of the interval of the decision: corrected for all groups, it excludes 0
    exactly where `category` is not None, so that a chart that draws it cannot contradict the list;
    None with too few contexts."""

    high: float | None
    """Upper end of `lean`; None with too few contexts."""

    p: float | None
    """p after the correction for several groups: the smallest expected share of wrong entries at
    which the list would include this group; None if there is no sampling error."""

    def decided(self) -> GroupLean:
        """Return the lean with an interval that holds 0 exactly where the lean is not clear.

        The list controls the share of wrong entries and the interval the chance of any, so that the
        end near 0 is the one of the decision where they disagree.
        """
        if self.lean is None or self.low is None or self.high is None:
            return self
        if self.category is None:
            return replace(self, low=min(self.low, 0.0), high=max(self.high, 0.0))
        return replace(self, low=max(self.low, min(KNOWN, self.lean)))


def leaning_groups(
    grid: PreferenceGrid,
    *,
    level: float = 0.95,
    clusters: Sequence[object] | None = None,
    known: bool = False,
    samples: FloatArray | None = None,
) -> tuple[GroupLean, ...]:
    """Return groups with the category they clearly lean to, in the order of the grid.

    A group leans clearly to y when y is ahead of each other category z. With no difference between
    y and z, swapping the two in a context only changes the sign of what the context contributes
    to the mean of s_y - s_z: all flips of the signs give the p-value (`flip_p_value`). The p-values
    of the groups are corrected together (Benjamini and Hochberg), so that on average at most
    1 - level of the groups on the list do not belong there. Against the mean of the groups, the
    list is empty unless exchanging the groups in each context shows that any of them differs:
    that stays right where a rare answer makes the departures of every group skewed alike.

    On a scale of points a group leans to the last category when its mean is above that of the
    reference, and to the first when it is below; `lean` is the distance as a share of the scale.

    Args:
        grid: preferences as read.
        level: 1 minus the expected share of wrong entries.
        clusters: as for `estimate_risks`.
        known: whether the means have no sampling error; every lean is clear then, and there is
            no interval and no p-value.
        samples: [X, C], replies behind each cell; None: probabilities were read. A lean must then
            be larger than the noise of counting replies of the reference, too: where an answer is
            rare, most groups have none of it, and all of them seem to be below the mean alike.

    Five contexts or fewer (at 95 %) make no group clear. A group without an observed cell has
    None throughout.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.random.default_rng(0).beta([[9], [5], [2]], [[2], [5], [9]], (3, 40))
    >>> grid = read_preferences(np.stack([p, 1 - p], -1), categories=["female", "male"])
    >>> [found.category for found in leaning_groups(grid)]
    ['female', None, 'male']
    """
    evidence = Evidence.of(grid, clusters=clusters)
    weights = evidence.weights
    s = _on_the_scale(evidence)
    mean = np.einsum("ux,uxk->xk", weights, s)
    X = len(mean)
    observed = np.asarray(weights.any(axis=0))
    favoured = np.argmax(mean, axis=1)
    of_favoured = mean[np.arange(X), favoured]

    low = np.full(X, np.nan)
    high = np.full(X, np.nan)
    if known:
        p_values = np.full(X, np.nan)
        clear = of_favoured > KNOWN
    else:
        p_values = _corrected_p_values(grid, evidence, s, favoured, samples)
        clear = (of_favoured > KNOWN) & (p_values <= 1 - level)
        can_be_clear = 2.0 ** (1 - len(s)) < 1 - level
        if can_be_clear:
            low, high = _ends_of_leans(evidence, s, favoured, level)

    leans = []
    for x, group in enumerate(grid.groups):
        if not observed[x]:
            leans.append(GroupLean(group, None, None, None, None, None, None))
            continue
        category = grid.categories[favoured[x]]
        lean = GroupLean(
            group=group,
            category=category if clear[x] else None,
            favoured=category,
            lean=float(of_favoured[x]),
            low=plain(low[x]),
            high=plain(high[x]),
            p=plain(p_values[x]),
        )
        leans.append(lean.decided())
    return tuple(leans)


def _corrected_p_values(
    grid: PreferenceGrid,
    evidence: Evidence,
    s: FloatArray,
    favoured: Categories,
    samples: FloatArray | None,
) -> FloatArray:
    """Return the smallest share of wrong entries [X] at which the list includes each group; NaN
    where not observed."""
    if len(s) == 1:  # a single context says nothing about others
        return np.ones(len(favoured))
    weights = evidence.weights
    weighted_s = weights[..., None] * s
    observed = np.asarray(weights.any(axis=0))
    p_values = _flip_p_values(weighted_s, favoured)
    if samples is not None:
        mean = weighted_s.sum(axis=0)
        of_counting = _counting_p_values(grid, samples, mean, favoured)
        p_values = np.maximum(p_values, of_counting)
    corrected = benjamini_hochberg(np.where(observed, p_values, np.nan))
    if grid.relative and observed.sum() > 1:
        of_all = _exchange_p_value(weighted_s, weights, observed)
        corrected = np.maximum(corrected, of_all)
    return corrected


def _ends_of_leans(
    evidence: Evidence, s: FloatArray, favoured: Categories, level: float
) -> FloatArray:
    """Return the ends [2,X] of the leans, which hold for all groups together at `level`.

    Of few skewed units the far end would lie beyond any lean there can be, and is cut.
    """
    X = len(favoured)
    observed = int(evidence.weights.any(axis=0).sum())
    level_of_each = 1 - (1 - level) / max(observed, 1)
    along_favoured = s[:, np.arange(X), favoured]
    interval = interval_of_means(along_favoured, evidence.weights, level=level_of_each)
    top = 1.0 if evidence.criterion.normalize else np.inf
    return np.clip(np.stack([interval.low, interval.high]), -top, top)


def _flip_p_values(weighted_s: FloatArray, favoured: Categories) -> FloatArray:
    """Return the p-values [X] of the favoured category being ahead of every other one, from
    weighted departures [U,X,K]."""
    _, X, K = weighted_s.shape
    of_favoured = weighted_s[:, np.arange(X), favoured]
    p_values = np.zeros(X)
    for z in range(K):
        ahead = flip_p_value((of_favoured - weighted_s[..., z]).T)
        p_values = np.where(favoured == z, p_values, np.maximum(p_values, ahead))
    return p_values


def _on_the_scale(evidence: Evidence) -> FloatArray:
    """Return s [U,X,K]; on a scale of points the mean in place of it: up in the last category, down
    in the first."""
    criterion = evidence.criterion
    if not criterion.points:
        return evidence.s
    mean = evidence.s @ (np.array(criterion.points) / criterion.length)
    on_the_scale = np.zeros_like(evidence.s)
    on_the_scale[..., 0] = -mean
    on_the_scale[..., -1] = mean
    return on_the_scale


def _exchange_p_value(
    weighted_s: FloatArray, weights: FloatArray, observed: BoolArray
) -> float:
    """Return the p-value of no group differing from the others, from exchanges of the groups in
    each unit, of weighted departures [U,X,K].

    The statistic is the largest mean departure of any group, each category in its standard errors,
    which exchanges do not change. Many units are added up to EXCHANGED ones first.
    """
    weighted_s = weighted_s[:, observed]
    weights = weights[:, observed]
    rng = np.random.default_rng(0)
    U = len(weighted_s)
    if U > EXCHANGED:
        order = rng.permutation(U)
        starts = np.linspace(0, U, EXCHANGED, endpoint=False).astype(int)
        weighted_s = np.add.reduceat(weighted_s[order], starts, axis=0)
        weights = np.add.reduceat(weights[order], starts, axis=0)
    from_mean_of_groups = weighted_s - weighted_s.mean(axis=1, keepdims=True)
    variance = (from_mean_of_groups**2).mean(axis=1).sum(axis=0)
    standard_error = np.sqrt(variance)
    scaled = weighted_s / np.where(standard_error > 0, standard_error, np.inf)

    def largest(groups: NDArray[np.intp]) -> float:
        """Return the largest mean departure with these groups [U,X] in the place of others."""
        total = np.take_along_axis(weights, groups, axis=1).sum(axis=0)
        sums = np.take_along_axis(scaled, groups[..., None], axis=1).sum(axis=0)
        divisor = np.where(total > 0, total, np.inf)
        return float(np.max(np.abs(sums) / divisor[:, None]))

    unchanged = np.broadcast_to(np.arange(scaled.shape[1]), scaled.shape[:2])
    least = largest(unchanged) * (1 - 1e-9)
    as_large = 0
    for _ in range(EXCHANGES):
        as_large += largest(rng.permuted(unchanged, axis=1)) >= least
    return (1 + as_large) / (1 + EXCHANGES)


def _counting_p_values(
    grid: PreferenceGrid, samples: FloatArray, mean: FloatArray, favoured: Categories
) -> FloatArray:
    """Return the p-values [X] of the favoured category being ahead of every other one, if replies
    of the reference were counted: normal, with the variance of that counting."""
    X, C = grid.shape
    K = len(grid.categories)
    rows = np.arange(X)
    weights, _ = grid.shares()
    reference = np.broadcast_to(grid.reference, (X, C, K))
    slope = grid.criterion.worth(reference)
    on_scale = np.array(grid.criterion.points) / grid.criterion.length
    p_values = np.zeros(X)
    for z in range(K):
        if on_scale.size:
            worth = np.broadcast_to(on_scale, (X, C, K))
            distance = np.abs(mean[rows, favoured])
        else:
            worth = np.zeros((X, C, K))
            worth[rows, :, favoured] = slope[rows, :, favoured]
            worth[..., z] -= slope[..., z]
            distance = np.abs(mean[rows, favoured] - mean[:, z])
        mean_of_reply = (worth * reference).sum(axis=-1)
        variance_of_reply = (worth**2 * reference).sum(axis=-1) - mean_of_reply**2
        variance = (weights**2 * variance_of_reply / samples).sum(axis=1)
        sd = np.sqrt(np.maximum(variance, 0.0))
        standardised = np.divide(distance, sd, out=np.full(X, np.inf), where=sd > 0)
        p_of_pair = np.maximum(p_values, 2 * ndtr(-standardised))
        p_values = np.where(favoured == z, p_values, p_of_pair)
    return np.asarray(p_values)
