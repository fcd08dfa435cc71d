"""Weighted means over units with Hall's interval, and the jackknife of numbers that are no means.

Variance and skewness of a unit come from all units alike (from the squares where the weight lies,
too, if these are larger). With even weights the quotient of mean and standard error is skewed
against the mean, since both hold the same units; with one heavy unit it is skewed with it. Both are
first terms of one expansion, and Hall's transformation takes them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clinometer.statistics.arrays import ROUNDING, BoolArray, FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.reach import student_reach

MAX_SKEWNESS = 0.9
"""The skewness of a mean that an interval allows for at most."""

MIN_ARM = 0.7
"""No arm of an interval is shorter than this share of Student's."""

NEARLY_SYMMETRIC = 1e-6
"""Below this skewness Hall's transformation is its limit, and would divide by zero."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Values of units [U,T] for T means, and weights [U,T] that sum to one in each column.

    A unit of weight 0 is not there. What several formulas need is computed once.
    """

    values: FloatArray
    weights: FloatArray

    @cached_property
    def present(self) -> BoolArray:
        return self.weights > 0

    @cached_property
    def size(self) -> FloatArray:
        """Return the number of units [T], at least one."""
        units = self.present.sum(axis=0)
        return np.asarray(np.maximum(units, 1), dtype=np.float64)

    @cached_property
    def weighted_mean(self) -> FloatArray:
        return np.asarray(np.einsum("ut,ut->t", self.weights, self.values))

    @cached_property
    def squared_weights(self) -> FloatArray:
        return self.weights * self.weights

    @cached_property
    def sum_of_squared_weights(self) -> FloatArray:
        """Return sum(w²) [T], one over the effective number of units; 1 for a mean of nothing."""
        total = self.squared_weights.sum(axis=0)
        return np.where(total > 0, total, 1.0)

    @cached_property
    def sum_of_cubed_weights(self) -> FloatArray:
        return np.asarray(np.einsum("ut,ut->t", self.squared_weights, self.weights))

    @cached_property
    def deviations(self) -> FloatArray:
        """Return the distances of units from the unweighted mean of those present, 0 of others."""
        unweighted_mean = (self.values * self.present).sum(axis=0) / self.size
        deviations = self.values - unweighted_mean
        if self.present.all():
            return np.asarray(deviations)
        return np.asarray(deviations * self.present)

    @cached_property
    def squared_deviations(self) -> FloatArray:
        return self.deviations * self.deviations

    @cached_property
    def mean_square(self) -> FloatArray:
        """Return the mean of the squared deviations [T]."""
        return np.asarray(self.squared_deviations.sum(axis=0) / self.size)

    @cached_property
    def mean_cube(self) -> FloatArray:
        """Return the mean of the cubed deviations [T]."""
        cubes = np.einsum("ut,ut->t", self.squared_deviations, self.deviations)
        return np.asarray(cubes / self.size)


