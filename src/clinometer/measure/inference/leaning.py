"""Which groups lean, and to what: a list with any wrong entry in at most 5 % of audits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference.noise import Noise
from clinometer.measure.inference.resampling_units import Units
from clinometer.statistics.arrays import FloatArray, plain

FLIPS = 4096
"""Flips of the contexts: all of them up to 13 contexts, else as many at random, always the same."""


@dataclass(frozen=True)
class GroupLean:
    """How one group leans.

    Attributes:
        group: its name.
        category: the one it clearly leans to; None if that is not clear.
        favoured: the category with the largest mean stereotype, clear or not; None if missing.
        lean: mean stereotype of `favoured`, at most r^b; None if missing.
        shrunken: the same, shrunk towards the mean of the groups according to its noise: a better
            estimate for a single group than `lean`, which overstates the most extreme of many.
        low, high: of `lean`, simultaneous over the groups; None with too few contexts.
        p: the chance of a list with a wrong entry if this group were on it.
    """

    group: str
    category: str | None
    favoured: str | None
    lean: float | None
    shrunken: float | None
    low: float | None
    high: float | None
    p: float | None

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return dict(vars(self))


def leaning_groups(
    grid: PreferenceGrid,
    *,
    level: float = 0.95,
    normalize: bool = True,
    clusters: Sequence[object] | None = None,
    drawn: bool = False,
) -> tuple[GroupLean, ...]:
    """Groups with the category they clearly lean to, in the order of the grid.

    A group clearly leans to y when y is ahead of each other category z. With no difference
    between y and z, swapping the two in a context changes nothing but the sign of what the
    context contributes to the mean of s_y - s_z. All groups and pairs of categories are flipped
    together, and a difference is clear if it exceeds the largest flipped one in a share `level`
    of the flips, stepping down from the largest (Westfall and Young 1993). So the chance of a
    list with any wrong entry is at most 1 - level, and correlated groups cost nothing extra.

    Args:
        grid: preferences as read.
        level: 1 minus the chance of any wrong entry.
        normalize, clusters, drawn: as for `bootstrap`.

    Five contexts or fewer (at 95 %) make no group clear. A group without an observed cell has
    None throughout.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.random.default_rng(0).beta([[9], [5], [2]], [[2], [5], [9]], (3, 40))
    >>> grid = read_preferences(np.stack([p, 1 - p], -1), categories=["female", "male"])
    >>> [found.category for found in leaning_groups(grid)]
    ['female', None, 'male']
    """
    units = Units.of(grid, normalize=normalize, clusters=clusters, drawn=drawn)
    shares = units.s / units.total[:, None]
    X, K = shares.shape[1:]
    pairs = list(itertools.combinations(range(K), 2))
    gaps = np.stack([shares[..., y] - shares[..., z] for y, z in pairs], axis=-1)
    adjusted = stepped_down(gaps.reshape(len(gaps), -1)).reshape(X, len(pairs))
    mean = units.mean
    order = np.argmax(mean, axis=1)
    shrunken, (low, high) = _shrunken(units), _bounds(units, shares, level)
    found = []
    for x, group in enumerate(grid.groups):
        y = int(order[x])
        if units.weight[:, x].sum() <= 0:
            found.append(GroupLean(group, None, None, None, None, None, None, None))
            continue
        p = max(float(adjusted[x, i]) for i, pair in enumerate(pairs) if y in pair)
        name = grid.categories[y]
        found.append(
            GroupLean(
                group=group,
                category=name if p <= 1 - level else None,
                favoured=name,
                lean=float(mean[x, y]),
                shrunken=float(shrunken[x, y]),
                low=plain(low[x, y]),
                high=plain(high[x, y]),
                p=p,
            )
        )
    return tuple(found)


def stepped_down(contributions: FloatArray) -> FloatArray:
    """p-values [T] of the hypotheses that T sums of contributions [G,T] are 0, corrected for T.

    1 for a sum without contributions.

    >>> stepped_down(np.array([[1.0, 0.2], [1.0, -0.3]] * 4)).tolist()
    [0.0078125, 0.703125]
    """
    size = np.sqrt((contributions**2).sum(axis=0))
    y = contributions / np.where(size > 0, size, 1.0)
    order = np.argsort(np.abs(y.sum(axis=0)), kind="stable")
    seen = np.abs(y.sum(axis=0))[order]
    flips, whole = _flips(len(y))
    tossed = np.maximum.accumulate(np.abs(flips @ y[:, order]), axis=1)
    # If the sampled flips leave out the observed one, count it as one more.
    reached = (tossed >= seen - 1e-9).sum(axis=0)
    p = reached / len(flips) if whole else (reached + 1) / (len(flips) + 1)
    p = np.maximum.accumulate(p[::-1])[::-1]
    out = np.empty(seen.size)
    out[order] = np.where(seen > 0, p, 1.0)
    return out


def _flips(G: int) -> tuple[FloatArray, bool]:
    """Signs [B,G], the first always +1, and whether the set is complete."""
    if 2 ** (G - 1) <= FLIPS:
        rest = np.array(list(itertools.product((1.0, -1.0), repeat=G - 1)))
        every = np.column_stack([np.ones(len(rest)), rest.reshape(len(rest), G - 1)])
        return np.asarray(every, dtype=np.float64), True
    rng = np.random.default_rng(0)
    return np.asarray(rng.integers(0, 2, (FLIPS, G)) * 2.0 - 1.0, dtype=np.float64), False


def _bounds(units: Units, shares: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Simultaneous low and high [X,K] of the mean stereotypes.

    With c the quantile of the largest flipped |sum of y| / sqrt(sum of y²), h = mean - truth is
    kept where h² <= c² sum of (u + a h)², u the residuals and a the weights of the units.
    """
    a = units.weight / units.total
    u = shares - a[..., None] * units.mean
    size = np.sqrt((u**2).sum(axis=0))
    y = (u / np.where(size > 0, size, 1.0)).reshape(len(u), -1)
    flips, _ = _flips(len(y))
    largest = np.abs(flips @ y).max(axis=1)
    c2 = float(np.quantile(largest, level)) ** 2
    square, cross = (a**2).sum(axis=0)[:, None], np.einsum("uxk,ux->xk", u, a)
    room = 1 - c2 * square
    fits = (room > 0) & (2.0 ** (1 - len(y)) < 1 - level)
    middle = c2 * cross / np.where(fits, room, 1.0)
    reach = np.sqrt(middle**2 + c2 * size**2 / np.where(fits, room, 1.0))
    ends = (units.mean - middle - reach, units.mean - middle + reach)
    return tuple(np.where(fits, end, np.nan) for end in ends)  # type: ignore[return-value]


def _shrunken(units: Units) -> FloatArray:
    """Mean stereotypes [X,K] shrunk towards their mean over groups (empirical Bayes)."""
    w, mean = units.group_weights, units.mean
    shared = (Noise.of(units).shared ** 2).sum(axis=(0, 2))
    if units.ratio is not None:  # on a line, the second category moves with the first
        shared = shared * (1 + units.ratio**2)
    own = np.maximum(np.trace(units.noise(), axis1=1, axis2=2) - shared, 0.0)
    middle = w @ mean
    away = ((mean - middle) ** 2).sum(axis=1)
    between = max(float(w @ (away - own)), 0.0)
    kept = np.divide(between, between + own, out=np.ones_like(own), where=between + own > 0)
    return np.asarray(middle + kept[:, None] * (mean - middle))
