"""Significance: tests of weighted means by flipping signs, and corrections for many tests at once.

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
from scipy.special import ndtr

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray, as_list

EXACT = 20
"""Units up to which all 2^units flips are counted."""

HEAVY = 9
"""Contributions that are flipped in all ways when there are more units than EXACT."""


def flip_p_value(contributions: FloatArray) -> FloatArray:
    """Return two-sided p-values [T] of sums being 0, from the contributions [T,G] of G units.

    1 when the sum is 0. A row with NaN gives NaN. Units that contribute 0 do not count.

    >>> flip_p_value(np.array([[0.1, 0.2, 0.3], [0.1, -0.2, 0.1]])).tolist()
    [0.25, 1.0]
    """
    contributions = np.asarray(contributions, dtype=np.float64)
    sizes = np.abs(contributions)
    distance = np.abs(contributions.sum(axis=1))
    # Flips that equal the observed sum but for the order of additions count as equal.
    rounding = 1e-9 * sizes.sum(axis=1)
    distance = np.where(distance <= rounding, 0.0, distance - rounding)

    units = np.count_nonzero(sizes, axis=1)
    p_values = np.where(distance > 0, np.nan, 1.0)
    countable = (distance > 0) & (units <= EXACT)
    if countable.any():
        largest = _largest(sizes[countable], units[countable].max())
        p_values[countable] = _share_of_all_flips(largest, distance[countable])
    too_many = (distance > 0) & (units > EXACT)
    if too_many.any():
        p_values[too_many] = _smoothed_share(sizes[too_many], distance[too_many])

    smallest = 2.0 ** (1.0 - np.minimum(units, 1000))
    p_values = np.clip(p_values, smallest, 1.0)
    return np.where(np.isnan(distance), np.nan, p_values)


def _share_of_all_flips(sizes: FloatArray, distance: FloatArray) -> FloatArray:
    """Return the share [T] of flips of sizes [T,n] whose sum is at least `distance` either way.

    Each flip is a sum over one half of the units plus a sum over the other: with one half sorted,
    those that reach `distance` are counted without making them.
    """
    first_half, second_half = np.array_split(sizes, 2, axis=1)
    first_sums = np.sort(_signed_sums(first_half), axis=1)
    second_sums = np.sort(_signed_sums(second_half), axis=1)
    needed = distance[:, None] - second_sums
    flips = first_sums.shape[1] * second_sums.shape[1]
    reached = np.empty(len(sizes))
    for row, (sums, least) in enumerate(zip(first_sums, needed, strict=True)):
        reached[row] = flips - np.searchsorted(sums, least).sum()
    return np.asarray(np.minimum(2.0 * reached / flips, 1.0))


def _largest(sizes: FloatArray, n: int) -> FloatArray:
    """Return the n largest of each row, every other one in either half of the result."""
    ordered = np.sort(sizes, axis=1)[:, ::-1][:, :n]
    return np.concatenate([ordered[:, ::2], ordered[:, 1::2]], axis=1)


def _smoothed_share(sizes: FloatArray, distance: FloatArray) -> FloatArray:
    """Return the share [T] of flips that reach `distance` either way, with the HEAVY largest of
    sizes [T,G] counted and the sum of the rest normal."""
    cut = sizes.shape[1] - HEAVY
    ordered = np.partition(sizes, cut, axis=1)
    heavy_sums = _signed_sums(ordered[:, cut:])
    sigma = np.sqrt((ordered[:, :cut] ** 2).sum(axis=1))[:, None]
    # The heavy sums hold the negative of each of them: either way is as likely.
    one_side = ndtr((heavy_sums - distance[:, None]) / sigma).mean(axis=1)
    return np.asarray(2.0 * one_side)


def _signed_sums(parts: FloatArray) -> FloatArray:
    """Return all sums of ±parts over the last axis: [..,n] -> [..,2^n]."""
    sums = np.zeros((*parts.shape[:-1], 1))
    for i in range(parts.shape[-1]):
        part = parts[..., i, None]
        sums = np.concatenate([sums + part, sums - part], axis=-1)
    return sums


def holm(p_values: ArrayLike) -> FloatArray:
    """Return Holm's step-down correction of a family of p-values.

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
    p = _as_p_values(p_values)
    order = _rising_order(p)
    steps = p[order] * np.arange(order.size, 0, -1)
    corrected = p.copy()
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Return Benjamini and Hochberg's correction: of a list of tests, what share is false.

    The p-values in rising order become min over j >= i of m p_(j) / j. Rejecting where the result
    is at most alpha keeps the expected share of false rejections at or below alpha, if the tests
    are independent or positively dependent.

    Args and result as for `holm`.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.04, 0.04]
    """
    p = _as_p_values(p_values)
    order = _rising_order(p)
    steps = p[order] * order.size / np.arange(1, order.size + 1)
    corrected = p.copy()
    corrected[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return corrected


def _as_p_values(p_values: ArrayLike) -> FloatArray:
    """Read p-values [m], from 0 to 1 or NaN."""
    p = as_list(p_values, name="p_values")
    if ((p < 0) | (p > 1)).any():
        raise SettingsError("p_values: expected numbers from 0 to 1, found one outside")
    return p


def _rising_order(p: FloatArray) -> NDArray[np.intp]:
    """Return the indices of the p-values that are numbers, smallest first."""
    numbers = np.flatnonzero(~np.isnan(p))
    return numbers[np.argsort(p[numbers], kind="stable")]
