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
