"""Bounds of preferences and risks, for words that are rare and not scored exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.stereotype import REFERENCE_FLOOR
from clinometer.statistics.arrays import (
    FloatArray,
    as_real,
)
from clinometer.statistics.weights import weighted_mean

_STEPS = 50
"""Iterations of Dinkelbach's method at most."""


class Ends(NamedTuple):
    """Lower and upper bounds, arrays of the same shape."""

    low: FloatArray
    high: FloatArray


def preference_bounds(
    log_lower: ArrayLike, log_upper: ArrayLike, membership: ArrayLike
) -> Ends:
    """Return the smallest and largest possible value of each preference, [.., Y] each.

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
    counted = counts.any(axis=1)
    counts = counts[counted]
    lower = lower[..., counted]
    upper = upper[..., counted]
    largest = upper.max(axis=-1, keepdims=True)
    factor = np.where(np.isfinite(largest), largest, 0.0)
    least = np.exp(lower - factor)
    most = np.exp(upper - factor)

    count_of_word = counts.sum(axis=1)
    K = counts.shape[1]
    low = np.zeros((*lower.shape[:-1], K))
    high = np.ones((*lower.shape[:-1], K))
    for y in range(K):
        share = counts[:, y] / count_of_word
        high[..., y] = _largest_share(share, count_of_word, least, most)
        low[..., y] = 1.0 - _largest_share(1.0 - share, count_of_word, least, most)
    return Ends(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))


def _largest_share(
    share: FloatArray, count: FloatArray, least: FloatArray, most: FloatArray
) -> FloatArray:
    """Return the maximum of sum(share count P) / sum(count P) over P between its bounds, [..].

    Args:
        share: [V], the share of a word that counts for a category.
        count: [V], how much the word counts in all.
        least: [.., V], lower bounds of P.
        most: [.., V], upper bounds of P.
    """
    best = np.zeros(least.shape[:-1])
    for _ in range(_STEPS):
        mass = np.where(share > best[..., None], most, least) * count
        total = mass.sum(axis=-1)
        of_category = (mass * share).sum(axis=-1)
        ratio = np.divide(of_category, total, out=np.ones_like(total), where=total > 0)
        if (ratio <= best + 1e-15).all():
            break
        best = np.maximum(best, ratio)
    # Nothing is known to have probability: any preference is possible.
    possible = (most * count).sum(axis=-1) > 0
    return np.where(possible, best, 1.0)


class RiskBounds(NamedTuple):
    """(low, high) of each risk, for the preferences between their bounds; no sampling error."""

    R: tuple[float, float]
    R_bias: tuple[float, float]
    R_volatility: tuple[float, float]


def risk_bounds(grid: PreferenceGrid, low: FloatArray, high: FloatArray) -> RiskBounds:
    """Return bounds of R, R^b and R^v from bounds [X,C,Y] of every preference of a grid.

    J rises with every s_y, so J(s(low)) <= J(s) <= J(s(high)), cell by cell for R and after the
    mean over contexts for R^b; R^v = R - R^b lies between the differences of the ends and is never
    negative. The bounds always hold; with two categories those of R and of R^b are each attained.
    Unobserved cells count: they may take any value between their bounds.

    >>> from clinometer.measure.grid import read_preferences
    >>> cells = np.array([[[0.6, 0.4], [0.3, 0.7]]])
    >>> [round(end, 12) for end in risk_bounds(read_preferences(cells), cells, cells).R]
    [0.3, 0.3]
    """
    J = grid.criterion
    weights = np.broadcast_to(grid.context_weights, grid.shape)
    weights = weights / weights.sum(axis=1, keepdims=True)
    s = _stereotype_bounds(grid, low, high)
    cells = J.bounds(s.low, s.high)
    mean_low = (weights[..., None] * s.low).sum(axis=1)
    mean_high = (weights[..., None] * s.high).sum(axis=1)
    means = J.bounds(mean_low, mean_high)

    R_low = _over_groups(grid, (weights * cells.low).sum(axis=1))
    R_high = _over_groups(grid, (weights * cells.high).sum(axis=1))
    bias_low = _over_groups(grid, means.low)
    bias_high = _over_groups(grid, means.high)
    return RiskBounds(
        R=(R_low, R_high),
        R_bias=(bias_low, bias_high),
        R_volatility=(max(0.0, R_low - bias_high), max(0.0, R_high - bias_low)),
    )


def _over_groups(grid: PreferenceGrid, risks: FloatArray) -> float:
    """Return the mean of risks [X] over the groups, at most the largest risk there is."""
    return min(weighted_mean(risks, grid.group_weights), grid.criterion.top)


def risk_error(grid: PreferenceGrid, off: FloatArray) -> float:
    """Return how far R and R^b can be off if no preference of a cell is off by more than `off`
    [X,C].

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
        return _distance_to_bounds(grid, off)
    weights, groups = grid.shares()
    errors = grid.criterion.error(off, grid.references())
    return float(groups @ (weights * errors).sum(axis=1))


