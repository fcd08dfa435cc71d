"""Estimates as they are shown, and the percentile bootstrap: samples, ends, missing replicates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import bootstrap
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint
from tests.present import present

from clinometer.errors import SettingsError
from clinometer.statistics.estimate import (
    Estimate,
    central_interval,
    difference,
    percentile_estimate,
    ratio,
    resampled_counts,
    share,
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
def test_half_or_reversed_intervals_are_refused(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        Estimate(**{"value": 0.2, **fields})


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
    p, q = share(*a), share(*b)
    made = present(ratio(p, q))
    (pl, ph), (ql, qh) = ((present(e.low), present(e.high)) for e in (p, q))

    def low(t: float) -> float:
        return p.value - t * q.value - math.hypot(p.value - pl, t * (qh - q.value))

    def high(t: float) -> float:
        return p.value - t * q.value + math.hypot(ph - p.value, t * (q.value - ql))

    if p.value:
        assert made.low == pytest.approx(brentq(low, 0, made.value), abs=1e-9)
    assert made.high == pytest.approx(brentq(high, made.value, 1e4), abs=1e-9)


def test_a_ratio_to_nobody_is_none() -> None:
    assert ratio(share(3, 5), share(0, 5)) is None
