"""Bounds of preferences and risks, for words that are rare and not scored exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.stereotype import REFERENCE_FLOOR
from clinometer.statistics.arrays import FloatArray, as_real, weighted_mean

_STEPS = 50


def preference_bounds(
    log_lower: ArrayLike, log_upper: ArrayLike, membership: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """The smallest and largest possible value of each preference, [.., Y] each.

    Each word's probability lies between its bounds, independently of the others. p_y is largest
    when the words that count for y more than p_y itself are at their upper bound and the others at
    their lower one. An iteration that increases monotonically to the maximum finds these words
    (Dinkelbach's method for a ratio of two sums). The bounds are 0 and 1 where no word of any
    category has a lower bound above zero.

    >>> low, high = preference_bounds(np.log([0.3, 0.1]), np.log([0.3, 0.2]), [[1, 0], [0, 1]])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.6, 0.25], [0.75, 0.4])
    """
    counts = np.asarray(membership, dtype=np.float64)
    lower = np.asarray(as_real(log_lower, name="log_lower"), dtype=np.float64)
    upper = np.asarray(as_real(log_upper, name="log_upper"), dtype=np.float64)
    if lower.shape != upper.shape or (upper < lower - 1e-6).any():
        raise SettingsError(
            "log_upper: expected at least log_lower everywhere, found less"
        )
    used = counts.any(axis=1)
    counts, lower, upper = counts[used], lower[..., used], upper[..., used]
    top = upper.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    least, most = np.exp(lower - top), np.exp(upper - top)
    whole = counts.sum(axis=1)
    K = counts.shape[1]
    low, high = np.zeros((*lower.shape[:-1], K)), np.ones((*lower.shape[:-1], K))
    for y in range(K):
        share = counts[:, y] / whole
        high[..., y] = _largest(share, whole, least, most)
        low[..., y] = 1.0 - _largest(1.0 - share, whole, least, most)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _largest(
    share: FloatArray, whole: FloatArray, least: FloatArray, most: FloatArray
) -> FloatArray:
    """max of sum(share whole P) / sum(whole P) over P between its bounds."""
    best = np.zeros(least.shape[:-1])
    for _ in range(_STEPS):
        p = np.where(share > best[..., None], most, least) * whole
        total = p.sum(axis=-1)
        found = np.divide(
            (p * share).sum(axis=-1), total, out=np.ones_like(total), where=total > 0
        )
        if (found <= best + 1e-15).all():
            break
        best = np.maximum(best, found)
    # Nothing is known to have probability: any preference is possible.
    return np.where((most * whole).sum(axis=-1) > 0, best, 1.0)


class RiskBounds(NamedTuple):
    """(low, high) of each risk, for the preferences between their bounds; no sampling error."""

    R: tuple[float, float]
    R_bias: tuple[float, float]
    R_volatility: tuple[float, float]


def risk_bounds(grid: PreferenceGrid, low: FloatArray, high: FloatArray) -> RiskBounds:
    """Bounds of R, R^b and R^v from bounds [X,C,Y] of every preference of a grid.

    J rises with every s_y, so J(s(low)) <= J(s) <= J(s(high)), cell by cell for R and after the
    mean over contexts for R^b; R^v = R - R^b lies between the differences of the ends and is never
    negative. The bounds always hold; with two categories those of R and of R^b are each attained.
    Unobserved cells count: they may take any value between their bounds.

    >>> from clinometer.measure.grid import read_preferences
    >>> cells = np.array([[[0.6, 0.4], [0.3, 0.7]]])
    >>> [round(end, 12) for end in risk_bounds(read_preferences(cells), cells, cells).R]
    [0.3, 0.3]
    """
    w = np.broadcast_to(grid.context_weights, grid.shape)
    w = w / w.sum(axis=1, keepdims=True)
    s = _stereotype_bounds(grid, low, high)
    cells = grid.criterion.bounds(*s)
    means = grid.criterion.bounds(*((w[..., None] * end).sum(axis=1) for end in s))
    r, b = (
        tuple(
            min(weighted_mean(end, grid.group_weights), grid.criterion.top)
            for end in ends
        )
        for ends in ([(w * end).sum(axis=1) for end in cells], means)
    )
    return RiskBounds(
        (r[0], r[1]), (b[0], b[1]), (max(0.0, r[0] - b[1]), max(0.0, r[1] - b[0]))
    )


def risk_error(grid: PreferenceGrid, off: FloatArray) -> float:
    """How far R and R^b can be off if no preference of a cell is off by more than `off` [X,C].

    J is a norm of s⁺ and s⁺ moves no further than s, so |J(s + d) - J(s)| <= J(|d|) in every cell;
    the mean over the cells bounds R, and, J being convex, R^b. Cells that are not observed do not
    count. Where p* is the mean over the groups, the larger of the distances to the ends of
    `risk_bounds`.

    >>> from clinometer.measure.grid import read_preferences
    >>> cells = np.array([[[0.6, 0.4], [0.3, 0.7]]])
    >>> risk_error(read_preferences(cells), np.array([[0.01, 0.03]]))
    0.04
    """
    if grid.relative:
        p, far = np.asarray(grid.values, dtype=np.float64), off[..., None]
        ends = risk_bounds(grid, np.maximum(p - far, 0.0), np.minimum(p + far, 1.0))
        here = risk_bounds(grid, p, p)
        return max(
            max(high - at, at - low)
            for (low, high), (at, _) in ((ends.R, here.R), (ends.R_bias, here.R_bias))
        )
    w, groups = grid.shares()
    return float(
        groups @ (w * grid.criterion.error(off, grid.references())).sum(axis=1)
    )


def _stereotype_bounds(
    grid: PreferenceGrid, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds [X,C,K] of s.

    Where p* is the mean over the groups, it moves with the preferences. p_y - p*_y and p_y / p*_y
    rise with p_y and fall with the others: both are largest where the group is at its upper and all
    others are at their lower bound. The scale 1/min p* - 1 of the ratio lies between the scales of
    the largest and the smallest p*. A normalised s never exceeds 1.
    """
    criterion = grid.criterion
    if not grid.relative:
        star = np.broadcast_to(grid.reference, low.shape)
        return criterion.stereotypes(low, star), criterion.stereotypes(high, star)
    w = grid.group_weights[:, None, None]
    means = [(w * p).sum(axis=0, keepdims=True) for p in (low, high)]
    floor = REFERENCE_FLOOR
    s = []
    for own, others, mean in ((low, high, means[1]), (high, low, means[0])):
        star = mean - w * others + w * own
        ratio = criterion.name == "ratio"
        s.append(own / np.maximum(star, floor) - 1.0 if ratio else own - star)
    if criterion.name != "ratio" or not criterion.normalize:
        return s[0], s[1]
    most, least = (
        1.0 / np.clip(mean.min(axis=2, keepdims=True), floor, 1.0 / mean.shape[2]) - 1.0
        for mean in means
    )
    return (
        np.where(s[0] > 0, s[0] / most, s[0] / least),
        np.minimum(np.where(s[1] > 0, s[1] / least, s[1] / most), 1.0),
    )
