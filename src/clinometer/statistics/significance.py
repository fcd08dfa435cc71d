"""Significance: tests and intervals of weighted means by flipping signs, and many tests at once.

Flipping signs stays honest when few units carry the weight.

A weighted mean d = sum of y_g over the units (contexts, clusters), supposed to be 0, is as likely
as any sum of ±y_g: flipping the sign of a unit swaps the two models in it. The p-value is the share
of flips whose sum is at least as far from 0 as d, so it is never below 2^(1 - units), and a unit
that carries most of the weight keeps it in every flip.

Up to EXACT units all flips are counted. Beyond, the HEAVY largest contributions are flipped in all
ways and the sum of the rest is taken as normal with the variance of its flips. A sum of flipped
signs has lighter tails than the normal: beyond about 1.7 standard deviations the normal errs on
the side of no difference, and nowhere is a tail more than 3.2 times that of the normal
(Bentkus and Dzindzalieta 2015). Nothing is random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import ROUNDING, BoolArray, FloatArray, as_list

EXACT = 20
"""Units up to which all 2^units flips are counted."""

HEAVY = 9
"""Contributions that are flipped in all ways when there are more units than EXACT."""

STEPS = 8
"""Halvings of the bracket of an end, which is about half an arm wide: to 0.3 % of the arm."""

FARTHEST = 64.0
"""An end farther than this many standard errors is dropped: too few units carry the weight."""


def flip_p_value(contributions: FloatArray) -> FloatArray:
    """Two-sided p-value [T] of T sums being 0, from the contributions [T,G] of G units.

    1 when the sum is 0. A row with NaN gives NaN. Units that contribute 0 do not count.

    >>> flip_p_value(np.array([[0.1, 0.2, 0.3], [0.1, -0.2, 0.1]])).tolist()
    [0.25, 1.0]
    """
    y = np.asarray(contributions, dtype=np.float64)
    size = np.abs(y)
    total, whole = np.abs(y.sum(axis=1)), size.sum(axis=1)
    # Flips that equal the observed sum but for the order of additions count as equal.
    total = np.where(total <= 1e-9 * whole, 0.0, total - 1e-9 * whole)
    units = np.count_nonzero(size, axis=1)
    p = np.where(total > 0, np.nan, 1.0)
    few, many = ((total > 0) & side for side in (units <= EXACT, units > EXACT))
    if few.any():
        p[few] = _counted(_largest(size[few], units[few].max()), total[few])
    if many.any():
        p[many] = _smoothed(size[many], total[many])
    p = np.clip(p, 2.0 ** (1.0 - np.minimum(units, 1000)), 1.0)
    return np.where(np.isnan(total), np.nan, p)


def flip_interval(
    value: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    *,
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """The differences that `flip_p_value` does not reject at `level`: low and high, [T].

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
    still = spread <= ROUNDING * np.maximum(1.0, np.abs(value))
    possible = ~np.isnan(value) & (2.0 ** (1.0 - units) < 1 - level)
    ends = []
    for side in (-1.0, 1.0):
        reach = np.full(value.shape, np.nan)
        reach[possible & still] = 0.0
        rows = np.flatnonzero(possible & ~still)
        # The end on the side of 0 has to agree with the p-value of no difference.
        zero = np.where(side * value[rows] < 0, np.abs(value[rows]), 0.0)
        reach[rows] = _reach(
            -side * residuals[rows], weights[rows], spread[rows], zero, level
        )
        ends.append(value + side * reach)
    return ends[0], ends[1]


def _reach(
    u: FloatArray, a: FloatArray, spread: FloatArray, zero: FloatArray, level: float
) -> FloatArray:
    """The largest h [T] known not to be rejected for u + a h; NaN beyond FARTHEST spreads."""

    def kept(h: FloatArray) -> BoolArray:
        return np.asarray(flip_p_value(u + a * h[:, None]) > 1 - level)

    guess = _student_reach(u, a, spread, level)
    low, high = 0.75 * guess, 1.3 * guess
    short = ~kept(low)
    low, high = np.where(short, 0.0, low), np.where(short, low, high)
    while (beyond := kept(high) & (high <= FARTHEST * spread)).any():
        low, high = np.where(beyond, high, low), np.where(beyond, 1.5 * high, high)
    for step in range(STEPS + 1):
        inner = zero if step == 0 else (low + high) / 2
        fits = (inner > low) & (inner < high)
        stays = kept(np.where(fits, inner, low))
        low, high = (
            np.where(fits & stays, inner, low),
            np.where(fits & ~stays, inner, high),
        )
    return np.where(high > FARTHEST * spread, np.nan, low)


