"""Shares, their differences and ratios, against statsmodels and their definitions."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint
from tests.present import present

from clinometer.statistics.intervals.shares import difference, ratio, share

PAIRS = [
    ((108, 190), (88, 210)),
    ((0, 12), (9, 40)),
    ((5, 5), (1, 30)),
    ((3, 7), (7, 7)),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_shares_and_differences_are_those_of_statsmodels(
    a: tuple[int, int], b: tuple[int, int], level: float
) -> None:
    one = share(*a, level=level)
    wilson = proportion_confint(*a, alpha=1 - level, method="wilson")
    assert (one.low, one.high) == pytest.approx(wilson, abs=1e-12)
    far = difference(one, share(*b, level=level))
    newcombe = confint_proportions_2indep(*a, *b, method="newcomb", alpha=1 - level)
    assert (far.low, far.high) == pytest.approx(newcombe, abs=1e-9)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_ends_of_a_ratio_leave_no_difference(
    a: tuple[int, int], b: tuple[int, int]
) -> None:
    """At the lower end t the lower end of a - t b, by Newcombe's rule, is 0; and so above."""
    p = share(*a)
    q = share(*b)
    interval = present(ratio(p, q))

    def low_of_difference(t: float) -> float:
        length_of_p = p.value - present(p.low)
        length_of_q = t * (present(q.high) - q.value)
        return p.value - t * q.value - math.hypot(length_of_p, length_of_q)

    def high_of_difference(t: float) -> float:
        length_of_p = present(p.high) - p.value
        length_of_q = t * (q.value - present(q.low))
        return p.value - t * q.value + math.hypot(length_of_p, length_of_q)

    if p.value > 0:
        low = brentq(low_of_difference, 0, interval.value)
        assert interval.low == pytest.approx(low, abs=1e-9)
    high = brentq(high_of_difference, interval.value, 1e4)
    assert interval.high == pytest.approx(high, abs=1e-9)


def test_a_ratio_to_nobody_is_none() -> None:
    assert ratio(share(3, 5), share(0, 5)) is None