def _distance_to_bounds(grid: PreferenceGrid, off: FloatArray) -> float:
    """Return the largest distance of R or R^b to an end of its bounds."""
    p = np.asarray(grid.values, dtype=np.float64)
    lower = np.maximum(p - off[..., None], 0.0)
    upper = np.minimum(p + off[..., None], 1.0)
    bounds = risk_bounds(grid, lower, upper)
    exact = risk_bounds(grid, p, p)
    distances = []
    for ends, value in ((bounds.R, exact.R[0]), (bounds.R_bias, exact.R_bias[0])):
        distances += [ends[1] - value, value - ends[0]]
    return max(distances)


def _stereotype_bounds(grid: PreferenceGrid, low: FloatArray, high: FloatArray) -> Ends:
    """Return bounds [X,C,K] of s.

    Where p* is the mean over the groups, it moves with the preferences. p_y - p*_y and p_y / p*_y
    rise with p_y and fall with the others: both are largest where the group is at its upper and all
    others are at their lower bound. The scale 1/min p* - 1 of the ratio lies between the scales of
    the largest and the smallest p*. A normalised s never exceeds 1.
    """
    criterion = grid.criterion
    if not grid.relative:
        reference = np.broadcast_to(grid.reference, low.shape)
        s_low = criterion.stereotypes(low, reference)
        return Ends(s_low, criterion.stereotypes(high, reference))
    w = grid.group_weights[:, None, None]
    mean_low = (w * low).sum(axis=0, keepdims=True)
    mean_high = (w * high).sum(axis=0, keepdims=True)
    reference_of_low = mean_high - w * high + w * low
    reference_of_high = mean_low - w * low + w * high
    if criterion.name != "ratio":
        return Ends(low - reference_of_low, high - reference_of_high)
    s_low = low / np.maximum(reference_of_low, REFERENCE_FLOOR) - 1.0
    s_high = high / np.maximum(reference_of_high, REFERENCE_FLOOR) - 1.0
    if not criterion.normalize:
        return Ends(s_low, s_high)
    largest_scale = _scale_of_mean(mean_low)
    smallest_scale = _scale_of_mean(mean_high)
    low_scale = np.where(s_low > 0, largest_scale, smallest_scale)
    high_scale = np.where(s_high > 0, smallest_scale, largest_scale)
    return Ends(s_low / low_scale, np.minimum(s_high / high_scale, 1.0))


def _scale_of_mean(mean: FloatArray) -> FloatArray:
    """Return 1/min p* - 1 [1,C,1] of a bound [1,C,K] of p*."""
    K = mean.shape[2]
    least = np.clip(mean.min(axis=2, keepdims=True), REFERENCE_FLOOR, 1.0 / K)
    return np.asarray(1.0 / least - 1.0)
