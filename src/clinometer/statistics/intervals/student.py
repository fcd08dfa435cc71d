"""Student's interval of a mean, Welch's of the difference of two, Fieller's of their ratio."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.reach import student_reach


def student_interval(
    value: float, standard_error: float, degrees: float, *, level: float
) -> Estimate:
    """Return a number with Student's interval, value ± t × standard error."""
    reach = float(student_reach(standard_error, degrees, level=level))
    return Estimate(value, value - reach, value + reach, level)


def student_mean(values: FloatArray, *, level: float) -> Estimate:
    """Return the mean of independent values [n] with Student's interval; of one value, without.

    >>> student_mean(np.array([1.0, 2.0, 3.0]), level=0.95)
    2.000 (-0.484 to 4.484)
    """
    n = len(values)
    mean = float(values.mean())
    if n < 2:
        return Estimate(mean)
    variance = values.var(ddof=1) / n
    return student_interval(mean, math.sqrt(variance), n - 1, level=level)


def welch_difference(a: FloatArray, b: FloatArray, *, level: float) -> Estimate | None:
    """Return mean(a) - mean(b) of independent samples, with Welch's interval; None for a sample
    of one.

    With v and w the variances of the two means, the degrees of freedom are
    (v + w)² / (v² / (n - 1) + w² / (m - 1)).

    >>> welch_difference(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0]), level=0.95)
    0.000 (-2.484 to 2.484)
    """
    n = len(a)
    m = len(b)
    if min(n, m) < 2:
        return None
    v = a.var(ddof=1) / n
    w = b.var(ddof=1) / m
    degrees = 1.0
    if v + w:
        degrees = (v + w) ** 2 / (v**2 / (n - 1) + w**2 / (m - 1))
    difference = float(a.mean() - b.mean())
    return student_interval(difference, math.sqrt(v + w), degrees, level=level)


class RatioEnds(NamedTuple):
    """Ends of the interval of a ratio; None where an end is open."""

    low: float | None
    high: float | None


def fieller(top: FloatArray, bottom: FloatArray, *, level: float) -> RatioEnds:
    """Return the ends of mean(top) / mean(bottom) of paired numbers [n].

    They are the ratios r at which mean(top) - r mean(bottom) is t standard errors from 0:
    the roots of (b² - t² v_b) r² - 2 (a b - t² v_ab) r + (a² - t² v_a) = 0. Where the mean of
    `bottom` cannot be told from 0 there is no upper end.

    >>> fieller(np.array([2.0, 2.1, 1.9]), np.array([1.0, 1.0, 1.0]), level=0.95).low < 2
    True
    """
    n = len(top)
    a = float(top.mean())
    b = float(bottom.mean())
    covariance = np.cov(top, bottom) / n
    t_squared = float(student_reach(1.0, n - 1.0, level=level)) ** 2
    quadratic = b**2 - t_squared * covariance[1, 1]
    half_linear = a * b - t_squared * covariance[0, 1]
    constant = a**2 - t_squared * covariance[0, 0]
    root = math.sqrt(max(half_linear**2 - quadratic * constant, 0.0))
    if quadratic > 0:
        low = (half_linear - root) / quadratic
        return RatioEnds(float(low), float((half_linear + root) / quadratic))
    if constant <= 0:
        return RatioEnds(0.0, None)
    return RatioEnds(float((half_linear - root) / min(quadratic, -1e-300)), None)
