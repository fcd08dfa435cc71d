"""Moments, tests and tails by their definitions, and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from clinometer.statistics.shape import distribution_characteristics, hill


@pytest.mark.parametrize("kind", ["normal", "lognormal", "uniform", "student"])
def test_moments_by_their_definition_and_tests_of_scipy(
    rng: np.random.Generator, kind: str
) -> None:
    x = {
        "normal": lambda: rng.normal(0.5, 0.1, 120),
        "lognormal": lambda: rng.lognormal(0, 0.5, 120),
        "uniform": lambda: rng.random(60),
        "student": lambda: rng.standard_t(3, 200),
    }[kind]()
    shape = distribution_characteristics([np.nan, *x])
    away = x - x.mean()
    assert shape.n == x.size
    assert shape.mean == pytest.approx(x.mean(), abs=1e-12)
    assert shape.sd == pytest.approx(math.sqrt((away**2).mean()), abs=1e-12)
    assert shape.skewness == pytest.approx((away**3).mean() / x.std() ** 3, abs=1e-8)
    assert shape.excess_kurtosis == pytest.approx(
        (away**4).mean() / x.var() ** 2 - 3, abs=1e-8
    )
    assert shape.p_normal == pytest.approx(stats.shapiro(x).pvalue, abs=1e-8)
    kurtosis = stats.kurtosistest(x, alternative="greater")
    assert shape.p_fat_tail == pytest.approx(kurtosis.pvalue, abs=1e-10)


def test_hill_by_hand_and_on_a_pareto_tail(rng: np.random.Generator) -> None:
    # log excesses over x_(n-2) = 1: 1 and 2, mean 1.5.
    x = np.array([0.1] * 7 + [1.0, math.e, math.e**2])
    assert hill(x, 2) == pytest.approx(1 / 1.5)
    assert hill(10 * x, 2) == pytest.approx(1 / 1.5)
    pareto = np.sort(1 + rng.pareto(3.0, 20_000))
    assert hill(pareto, 2_000) == pytest.approx(3.0, abs=4 * 3.0 / math.sqrt(2_000))
    assert (
        distribution_characteristics(pareto).p_normal is None
    )  # too many for Shapiro and Wilk


@pytest.mark.parametrize(("n", "k"), [(4, 2), (8, 2), (16, 4), (24, 4)])
def test_the_tail_is_the_root_of_the_number_of_values_and_at_least_two(
    n: int, k: int
) -> None:
    """k values of e above 1 have index 1; the smaller ones have no part in it."""
    x = [*np.linspace(0.1, 1.0, n - k), *[math.e] * k]
    assert distribution_characteristics(x).hill == pytest.approx(1.0)


def test_few_or_equal_values_have_no_tests() -> None:
    few = distribution_characteristics([0.1, 0.2, 0.4])
    assert few.skewness is not None
    assert (few.p_normal, few.p_fat_tail) == (None, None)
    equal = distribution_characteristics([0.2] * 30)
    assert (equal.sd, equal.skewness, equal.p_normal, equal.hill) == (
        0.0,
        None,
        None,
        None,
    )
    assert distribution_characteristics(-np.arange(1.0, 30.0)).hill is None
