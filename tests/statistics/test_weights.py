from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.weights import (
    effective_size,
    normalize_shared,
    normalize_weights,
)


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ([2, 0, 6], [0.25, 0.0, 0.75]),
        (None, [0.25] * 4),
        *(([size, size], [0.5, 0.5]) for size in (1e-320, 1e-200, 1e308)),
    ],
)
def test_weights_on_any_scale_become_shares(
    weights: ArrayLike | None, shares: list[float]
) -> None:
    assert normalize_weights(weights, len(shares), name="w").tolist() == shares


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, np.nan], "^w: .*nan at index 1"),
        ([np.inf, 1], "inf at index 0"),
        ([1, -0.5], "at least 0, found -0.5 at index 1"),
        ([0, 0], "only zeros"),
        ([1, 1, 1], r"shape \(3,\)"),
        ([[1, 1]], r"found shape \(1, 2\)"),
        (["a", "b"], "array of real numbers"),
        ([[1], [1, 2]], "array of real numbers"),
        (np.ma.masked_array([1.0, 2.0], mask=[True, False]), "masked array"),
    ],
)
def test_wrong_weights_are_named(weights: ArrayLike, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        normalize_weights(weights, 2, name="w")


def test_weighting_nothing_is_an_error() -> None:
    with pytest.raises(SettingsError, match="found none"):
        normalize_weights(None, 0, name="w")


def test_a_row_without_weight_stays_zero() -> None:
    rows = normalize_shared([[1.0, 3.0], [0.0, 0.0]], (2, 2), name="w")
    assert rows.tolist() == [[0.25, 0.75], [0.0, 0.0]]


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_effective_size_lies_between_one_and_n(weights: list[float]) -> None:
    n = effective_size(weights)
    assert 1 - 1e-12 <= n <= len(weights) + 1e-9
    assert effective_size([7 * w for w in weights]) == pytest.approx(n, rel=1e-12)


def test_uneven_weights_are_worth_fewer() -> None:
    """Weights 3 and 1 are shares 0.75 and 0.25: 1 / (0.5625 + 0.0625) = 1.6."""
    assert effective_size([3, 1]) == pytest.approx(1.6)
