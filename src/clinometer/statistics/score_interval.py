"""Test and interval of a weighted mean that stay honest when few contexts carry the weight.

For a weighted mean x = sum of a_c x_c (a sums to one), supposed to be 0, toss the sign of each
a_c x_c: the tossed sums have variance sum of (a_c x_c)². In terms of the weighted residuals
u_c = a_c (x_c - x) that is v + 2 x q + x² S, with v = sum of u_c², q = sum of u_c a_c and
S = sum of a_c². The score x / sqrt(v + 2 x q + x² S) is referred to the distribution that has
the fourth moment of the tossed sums (Box and Andersen's approximation of a permutation test):

    nu = 3 / peak - 2,  peak = sum of u_c⁴ / (sum of u_c²)²,
    t² = score² (nu - 1) / (nu - score²), Student with nu - 1 degrees of freedom.

With even weights and many contexts this is the paired t-test.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr, stdtrit

from clinometer.statistics.arrays import ROUNDING, BoolArray, FloatArray

LEAST_NU = 3.0
"""Below it the matched distribution has no sensible tail."""


def score_p_value(
    difference: FloatArray,
    variance: FloatArray,
    *,
    cross: FloatArray,
    square: FloatArray,
    peak: FloatArray,
) -> FloatArray:
    """Two-sided p-value of the difference x being 0 (x, v, q, S, peak as above).

    No spread between contexts: 1 for x = 0, else 0. NaN stays.

    >>> v, q, S = np.array([0.01]), np.zeros(1), np.array([0.04])
    >>> score_p_value(np.array([0.3]), v, cross=q, square=S, peak=np.array([0.12])).round(4)
    array([0.0069])
    """
    nu = _nu(peak)
    spread = np.maximum(variance + 2 * difference * cross + difference**2 * square, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.minimum(difference**2 / spread, nu * (1 - 1e-9))
    t = np.sqrt(score * (nu - 1) / (nu - score))
    p = 2 * stdtr(nu - 1, -t)
    still = np.where(np.abs(difference) <= ROUNDING, 1.0, 0.0)
    alike = _without_spread(difference, variance)
    return np.asarray(np.where(np.isnan(difference), np.nan, np.where(alike, still, p)))


def score_interval(
    difference: FloatArray,
    variance: FloatArray,
    *,
    cross: FloatArray,
    square: FloatArray,
    peak: FloatArray,
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """The differences that `score_p_value` does not reject: low and high.

    With c² the critical value of score² and y = x - delta it is the set of y with
    y² <= c² (v + 2 y q + y² S). When c² S >= 1 (about four effective contexts at 95 %, or fewer)
    no difference can be rejected: NaN. No spread between contexts: both are the difference.

    >>> v, q, S = np.array([0.01]), np.zeros(1), np.array([0.04])
    >>> low, high = score_interval(np.array([0.3]), v, cross=q, square=S, peak=np.array([0.12]),
    ...                            level=0.95)
    >>> low.round(4), high.round(4)
    (array([0.0896]), array([0.5104]))
    """
    nu = _nu(peak)
    t2 = np.asarray(stdtrit(nu - 1, 0.5 + level / 2)) ** 2
    critical = nu * t2 / (nu - 1 + t2)
    room = 1.0 - critical * square
    fits = room > 0
    safe = np.where(fits, room, 1.0)
    middle = critical * cross / safe
    reach = np.sqrt(np.maximum(middle**2 + critical * variance / safe, 0.0))
    low, high = difference - middle - reach, difference - middle + reach
    alike = _without_spread(difference, variance)
    low, high = np.where(alike, difference, low), np.where(alike, difference, high)
    return np.where(fits, low, np.nan), np.where(fits, high, np.nan)


def _without_spread(difference: FloatArray, variance: FloatArray) -> BoolArray:
    """Where what is left of the variance is rounding, which differs between processors."""
    return np.asarray(variance <= (ROUNDING * np.maximum(1.0, np.abs(difference))) ** 2)


def _nu(peak: FloatArray) -> FloatArray:
    return np.maximum(3.0 / peak - 2.0, LEAST_NU)
