"""Estimates as they are shown, and the percentile bootstrap: samples, ends, missing replicates."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap

from clinometer.errors import SettingsError
from clinometer.statistics.estimate import (
    Estimate,
    central_interval,
    percentile_estimate,
    resampled_counts,
)


def test_an_estimate_is_shown_with_its_interval() -> None:
    assert repr(Estimate(0.12345)) == "0.123"
    assert Estimate(0.2)._repr_html_() == "<span>0.200</span>"
    shown = Estimate(0.2, 0.1, 0.3, 0.9)._repr_html_()
    assert shown == "<span>0.200 (0.100 to 0.300) <small>90 % interval</small></span>"


def test_resamples_have_the_original_size() -> None:
    drawn = resampled_counts([3, 0, 5], 200, np.random.default_rng(0))
    assert drawn.shape == (200, 3)
    assert (drawn.sum(axis=1) == 8).all()
    assert (drawn[:, 1] == 0).all()


def test_the_interval_of_a_mean_matches_scipy() -> None:
    y = np.random.default_rng(1).gamma(2.0, size=60)
    means = resampled_counts(np.ones(60), 20_000, np.random.default_rng(2)) @ y / 60
    theirs = bootstrap(
        (y,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(3)
    ).confidence_interval
    np.testing.assert_allclose(central_interval(means, 0.95), theirs, atol=0.02)


def test_replicates_without_a_value_are_left_out_and_an_interval_may_hold_the_value() -> None:
    values = np.array([np.nan, 1.0, 2.0, 3.0])
    found = percentile_estimate(2.0, values, level=0.5, method="m")
    assert (found.low, found.high, found.level, found.method) == (1.5, 2.5, 0.5, "m")
    alone = percentile_estimate(2.0, values[:1], level=0.5, method="m")
    assert (alone.low, alone.method) == (None, "plug-in")
    assert percentile_estimate(5.0, values, level=0.5, method="m").high == 2.5
    assert percentile_estimate(5.0, values, level=0.5, method="m", contain=True).high == 5.0


def test_an_estimate_is_immutable_and_becomes_a_dict() -> None:
    e = Estimate(0.2, low=0.1, high=0.3, level=0.95, method="percentile")
    assert e.to_dict() == {
        "value": 0.2,
        "low": 0.1,
        "high": 0.3,
        "level": 0.95,
        "method": "percentile",
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        e.value = 0.5  # type: ignore[misc]  # forbidden on purpose


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"low": 0.3, "high": 0.1, "level": 0.95}, "low <= high, found 0.3, 0.1"),
        ({"low": 0.1}, "together"),
        ({"low": 0.1, "high": 0.2}, "together"),
        ({"level": 0.9}, "together"),
        ({"low": 0.1, "high": np.nan, "level": 0.95}, "low <= high"),
        ({"low": -np.inf, "high": 0.2, "level": 0.95}, "low <= high"),
        ({"low": 0.1, "high": 0.2, "level": 95}, "level: expected"),
        ({"value": np.nan}, "finite"),
    ],
)
def test_half_or_reversed_intervals_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Estimate(**{"value": 0.2, **fields})
