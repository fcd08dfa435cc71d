"""Sign flips, and corrections for several tests, against enumeration and their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from statsmodels.stats.multitest import multipletests

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.significance import (
    benjamini_hochberg,
    flip_interval,
    flip_p_value,
    holm,
)


def enumerated(y: FloatArray) -> float:
    """Share of all sign flips whose sum is at least as far from 0, in plain Python."""
    flips = list(itertools.product((1, -1), repeat=len(y)))
    seen = abs(math.fsum(y))
    reached = sum(
        abs(math.fsum(e * v for e, v in zip(flip, y, strict=True))) >= seen - 1e-12
        for flip in flips
    )
    return reached / len(flips)


def made(
    rng: np.random.Generator, T: int, G: int, *, heavy: float = 2.0
) -> tuple[FloatArray, FloatArray]:
    """Weights, and residuals that sum to 0 with them."""
    a = rng.random((T, G)) ** heavy
    a /= a.sum(axis=1, keepdims=True)
    x = rng.normal(size=(T, G))
    return a, a * (x - (a * x).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("G", [1, 2, 3, 6, 11, 12])
def test_every_flip_is_counted(rng: np.random.Generator, G: int) -> None:
    y = rng.normal(0.2, 1, (6, G)) * rng.exponential(size=G) ** 2
    np.testing.assert_allclose(
        flip_p_value(y), [enumerated(row) for row in y], atol=1e-15
    )


def test_rows_with_few_and_many_units_can_be_mixed(rng: np.random.Generator) -> None:
    y = rng.normal(0.1, 1, (3, 40))
    y[0, 7:], y[1, 1:] = 0, 0
    p = flip_p_value(y)
    assert p[0] == enumerated(y[0, :7])
    assert p[1] == 1.0
    assert p[2] == flip_p_value(y[2:])[0]


def test_ties_count_in_any_order_of_addition() -> None:
    # 0.1 + 0.2 - 0.3 is 5.6e-17, not 0; the four flips of a total of 0.6 are ±.6, ±.4, ±.2, ±0.
    assert flip_p_value(np.array([[0.1, 0.2, -0.3]])).tolist() == [1.0]
    assert flip_p_value(np.full((1, 10), 0.1)).tolist() == [2 / 1024]


@pytest.mark.parametrize("heavy", [0.0, 1.0, 2.0])
def test_many_units_against_brute_force(rng: np.random.Generator, heavy: float) -> None:
    """300,000 random flips have a standard error of at most 0.0009; the normal rest adds less."""
    y = rng.normal(0.15, 1, (8, 45)) / np.arange(1, 46) ** heavy
    tossed = np.abs(rng.choice([-1.0, 1.0], (300_000, 45)) @ y.T)
    expected = (tossed >= np.abs(y.sum(axis=1))).mean(axis=0)
    np.testing.assert_allclose(flip_p_value(y), expected, atol=0.006)


@pytest.mark.parametrize("G", [6, 10, 20, 21, 500])
def test_never_below_two_to_the_one_minus_units(G: int) -> None:
    p = flip_p_value(np.full((1, G), 1.0))[0]
    assert p >= 2.0 ** (1 - G)
    if G <= 20:
        assert p == 2.0 ** (1 - G)


def test_nan_stays_nan_and_no_units_give_one() -> None:
    assert np.isnan(flip_p_value(np.array([[np.nan, 1.0]]))).all()
    assert flip_p_value(np.zeros((2, 5))).tolist() == [1.0, 1.0]


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


def test_too_few_units_give_no_interval_and_no_spread_one_of_width_zero() -> None:
    a, u = np.full((1, 5), 0.2), np.array([[0.1, -0.1, 0.1, -0.1, 0.0]])
    assert np.isnan(flip_interval(np.array([0.3]), u, a, level=0.95)).all()
    a, u = np.full((1, 8), 0.125), np.zeros((1, 8))
    assert np.array(
        flip_interval(np.array([0.3]), u, a, level=0.95)
    ).ravel().tolist() == [0.3, 0.3]
    one = np.array([[0.994, *[0.001] * 6]])
    spread = one * (np.array([[0.2, 3, -4, 5, 4, -3, 5]]) - 0.2)
    spread -= one * spread.sum()
    assert np.isnan(flip_interval(np.array([0.3]), spread, one, level=0.95)).all()


@pytest.mark.parametrize(
    ("correct", "theirs"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")]
)
@given(
    p=st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 1.0, math.nan])))
)
def test_corrections_are_those_of_statsmodels(
    correct: Callable[[list[float]], FloatArray], theirs: str, p: list[float]
) -> None:
    """Of the tests that could be made; the others stay NaN."""
    found, missing = correct(p), np.isnan(p)
    np.testing.assert_array_equal(np.isnan(found), missing)
    if not missing.all():
        expected = multipletests(np.array(p)[~missing], method=theirs)[1]
        np.testing.assert_allclose(found[~missing], expected, atol=1e-15)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([1.2], "from 0 to 1"),
        ([-1e-9, 0.5], "from 0 to 1"),
        ([[0.1, 0.2]], r"found shape \(1, 2\)"),
        (0.1, r"found shape \(\)"),
        (["a"], "real numbers"),
    ],
)
def test_wrong_p_values_are_named(p: ArrayLike, message: str) -> None:
    with pytest.raises(SettingsError, match=f"p_values: .*{message}"):
        holm(p)
