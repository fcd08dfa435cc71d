"""Arms of normal and Student's intervals, against scipy's quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from clinometer.statistics.intervals.reach import (
    detectable_difference,
    normal_error,
    normal_reach,
    student_reach,
    widening_for_several,
)


def test_arms_are_quantiles_times_standard_errors() -> None:
    errors = np.array([0.5, 2.0])
    z = stats.norm.ppf(0.95)
    np.testing.assert_allclose(normal_reach(errors, level=0.9), z * errors)
    t = stats.t.ppf(0.95, [3, 30])
    np.testing.assert_allclose(student_reach(errors, [3, 30], level=0.9), t * errors)
    np.testing.assert_allclose(normal_error(2 * z * errors, level=0.9), errors)


def test_several_intervals_are_widened_for_their_number() -> None:
    wider = stats.t.ppf(1 - 0.05 / 40, 7) / stats.t.ppf(0.975, 7)
    assert widening_for_several(7, 20, level=0.95) == pytest.approx(wider)


def test_half_of_the_tests_find_what_lies_at_the_end_of_an_interval() -> None:
    reach = float(normal_reach(1.0, level=0.95))
    assert detectable_difference(level=0.95, power=0.5) == pytest.approx(reach)