@dataclass(frozen=True, eq=False)
class IntervalOfMeans:
    """Means [T] with the ends of their intervals, and the reach of Student's t alone."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    student_reach: FloatArray


def interval_of_means(
    values: FloatArray, weights: FloatArray, *, level: float = 0.95
) -> IntervalOfMeans:
    """Return weighted means over units with their intervals: Student's t, corrected for skewness.

    Args:
        values: [U,T], one value per unit for each of T means.
        weights: [U,T], sum to one in each column: how often a unit is met, not how noisy it is; a
            unit of weight 0 is not there.
        level: of the interval.

    >>> v = np.array([[1.0], [2.0], [3.0], [10.0]])
    >>> interval = interval_of_means(v, np.full((4, 1), 0.25))
    >>> [part.round(1).item() for part in (interval.mean, interval.low, interval.high)]
    [4.0, -0.5, 24.9]
    >>> interval.student_reach.round(1).item()
    6.5
    """
    sample = Sample(values, weights)
    mean = sample.weighted_mean
    error = standard_error(sample)
    skewness = skewness_of_quotient(sample)
    t = student_reach(1.0, np.maximum(sample.size - 1, 1), level=level)
    return IntervalOfMeans(
        mean=mean,
        low=mean - error * hall_arm(skewness, t),
        high=mean + error * hall_arm(skewness, -t),
        student_reach=t * error,
    )


def standard_error(sample: Sample) -> FloatArray:
    """Return the standard error of the weighted mean [T].

    The variance of a unit comes from all units alike; where the heavy units lie further out, half
    of it comes from the residuals where the weight lies.
    """
    n = sample.size
    sum_w2 = sample.sum_of_squared_weights
    of_all_alike = sample.mean_square * sum_w2 * n / np.maximum(n - 1, 1)

    residuals = sample.values - sample.weighted_mean
    weighted_squares = np.einsum(
        "ut,ut->t", sample.squared_weights, residuals * residuals
    )
    where_weight_lies = weighted_squares / np.maximum(1 - sum_w2, 1e-9)

    variance = np.maximum(of_all_alike, (of_all_alike + where_weight_lies) / 2)
    return np.asarray(np.sqrt(variance))


def skewness_of_units(sample: Sample) -> FloatArray:
    """Return the skewness of one unit [T]; 0 where all are equal.

    That of a sample is too small, the more the fewer units it has, and is enlarged accordingly.
    """
    n = sample.size
    varies = sample.mean_square > ROUNDING**2
    cubed_deviation = np.where(varies, sample.mean_square, 1.0) ** 1.5
    skewness = np.where(varies, sample.mean_cube / cubed_deviation, 0.0)
    return np.asarray(skewness * (n - 1) ** 2 / (n * np.maximum(n - 2, 1)))


def skewness_of_quotient(sample: Sample) -> FloatArray:
    """Return half the skewness of mean / standard error [T], kept within what can be corrected.

    The skewness of the mean itself, less three times what its standard error shares with it.
    """
    sum_w2 = sample.sum_of_squared_weights
    of_a_unit = skewness_of_units(sample)
    shared_with_error = 3 * of_a_unit / sample.size / np.sqrt(sum_w2)
    of_the_mean = of_a_unit * sample.sum_of_cubed_weights / sum_w2**1.5
    half = np.clip((shared_with_error - of_the_mean) / 2, -MAX_SKEWNESS, MAX_SKEWNESS)
    return np.where(np.abs(half) < NEARLY_SYMMETRIC, NEARLY_SYMMETRIC, half)


def hall_arm(skewness: FloatArray, quantile: FloatArray) -> FloatArray:
    """Return how many standard errors an arm reaches: Hall's transformation of Student's quantile.

    The arm below has quantile t, the one above -t.
    """
    transformed = 3 / skewness * (np.cbrt(1 + skewness * (quantile - skewness / 6)) - 1)
    reach_of_arm = np.sign(quantile) * transformed
    return np.asarray(np.maximum(reach_of_arm, MIN_ARM * np.abs(quantile)))


def jackknife(
    value: float, without: FloatArray, weights: FloatArray, *, level: float = 0.95
) -> Estimate:
    """Return a number that is no mean with its interval, from what it is without each unit.

    What a unit pulls, (1 - w)/w (value - without), is one value per unit, and the number moves like
    their mean.

    Args:
        value: the number.
        without: [U], what it is without each unit.
        weights: [U], of the units; those of no weight, and those without which there is no number
            (NaN), take no part.
        level: of the interval.

    >>> v = np.array([1.0, 2.0, 3.0, 10.0])
    >>> jackknife(4.0, (16 - v) / 3, np.full(4, 0.25))
    4.000 (-0.547 to 24.927)
    """
    counted = (weights > 0) & np.isfinite(without)
    w = weights[counted] / weights[counted].sum()
    pulled = (1 - w) / w * (value - without[counted])
    interval = interval_of_means(pulled[:, None], w[:, None], level=level)
    low = float(value + interval.low[0] - interval.mean[0])
    high = float(value + interval.high[0] - interval.mean[0])
    return Estimate(float(value), low, high, level, "jackknife")
