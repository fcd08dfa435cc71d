"""The percentile bootstrap: samples, ends, missing replicates."""

from __future__ import annotations

import numpy as np
from scipy.stats import bootstrap

from clinometer.statistics.intervals.percentile import (
    central_interval,
    percentile_estimate,
    resampled_counts,
)


def test_the_interval_of_a_mean_matches_scipy() -> None:
    y = np.random.default_rng(1).gamma(2.0, size=60)
    means = resampled_counts(np.ones(60), 20_000, np.random.default_rng(2)) @ y / 60
    theirs = bootstrap(
        (y,),
        np.mean,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(3),
    ).confidence_interval
    np.testing.assert_allclose(central_interval(means, 0.95), theirs, atol=0.02)


def test_replicates_without_a_value_are_left_out_and_an_interval_may_hold_the_value() -> (
    None
):
    values = np.array([np.nan, 1.0, 2.0, 3.0])
    found = percentile_estimate(2.0, values, level=0.5, method="m")
    assert (found.low, found.high, found.level, found.method) == (1.5, 2.5, 0.5, "m")
    alone = percentile_estimate(2.0, values[:1], level=0.5, method="m")
    assert (alone.low, alone.method) == (None, "plug-in")
    assert percentile_estimate(5.0, values, level=0.5, method="m").high == 2.5
    assert (
        percentile_estimate(5.0, values, level=0.5, method="m", contain=True).high
        == 5.0
    )
