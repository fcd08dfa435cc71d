"""Student, Welch and Fieller, against scipy and their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.present import present

from clinometer.statistics.intervals.student import (
    fieller,
    student_mean,
    welch_difference,
)


def test_means_and_differences_are_those_of_scipy(rng: np.random.Generator) -> None:
    a, b = rng.normal(1.0, 2.0, 12), rng.normal(0.0, 1.0, 30)
    mean = student_mean(a, level=0.9)
    theirs = stats.ttest_1samp(a, 0.0).confidence_interval(0.9)
    assert (mean.low, mean.high) == pytest.approx((theirs.low, theirs.high))
    gap = present(welch_difference(a, b, level=0.9))
    welch = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    assert (gap.low, gap.high) == pytest.approx((welch.low, welch.high))


def test_one_value_has_no_interval() -> None:
    assert student_mean(np.array([2.0]), level=0.95).low is None
    assert welch_difference(np.array([2.0]), np.array([1.0, 3.0]), level=0.95) is None


def test_the_ends_of_a_ratio_are_t_standard_errors_away(
    rng: np.random.Generator,
) -> None:
    """At an end r the mean of top - r bottom is Student's quantile of its standard errors."""
    bottom = rng.normal(5.0, 1.0, 20)
    top = bottom + rng.normal(2.0, 1.0, 20)
    ends = fieller(top, bottom, level=0.95)
    for end in ends:
        rest = top - present(end) * bottom
        t = rest.mean() / (rest.std(ddof=1) / np.sqrt(20))
        assert abs(t) == pytest.approx(stats.t.ppf(0.975, 19))


def test_a_ratio_to_what_may_be_0_has_no_upper_end(rng: np.random.Generator) -> None:
    bottom = rng.normal(0.0, 1.0, 20)
    ends = fieller(rng.normal(9.0, 1.0, 20), bottom, level=0.999)
    assert ends.high is None
    assert present(ends.low) > 0
    assert fieller(bottom - bottom.mean(), bottom, level=0.999) == (0.0, None)
