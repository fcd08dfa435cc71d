"""The difference of two models in a block of groups, and its test by flipping contexts."""

from __future__ import annotations

import numpy as np

from clinometer.measure.comparison.residuals import Residuals
from clinometer.measure.equations.criterion import criterion, slope
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap
from clinometer.statistics.sign_flips import flip_interval, flip_p_value

NEARBY = 0.1
"""Share of a variance over which the slope in it is taken, at least."""

LEAST_FOR_NONE = 30
"""With at least this many effective units, contexts that all agree give an interval of width 0."""


def contrast(
    part: Residuals, pair: tuple[int, int], noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Corrected differences [x,3] of a pair in a block of groups, and their residuals [2,G,x,3].

    If two models have the same r^b (their pooled one), noise still raises that of the more
    volatile model further, by `rate` per unit of variance; this is subtracted from the difference.
    Unit g contributes its own variance, so that swapping the models in it swaps everything it
    contributes; that is why one rate serves both models. r^b is linearised; r^v is the remainder.

    The first residuals linearise r^b of each model at its own mean, which is right where the means
    are well known. The second linearise both at the mean of the two models, which is right where
    one model only seems to lean the other way. A difference has to pass both tests.
    """
    i, j = pair
    gap = part.risks[i] - part.risks[j]
    apart = part.residuals[..., i] - part.residuals[..., j]
    shared = slope(part.means[:, pair].mean(axis=1), np.moveaxis(apart[:, 1:], 1, -1), part.norm)
    residuals = np.stack(
        [
            part.linear[:, :, i] - part.linear[:, :, j],
            np.stack([apart[:, 0], shared, apart[:, 0] - shared], axis=-1),
        ]
    )
    squares = (part.adjusted() ** 2)[:, 1:].sum(axis=1)
    more = squares[..., i] - squares[..., j]
    rate = _lift_rate(part, pair, noise, squares.sum(axis=0))
    lift = rate * more.sum(axis=0)
    change = rate * more - part.weights * lift
    gap[:, 1] -= lift
    gap[:, 2] += lift
    residuals[..., 1] -= change
    residuals[..., 2] += change
    return snap(gap), residuals


def _lift_rate(
    part: Residuals, pair: tuple[int, int], noise: FloatArray, variance: FloatArray
) -> FloatArray:
    """By how much E J(pooled lean + e) rises with the variance of e, [x], from `variance` [x,M].

    The slope between the variances of the two models, or over NEARBY of their mean either side
    where they are closer than that; averaged over the directions of both leans.
    """
    pooled = part.risks[list(pair), :, 1].mean(axis=0)
    both = variance[:, list(pair)]
    middle = both.mean(axis=1)
    apart = np.maximum(np.abs(both[:, 0] - both[:, 1]) / 2, NEARBY * middle)
    found = np.zeros_like(middle)
    for model in pair:
        size, own = part.risks[model, :, 1], variance[:, model]
        ratio = np.divide(pooled, size, out=np.ones_like(size), where=size > 0)
        at = part.means[:, model] * ratio[:, None]
        for sign in (1.0, -1.0):
            scale = np.divide(middle + sign * apart, own, out=np.zeros_like(own), where=own > 0)
            e = noise[:, :, model] * np.sqrt(scale)[:, None]
            found += sign * criterion(at + e, part.norm).mean(axis=0)
    rate = np.divide(found, 4 * apart, out=np.zeros_like(found), where=apart > 0)
    return np.asarray(rate)


def tested(gap: FloatArray, residuals: FloatArray, weights: FloatArray, level: float) -> FloatArray:
    """Low, high and p [3,x,3] of differences [x,3] with residuals [2,G,x,3], by flipping units.

    Of the two residuals the larger p and the farther ends.
    """
    first, second = residuals
    found = _flipped(gap, first, weights, level)
    other = (np.abs(first - second) > ROUNDING).any(axis=(0, 2))
    if other.any():
        again = _flipped(gap[other], second[:, other], weights[:, other], level)
        wider = [np.minimum, np.maximum, np.maximum]
        for k, farther in enumerate(wider):
            found[k, other] = farther(found[k, other], again[k])
    return found


def _flipped(
    gap: FloatArray, residuals: FloatArray, weights: FloatArray, level: float
) -> FloatArray:
    """Low, high and p [3,x,3] of differences [x,3] with residuals [G,x,3], by flipping units."""
    found = np.full((3, *gap.shape), np.nan)
    a = weights.T
    alone = (a**2).sum(axis=1) >= 1 - ROUNDING  # one unit carries everything: nothing to flip
    few = (a**2).sum(axis=1) > 1 / LEAST_FOR_NONE
    for t in range(3):
        u, d = residuals[..., t].T, gap[:, t]
        found[2, :, t] = flip_p_value(u + a * d[:, None])
        low, high = flip_interval(d, u, a, level=level)
        known = ~(few & (high - low <= ROUNDING))  # no spread in a few contexts says little
        found[0, known, t], found[1, known, t] = low[known], high[known]
    found[:, alone] = np.nan
    return found
