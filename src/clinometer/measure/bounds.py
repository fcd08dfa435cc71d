"""Bounds of preferences and risks, for words that are rare and not scored exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.criterion import RiskScale, criterion, read_scale
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.stereotype import REFERENCE_FLOOR, scale
from clinometer.statistics.arrays import FloatArray, as_real, blocks
from clinometer.statistics.weights import weighted_mean

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
        raise SettingsError("log_upper: expected at least log_lower everywhere, found less")
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
        high[..., y] = _largest(share, whole, least, most, fallback=1.0)
        low[..., y] = 1.0 - _largest(1.0 - share, whole, least, most, fallback=1.0)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _largest(
    share: FloatArray, whole: FloatArray, least: FloatArray, most: FloatArray, *, fallback: float
) -> FloatArray:
    """max of sum(share whole P) / sum(whole P) over P between its bounds."""
    best = np.zeros(least.shape[:-1])
    for _ in range(_STEPS):
        p = np.where(share > best[..., None], most, least) * whole
        total = p.sum(axis=-1)
        found = np.divide((p * share).sum(axis=-1), total, out=np.ones_like(total), where=total > 0)
        if (found <= best + 1e-15).all():
            break
        best = np.maximum(best, found)
    # Nothing is known to have probability: any preference is possible.
    return np.where((most * whole).sum(axis=-1) > 0, best, fallback)


class RiskBounds(NamedTuple):
    """(low, high) of each risk, for the preferences between their bounds; no sampling error."""

    R: tuple[float, float]
    R_bias: tuple[float, float]
    R_volatility: tuple[float, float]


def risk_bounds(
    grid: PreferenceGrid,
    low: FloatArray,
    high: FloatArray,
    **scaling: Unpack[RiskScale],
) -> RiskBounds:
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
    k, normalize = read_scale(**scaling)
    if grid.relative:
        return _relative_bounds(grid, low, high, norm=k, normalize=normalize)
    whole = slice(0, grid.shape[0]), slice(0, grid.shape[1])
    risks, biases = [], []
    for p in (low, high):
        bound = replace(grid, values=p, mask=None)
        w = bound.cell_weights(*whole)
        w = w / w.sum(axis=1, keepdims=True)
        s, _ = bound.stereotypes(*whole, normalize=normalize)
        risks.append(weighted_mean((w * criterion(s, k)).sum(axis=1), grid.group_weights))
        mean = (w[..., None] * s).sum(axis=1)
        biases.append(weighted_mean(criterion(mean, k), grid.group_weights))
    r, b = (risks[0], risks[1]), (biases[0], biases[1])
    return RiskBounds(r, b, (max(0.0, r[0] - b[1]), max(0.0, r[1] - b[0])))


def risk_error(grid: PreferenceGrid, off: FloatArray, **scaling: Unpack[RiskScale]) -> float:
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
    k, normalize = read_scale(**scaling)
    if grid.relative:
        p, far = np.asarray(grid.values, dtype=np.float64), off[..., None]
        ends = risk_bounds(grid, np.maximum(p - far, 0.0), np.minimum(p + far, 1.0), **scaling)
        here = risk_bounds(grid, p, p, **scaling)
        return max(
            max(high - at, at - low)
            for (low, high), (at, _) in ((ends.R, here.R), (ends.R_bias, here.R_bias))
        )
    K = len(grid.categories)
    total, error = np.zeros(grid.shape[0]), np.zeros(grid.shape[0])
    for rows, columns in blocks(grid.shape, depth=K):
        w = grid.cell_weights(rows, columns)
        star = grid.references(rows, columns)
        d = off[rows, columns, None] / star
        if normalize:
            d = d / scale(star)[..., None]
        total[rows] += w.sum(axis=1)
        error[rows] += (w * criterion(d, k)).sum(axis=1)
    observed = total > 0
    share = np.divide(error, total, out=np.zeros_like(error), where=observed)
    return weighted_mean(share, grid.observed_weights(observed))


def _relative_bounds(
    grid: PreferenceGrid, low: FloatArray, high: FloatArray, *, norm: float, normalize: bool
) -> RiskBounds:
    """The same where p* is the mean over the groups, which moves with the preferences.

    p_y / (w_x p_y + the others' share) rises with p_y and falls with the others: s_y is largest
    where the group is at its upper and all others are at their lower bound. The scale 1/min p* - 1
    lies between the scales of the largest and the smallest p*. A normalised J never exceeds 1.
    """
    w = grid.group_weights[:, None, None]
    means = [(w * p).sum(axis=0, keepdims=True) for p in (low, high)]
    floor = REFERENCE_FLOOR
    s = []
    for own, others, mean in ((low, high, means[1]), (high, low, means[0])):
        star = np.maximum(mean - w * others + w * own, floor)
        s.append(own / star - 1.0)
    if normalize:
        most, least = (
            1.0 / np.clip(mean.min(axis=2, keepdims=True), floor, 1.0 / mean.shape[2]) - 1.0
            for mean in means
        )
        s = [
            np.where(s[0] > 0, s[0] / most, s[0] / least),
            np.minimum(np.where(s[1] > 0, s[1] / least, s[1] / most), 1.0),
        ]
    weights = np.broadcast_to(grid.context_weights, grid.shape)
    weights = weights / weights.sum(axis=1, keepdims=True)
    risks = [
        weighted_mean((weights * criterion(one, norm)).sum(axis=1), grid.group_weights) for one in s
    ]
    means_of_s = [(weights[..., None] * one).sum(axis=1) for one in s]
    biases = [weighted_mean(criterion(one, norm), grid.group_weights) for one in means_of_s]
    if normalize:
        risks[1], biases[1] = min(risks[1], 1.0), min(biases[1], 1.0)
    r, b = (risks[0], risks[1]), (biases[0], biases[1])
    return RiskBounds(r, b, (max(0.0, r[0] - b[1]), max(0.0, r[1] - b[0])))
