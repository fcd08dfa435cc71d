"""The interval of a difference that flipping the signs of units does not reject.

Beside it the whole test: ends and p-value of differences, from what each unit contributes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clinometer.statistics.arrays import ROUNDING, BoolArray, FloatArray
from clinometer.statistics.intervals.reach import student_reach
from clinometer.statistics.significance import flip_p_value

STEPS = 8
"""Halvings of the bracket of an end, which is about half an arm wide: to 0.3 % of the arm."""

FARTHEST = 64.0
"""An end farther than this many standard errors is dropped: too few units carry the weight."""

LEAST_FOR_NONE = 30.0
"""With at least this many effective units, full agreement gives an interval of width 0."""

Test = Callable[[FloatArray], BoolArray]
"""Whether differences at these distances [T] from the observed ones are not rejected, [T]."""


@dataclass(frozen=True, eq=False)
class FlipTest:
    """Ends [T] of the intervals of differences, and the p-values [T] of there being none."""

    low: FloatArray
    high: FloatArray
    p_value: FloatArray


def flip_test(
    difference: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    *,
    level: float,
    slack: FloatArray | float = 0.0,
) -> FlipTest:
    """Return the intervals and p-values [T] of differences, by swapping two models in each unit.

    Args:
        difference: [T].
        values: [U,T], what each unit contributes to them, up to a constant: with no difference, its
            sign is as likely to be the other one.
        weights: [U,T], sum to one in each column.
        level: of the interval.
        slack: [T], by how much a difference may be off regardless of the units.

    NaN where one unit carries everything. An interval of width 0 needs LEAST_FOR_NONE units.
    """
    shares = weights.T
    slack = np.broadcast_to(np.asarray(slack, dtype=np.float64), difference.shape)
    residuals = shares * (values - (weights * values).sum(axis=0)).T
    low, high = flip_interval(difference, residuals, shares, level=level)
    low = low - slack
    high = high + slack

    nearer = np.sign(difference) * np.maximum(np.abs(difference) - slack, 0.0)
    p_value = flip_p_value(_unless_rounding(residuals + shares * nearer[:, None]))

    sum_of_squared_weights = (shares**2).sum(axis=1)
    agree = (sum_of_squared_weights > 1 / LEAST_FOR_NONE) & (high - low <= ROUNDING)
    alone = ~(sum_of_squared_weights < 1 - ROUNDING) | np.isnan(difference)
    no_interval = agree | alone
    return FlipTest(
        low=np.where(no_interval, np.nan, low),
        high=np.where(no_interval, np.nan, high),
        p_value=np.where(alone, np.nan, p_value),
    )


def _unless_rounding(contributions: FloatArray) -> FloatArray:
    """Return contributions [T,G], 0 in rows that hold nothing but rounding, which has no sign."""
    largest = np.abs(contributions).max(axis=1, keepdims=True, initial=0.0)
    return np.where(largest < ROUNDING, 0.0, contributions)


def flip_interval(
    value: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    *,
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the differences that `flip_p_value` does not reject at `level`: low and high, [T].

    A supposed difference delta leaves unit g with the contribution u_g + a_g (d - delta). A flip
    with sums U of the residuals and A of the weights reaches |d - delta| as long as this is at
    most |U| / (1 - A sign(U)), so the p-value falls on either side of d, and the interval holds 0
    exactly when 0 is not rejected.

    Args:
        value: [T], d; NaN stays.
        residuals: [T,G], u_g, which sum to 0 in each row.
        weights: [T,G], a_g, which sum to 1 in each row.
        level: of the interval.

    Returns:
        NaN where no difference is rejected, or none within 64 standard errors: too few units
        carry the weight (at 95 %, any five). No spread: both are the difference itself.

    >>> u = np.array([[0.1, -0.1, 0.2, -0.2, 0.05, -0.05, 0.1, -0.1]]) / 8
    >>> low, high = flip_interval(np.array([0.3]), u, np.full((1, 8), 1 / 8), level=0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.183], [0.417])
    """
    units = np.count_nonzero(weights, axis=1)
    spread = np.sqrt((residuals**2).sum(axis=1))
    equal = spread <= ROUNDING * np.maximum(1.0, np.abs(value))
    possible = ~np.isnan(value) & (2.0 ** (1.0 - units) < 1 - level)
    rows = np.flatnonzero(possible & ~equal)

    def arm(side: float) -> FloatArray:
        """Return the length of the arm below (side -1) or above (side 1), [T]."""
        reach = np.full(value.shape, np.nan)
        reach[possible & equal] = 0.0
        # The end on the side of 0 has to agree with the p-value of no difference.
        to_zero = np.where(side * value[rows] < 0, np.abs(value[rows]), 0.0)
        reach[rows] = _reach(
            -side * residuals[rows], weights[rows], spread[rows], to_zero, level
        )
        return reach

    return value - arm(-1.0), value + arm(1.0)


def _reach(
    residuals: FloatArray,
    weights: FloatArray,
    spread: FloatArray,
    to_zero: FloatArray,
    level: float,
) -> FloatArray:
    """Return the largest distance h [T] known not to be rejected for u + a h, NaN if it lies
    beyond FARTHEST spreads."""

    def accepts(distance: FloatArray) -> BoolArray:
        p_value = flip_p_value(residuals + weights * distance[:, None])
        return np.asarray(p_value > 1 - level)

    farthest = FARTHEST * spread
    guess = _student_guess(residuals, weights, spread, level)
    inner, outer = _bracket_of_end(accepts, guess, farthest)
    for step in range(STEPS + 1):
        trial = to_zero if step == 0 else (inner + outer) / 2
        between = (trial > inner) & (trial < outer)
        accepted = accepts(np.where(between, trial, inner))
        inner = np.where(between & accepted, trial, inner)
        outer = np.where(between & ~accepted, trial, outer)
    return np.where(outer > farthest, np.nan, inner)


def _bracket_of_end(
    accepts: Test, guess: FloatArray, farthest: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return a distance that is accepted and a larger one that is not, or is beyond `farthest`."""
    inner = 0.75 * guess
    outer = 1.3 * guess
    too_long = ~accepts(inner)
    outer = np.where(too_long, inner, outer)
    inner = np.where(too_long, 0.0, inner)
    too_short = accepts(outer) & (outer <= farthest)
    while too_short.any():
        inner = np.where(too_short, outer, inner)
        outer = np.where(too_short, 1.5 * outer, outer)
        too_short = accepts(outer) & (outer <= farthest)
    return inner, outer


def _student_guess(
    residuals: FloatArray, weights: FloatArray, spread: FloatArray, level: float
) -> FloatArray:
    """Return where Student's t puts the end [T]: the root h of h² = c² sum of (u + a h)².

    At least one spread and at most six.
    """
    sum_w2 = (weights**2).sum(axis=1)
    covariance = (weights * residuals).sum(axis=1)
    degrees = max(weights.shape[1] - 1.0, 1.0)
    t_squared = float(student_reach(1.0, degrees, level=level)) ** 2
    c_squared = t_squared / (1 + t_squared * sum_w2)
    quadratic = 1 - c_squared * sum_w2
    half_linear = c_squared * covariance / quadratic
    root = half_linear + np.sqrt(half_linear**2 + c_squared * spread**2 / quadratic)
    return np.asarray(np.clip(root, spread, 6 * spread))
