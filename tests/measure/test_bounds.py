"""Bounds of preferences and risks against brute force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.measure import decompose, preference, read_preferences
from clinometer.measure.bounds import preference_bounds, risk_bounds, risk_error

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("K", [2, 3])
def test_bounds_contain_every_corner_and_are_tight(K: int) -> None:
    """A ratio of sums is largest at a corner of the box: all 2^6 corners are tried."""
    counts = np.eye(K)[[0, 1, K - 1, 0, 1, 0]]
    counts[5] = 1 / K  # shared by all
    for _ in range(20):
        lower = RNG.uniform(0, 0.1, 6) * (RNG.random(6) < 0.7)
        upper = lower + RNG.uniform(0, 0.05, 6) * (
            RNG.random(6) < 0.8
        )  # some are known
        with np.errstate(divide="ignore"):
            low, high = preference_bounds(np.log(lower), np.log(upper), counts)
        corners = np.array(list(itertools.product(*zip(lower, upper, strict=True))))
        corners = corners[corners.sum(axis=1) > 0]
        with np.errstate(divide="ignore"):
            p = preference(np.log(corners), counts).p
        np.testing.assert_allclose(low, np.nanmin(p, axis=0), atol=1e-12)
        np.testing.assert_allclose(high, np.nanmax(p, axis=0), atol=1e-12)


def test_unscored_words_leave_the_bounds_at_0_and_1() -> None:
    low, high = preference_bounds([-np.inf, -np.inf], np.log([0.1, 0.1]), np.eye(2))
    assert low.tolist() == [0, 0]
    assert high.tolist() == [1, 1]


def test_an_upper_bound_below_the_lower_is_refused() -> None:
    with pytest.raises(SettingsError, match="log_upper"):
        preference_bounds(np.log([0.2, 0.1]), np.log([0.1, 0.1]), np.eye(2))


@pytest.mark.parametrize("how", ["ratio", "ratio:2", "ratio:1", "share", "points"])
@pytest.mark.parametrize("reference", [None, "group-mean"])
@pytest.mark.parametrize("K", [2, 4])
def test_risks_of_preferences_within_bounds_lie_within_bounds(
    K: int, how: str, reference: str | None
) -> None:
    p = RNG.dirichlet(np.ones(K), (5, 8))
    low = np.clip(p - RNG.uniform(0, 0.1, p.shape), 0, 1)
    high = np.clip(p + RNG.uniform(0, 0.1, p.shape), 0, 1)
    w = RNG.random(8)
    given: dict[str, Any] = {
        "context_weights": w,
        "reference": reference,
        "criterion": how,
    }
    given["categories"] = [str(3 * y) for y in range(K)]
    grid = read_preferences(p, **given)
    bounds = risk_bounds(grid, low, high)
    report = decompose(p, **given)
    for name, (least, most) in bounds._asdict().items():
        assert least - 1e-12 <= getattr(report, name).value <= most + 1e-12
    exact = risk_bounds(grid, p, p)
    assert pytest.approx((report.R.value,) * 2) == exact.R
    assert exact.R_bias == pytest.approx((report.R_bias.value,) * 2)
    assert exact.R_volatility == pytest.approx((report.R_volatility.value,) * 2)


@pytest.mark.parametrize("reference", [None, "own", "group-mean"])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("criterion", ["ratio:1", "ratio:2", "raw", "share", "points"])
def test_no_risk_moves_further_than_its_error(
    K: int, criterion: str, reference: str | None
) -> None:
    """Random moves of a cell's preferences, each as far as is allowed."""
    star: Any = reference
    if reference == "own":
        star = RNG.dirichlet(np.full(K, 5.0))
    p = RNG.dirichlet(np.ones(K), (5, 8))
    settings: Any = {
        "context_weights": RNG.random(8),
        "group_weights": RNG.random(5),
        "reference": star,
        "criterion": criterion,
        "categories": [str(3 * y) for y in range(K)],
    }
    largest_moves = RNG.uniform(0, 0.02, (5, 8))
    error = risk_error(read_preferences(p, **settings), largest_moves)
    unmoved = decompose(p, **settings)
    for _ in range(50):
        # Towards a random corner of the simplex, as far as allowed and not beyond it.
        corner = np.eye(K)[RNG.integers(K, size=(5, 8))]
        distances = np.abs(corner - p).max(axis=2)
        steps = (largest_moves / distances).clip(max=1)
        q = p + (corner - p) * steps[..., None]
        assert (np.abs(q - p).max(axis=2) <= largest_moves + 1e-15).all()
        moved = decompose(q, **settings)
        assert abs(moved.R.value - unmoved.R.value) <= error + 1e-12
        assert abs(moved.R_bias.value - unmoved.R_bias.value) <= error + 1e-12


def test_the_error_of_r_is_attained_with_two_categories() -> None:
    male = RNG.uniform(0.6, 0.9, (3, 4))
    p, off = np.stack([male, 1 - male], axis=2), RNG.uniform(0, 0.05, (3, 4))
    mask = np.ones((3, 4), dtype=bool)
    mask[0, 1] = False  # not observed: what is not known of it does not count
    grid = read_preferences(p, mask=mask)
    moved = decompose(p + off[..., None] * [1, -1], mask=mask)
    error = moved.R.value - decompose(p, mask=mask).R.value
    assert risk_error(grid, off) == pytest.approx(error)
