"""Corrections for several tests against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from statsmodels.stats.multitest import multipletests

from clinometer.errors import SettingsError
from clinometer.statistics.significance import benjamini_hochberg, holm


def slow_holm(p: list[float]) -> list[float]:
    """Each p-value against all that are not larger, in plain Python."""
    made = sorted(v for v in p if not math.isnan(v))
    step = [min(1.0, (len(made) - j) * v) for j, v in enumerate(made)]
    return [v if math.isnan(v) else max(step[: made.index(v) + made.count(v)]) for v in p]


@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 1.0, math.nan]))))
def test_holm_matches_the_definition(p: list[float]) -> None:
    np.testing.assert_allclose(holm(p), slow_holm(p), atol=1e-15)


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


def test_benjamini_hochberg_is_that_of_statsmodels(rng: np.random.Generator) -> None:
    p = rng.random(40) ** 3
    expected = multipletests(p, method="fdr_bh")[1]
    np.testing.assert_allclose(benjamini_hochberg(p), expected, atol=1e-15)
    with_gap = np.insert(p, 7, np.nan)
    assert np.isnan(benjamini_hochberg(with_gap)[7])
    np.testing.assert_allclose(np.delete(benjamini_hochberg(with_gap), 7), expected, atol=1e-15)
