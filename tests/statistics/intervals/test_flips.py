"""What sign flips do not reject, against enumeration and the p-values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.intervals.flips import flip_interval, flip_test
from clinometer.statistics.significance import flip_p_value


def made(
    rng: np.random.Generator, T: int, G: int, *, heavy: float = 2.0
) -> tuple[FloatArray, FloatArray]:
    """Weights, and residuals that sum to 0 with them."""
    a = rng.random((T, G)) ** heavy
    a /= a.sum(axis=1, keepdims=True)
    x = rng.normal(size=(T, G))
    return a, a * (x - (a * x).sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("G", "heavy"), [(7, 0.5), (12, 2.0), (20, 1.0), (60, 3.0)])
def test_the_interval_contains_what_the_test_does_not_reject(
    rng: np.random.Generator, G: int, heavy: float
) -> None:
    a, u = made(rng, 12, G, heavy=heavy)
    d = rng.normal(0, 0.3, 12)
    low, high = flip_interval(d, u, a, level=0.95)

    def p(delta: FloatArray) -> FloatArray:
        return flip_p_value(u + a * (d - delta)[:, None])

    known = ~np.isnan(low)
    assert known.any()
    for end, outwards in ((low, -1), (high, 1)):
        inside, outside = d + 0.999 * (end - d), end + outwards * 0.02 * np.abs(end - d)
        assert (p(inside)[known] > 0.05 - 1e-12).all()
        assert (p(outside)[known] <= 0.05 + 1e-12).all()
    holds = (low <= 0) & (high >= 0)
    np.testing.assert_array_equal(holds[known], (p(np.zeros(12)) > 0.05)[known])


def test_the_interval_against_all_flips_one_by_one(rng: np.random.Generator) -> None:
    """The end is the quantile over the flips of |U| / (1 - A sign U), made one at a time."""
    a, u = made(rng, 1, 9)
    _, high = flip_interval(np.zeros(1), u, a, level=0.9)
    reach = []
    for flip in itertools.product((1, -1), repeat=9):
        if len(set(flip)) == 1:
            reach.append(math.inf)  # all or none flipped: the observed sum itself
            continue
        U, A = float(np.dot(flip, -u[0])), float(np.dot(flip, a[0]))
        reach.append(abs(U) / (1 - A * math.copysign(1, U)))
    reach.sort(reverse=True)
    kept = [h for h in reach if sum(r >= h for r in reach) / len(reach) > 0.1]
    expected = max(kept)
    assert high[0] == pytest.approx(expected, rel=0.01)
    assert high[0] <= expected * (1 + 1e-9)


def test_five_units_give_no_interval() -> None:
    weights = np.full((1, 5), 0.2)
    residuals = np.array([[0.1, -0.1, 0.1, -0.1, 0.0]])
    interval = flip_interval(np.array([0.3]), residuals, weights, level=0.95)
    assert np.isnan(interval).all()


def test_units_without_spread_give_an_interval_of_no_width() -> None:
    weights = np.full((1, 8), 0.125)
    residuals = np.zeros((1, 8))
    low, high = flip_interval(np.array([0.3]), residuals, weights, level=0.95)
    assert low.tolist() == [0.3]
    assert high.tolist() == [0.3]


def test_a_unit_of_nearly_all_weight_gives_no_interval() -> None:
    weights = np.array([[0.994, *[0.001] * 6]])
    values = np.array([[0.2, 3, -4, 5, 4, -3, 5]])
    residuals = weights * (values - 0.2)
    residuals -= weights * residuals.sum()
    interval = flip_interval(np.array([0.3]), residuals, weights, level=0.95)
    assert np.isnan(interval).all()


def test_the_test_of_a_difference_is_that_of_flipping_and_agrees_with_its_interval(
    rng: np.random.Generator,
) -> None:
    for shift in (0.0, 0.02, 0.05, 0.1):
        d = 0.1 * rng.standard_normal((25, 1)) + shift
        w = np.full((25, 1), 1 / 25)
        test = flip_test(d.mean(axis=0), d, w, level=0.95)
        assert test.p_value[0] == pytest.approx(flip_p_value((w * d).T)[0])
        assert (test.p_value[0] < 0.05) == (test.low[0] > 0 or test.high[0] < 0)
        wider = flip_test(d.mean(axis=0), d, w, level=0.95, slack=0.03)
        assert wider.low[0] == pytest.approx(test.low[0] - 0.03)
        assert wider.high[0] == pytest.approx(test.high[0] + 0.03)
        assert wider.p_value[0] >= test.p_value[0]


@pytest.mark.parametrize(("units", "has_interval"), [(29, False), (31, True)])
def test_thirty_units_that_agree_have_an_interval_of_width_zero(
    units: int, has_interval: bool
) -> None:
    """Fewer may all have met the same by chance."""
    differences = np.full((units, 1), 0.2)
    weights = np.full((units, 1), 1 / units)
    test = flip_test(np.array([0.2]), differences, weights, level=0.95)
    assert np.isfinite(test.low[0]) == has_interval
    if has_interval:
        assert (test.low[0], test.high[0]) == pytest.approx((0.2, 0.2))