def _student_reach(
    u: FloatArray, a: FloatArray, spread: FloatArray, level: float
) -> FloatArray:
    """Where Student's t puts the end [T]: h² = c² sum of (u + a h)², or six spreads."""
    square, cross = (a**2).sum(axis=1), (a * u).sum(axis=1)
    t2 = float(stdtrit(max(a.shape[1] - 1.0, 1.0), (1 + level) / 2)) ** 2
    c2 = t2 / (1 + t2 * square)
    room = 1 - c2 * square
    middle = c2 * cross / room
    found = middle + np.sqrt(middle**2 + c2 * spread**2 / room)
    return np.asarray(np.clip(found, spread, 6 * spread))


def _counted(size: FloatArray, total: FloatArray) -> FloatArray:
    """Share [T] of all flips of size [T,n] with a sum of at least `total` either way.

    Each flip is a sum over one half of the units plus a sum over the other: with one half sorted,
    those that reach `total` are counted without making them.
    """
    first, second = (
        np.sort(_sums(part), axis=1) for part in np.array_split(size, 2, axis=1)
    )
    wanted = total[:, None] - second
    reached = [
        have.size * want.size - np.searchsorted(have, want).sum()
        for have, want in zip(first, wanted, strict=True)
    ]
    share = 2.0 * np.array(reached) / (first.shape[1] * second.shape[1])
    return np.asarray(np.minimum(share, 1.0))


def _largest(size: FloatArray, n: int) -> FloatArray:
    """The n largest of each row, with every other one to each half of the result."""
    ordered = np.sort(size, axis=1)[:, ::-1][:, :n]
    return np.concatenate([ordered[:, ::2], ordered[:, 1::2]], axis=1)


def _smoothed(size: FloatArray, total: FloatArray) -> FloatArray:
    """The same [T] with the HEAVY largest of `size` [T,G] counted and the rest normal."""
    cut = size.shape[1] - HEAVY
    ordered = np.partition(size, cut, axis=1)
    heavy = _sums(ordered[:, cut:])
    sigma = np.sqrt((ordered[:, :cut] ** 2).sum(axis=1))[:, None]
    # With each sum its negative is there: either way is as likely.
    return np.asarray(2.0 * ndtr((heavy - total[:, None]) / sigma).mean(axis=1))


def _sums(parts: FloatArray) -> FloatArray:
    """All sums of ±parts over the last axis: [..,n] -> [..,2^n]."""
    sums = np.zeros((*parts.shape[:-1], 1))
    for i in range(parts.shape[-1]):
        one = parts[..., i, None]
        sums = np.concatenate([sums + one, sums - one], axis=-1)
    return sums


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's step-down correction of a family of p-values.

    The p-values in rising order p_(1) <= .. <= p_(m) become
    max over j <= i of min(1, (m - j + 1) p_(j)). Rejecting where the result is at most alpha
    keeps the chance of any false rejection at or below alpha, for any dependence between the
    tests.

    Args:
        p_values: [m], from 0 to 1; NaN for a test that could not be made.

    Returns:
        [m], at least the p-value and at most 1. NaN stays, and does not count in m. An empty
        family gives an empty array.

    >>> holm([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.06, 0.06]
    """
    p, order = _in_order(p_values)
    steps = p[order] * np.arange(order.size, 0, -1)
    corrected = p.copy()
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's correction: of a list of tests, what share is false.

    The p-values in rising order become min over j >= i of m p_(j) / j. Rejecting where the result
    is at most alpha keeps the expected share of false rejections at or below alpha, if the tests
    are independent or positively dependent.

    Args and result as for `holm`.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.04, 0.04]
    """
    p, order = _in_order(p_values)
    steps = p[order] * order.size / np.arange(1, order.size + 1)
    corrected = p.copy()
    corrected[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return corrected


def _in_order(p_values: ArrayLike) -> tuple[FloatArray, NDArray[np.intp]]:
    """The p-values as an array, and the places of those that are numbers, smallest first."""
    p = as_list(p_values, name="p_values")
    made = np.flatnonzero(~np.isnan(p))
    if not ((p[made] >= 0) & (p[made] <= 1)).all():
        raise SettingsError("p_values: expected numbers from 0 to 1, found one outside")
    return p, made[np.argsort(p[made], kind="stable")]
