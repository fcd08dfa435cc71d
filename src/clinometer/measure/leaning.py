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
from clinometer.statistics.arrays import FloatArray, plain
from clinometer.statistics.intervals.means import interval_of_means
from clinometer.statistics.significance import benjamini_hochberg, flip_p_value

KNOWN = 1e-9
"""A lean that is known and larger than rounding."""

EXCHANGES, EXCHANGED = 499, 200
"""Exchanges of the groups, always the same, and units in which they are exchanged."""


@dataclass(frozen=True)
class GroupLean(Plain):
    """How one group leans.

    Attributes:
        group: its name.
        category: the one it clearly leans to; None if that is not clear.
        favoured: the category with the largest mean stereotype, clear or not; None if missing.
        lean: mean stereotype of `favoured`, at most r^b; None if missing.
        low, high: of `lean`, the interval of the decision: corrected for all groups, it excludes 0
            exactly where `category` is not None, so that a chart that draws it cannot contradict
            the list; None with too few contexts.
        p: after the correction for several groups: the smallest expected share of wrong entries
            at which the list would include this group; None if there is no sampling error.
    """

    group: str
    category: str | None
    favoured: str | None
    lean: float | None
    low: float | None
    high: float | None
    p: float | None

    def decided(self) -> GroupLean:
        """The same with an interval that holds 0 exactly where the lean is not clear. The list
        controls the share of wrong entries and the interval the chance of any, so that the end
        near 0 is the one of the decision where they disagree."""
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
    """Groups with the category they clearly lean to, in the order of the grid.

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
    s = _on_the_scale(evidence)
    weights = evidence.weights
    mean = np.einsum("ux,uxk->xk", weights, s)
    X = len(mean)
    seen = np.asarray(weights.any(axis=0))
    order = np.argmax(mean, axis=1)
    favoured = s[:, np.arange(X), order]
    q = np.full(X, np.nan)
    low = high = np.full(X, np.nan)
    if len(s) == 1 and not known:
        q = np.ones(X)  # a single context says nothing about others
    elif not known:
        p = _p_values(weights[..., None] * s, order)
        if samples is not None:
            p = np.maximum(p, _counting_p_values(grid, samples, mean, order))
        q = benjamini_hochberg(np.where(seen, p, np.nan))
        if grid.relative and seen.sum() > 1:
            q = np.maximum(q, _exchange_p_value(weights[..., None] * s, weights, seen))
        if 2.0 ** (1 - len(s)) < 1 - level:
            of_each = 1 - (1 - level) / max(int(seen.sum()), 1)
            interval = interval_of_means(favoured, weights, level=of_each)
            ends = np.stack([interval.low, interval.high])
            # Of few skewed units the far end would lie beyond any lean there can be.
            top = 1.0 if evidence.criterion.normalize else np.inf
            low, high = np.clip(ends, -top, top)
    clear = (mean[np.arange(X), order] > KNOWN) & (known or q <= 1 - level)
    return tuple(
        GroupLean(
            group=group,
            category=grid.categories[y] if clear[x] else None,
            favoured=grid.categories[y],
            lean=float(mean[x, y]),
            low=plain(low[x]),
            high=plain(high[x]),
            p=plain(q[x]),
        ).decided()
        if seen[x]
        else GroupLean(group, None, None, None, None, None, None)
        for x, (group, y) in enumerate(zip(grid.groups, order.tolist(), strict=True))
    )


def _p_values(shares: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """p [X] of the favoured category being ahead of every other one."""
    X, K = shares.shape[1:]
    first = np.take_along_axis(shares, order[None, :, None], axis=-1)
    p = np.stack(
        [flip_p_value((first[..., 0] - shares[..., z]).T) for z in range(K)], axis=-1
    )
    p[np.arange(X), order] = 0.0
    return np.asarray(p.max(axis=-1))


def _on_the_scale(evidence: Evidence) -> FloatArray:
    """[U,X,K], s; on a scale of points the mean in place of it: up in the last category, down in
    the first."""
    J, s = evidence.criterion, evidence.s
    if not J.points:
        return s
    up = s @ (np.array(J.points) / J.length)
    out = np.zeros_like(s)
    out[..., 0], out[..., -1] = -up, up
    return out


def _exchange_p_value(
    s: FloatArray, weight: FloatArray, seen: NDArray[np.bool_]
) -> float:
    """p of no group differing from the others, from exchanges of the groups in each unit, of
    weighted departures s [U,X,K].

    The largest mean departure of any group, each category in its standard errors, which exchanges
    do not change. Many units are added up to EXCHANGED ones first.
    """
    s, weight = s[:, seen], weight[:, seen]
    rng = np.random.default_rng(0)
    if len(s) > EXCHANGED:
        order = rng.permutation(len(s))
        starts = np.linspace(0, len(s), EXCHANGED, endpoint=False).astype(int)
        s, weight = (
            np.add.reduceat(part[order], starts, axis=0) for part in (s, weight)
        )
    sd = np.sqrt(((s - s.mean(axis=1, keepdims=True)) ** 2).mean(axis=1).sum(axis=0))
    s = s / np.where(sd > 0, sd, np.inf)

    def largest(places: NDArray[np.intp]) -> float:
        total = np.take_along_axis(weight, places, axis=1).sum(axis=0)
        sums = np.take_along_axis(s, places[..., None], axis=1).sum(axis=0)
        return float(np.max(np.abs(sums) / np.where(total > 0, total, np.inf)[:, None]))

    places = np.broadcast_to(np.arange(s.shape[1]), s.shape[:2])
    least = largest(places) * (1 - 1e-9)
    as_large = sum(
        largest(rng.permuted(places, axis=1)) >= least for _ in range(EXCHANGES)
    )
    return (1 + as_large) / (1 + EXCHANGES)


def _counting_p_values(
    grid: PreferenceGrid, samples: FloatArray, mean: FloatArray, order: NDArray[np.intp]
) -> FloatArray:
    """p [X] of the favoured category being ahead of every other one, if replies of the reference
    were counted: normal, with the variance of that counting."""
    (X, C), K = grid.shape, len(grid.categories)
    a = grid.shares()[0]
    star = np.broadcast_to(grid.reference, (X, C, K))
    slope = grid.criterion.worth(star)
    rows, ends = np.arange(X), np.array(grid.criterion.points) / grid.criterion.length
    first = mean[rows, order]
    p = np.zeros(X)
    for z in range(K):
        b = np.broadcast_to(ends, (X, C, K)) if ends.size else np.zeros((X, C, K))
        if not ends.size:
            b[rows, :, order] = slope[rows, :, order]
            b[..., z] -= slope[..., z]
        noise = ((b**2 * star).sum(axis=-1) - (b * star).sum(axis=-1) ** 2) / samples
        gap = np.abs(first if ends.size else first - mean[:, z])
        sd = np.sqrt(np.maximum((a**2 * noise).sum(axis=1), 0.0))
        t = np.divide(gap, sd, out=np.full(X, np.inf), where=sd > 0)
        p = np.where(order == z, p, np.maximum(p, 2 * ndtr(-t)))
    return np.asarray(p)
