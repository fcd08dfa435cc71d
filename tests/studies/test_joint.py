from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau
from tests.preferences import pair

from clinometer.errors import SettingsError
from clinometer.measure import decompose, estimate_risks, read_preferences
from clinometer.studies.joint import joint_replicates, kendall, kendall_interval


def binary(rng: np.random.Generator, a: float, b: float, shape: tuple[int, int]) -> np.ndarray:
    return pair(rng.beta(a, b, shape))


def test_values_are_those_of_the_reports() -> None:
    rng = np.random.default_rng(0)
    w = rng.uniform(1, 5, 40)
    models = [binary(rng, 5, 5, (6, 40)), binary(rng, 8, 3, (6, 40))]
    grids = [read_preferences(p, context_weights=w) for p in models]
    found = joint_replicates(grids, replicates=100)
    for p, values in zip(models, found.values, strict=True):
        report = estimate_risks(p, context_weights=w)
        shown = [report.R.value, report.R_bias.value, report.R_volatility.value]
        assert values == pytest.approx(np.array(shown))
    assert found.n_eff == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_replicates_spread_like_fresh_samples() -> None:
    """The standard deviation of R over new samples, against the bootstrap's of one of them."""
    truth = np.random.default_rng(1)
    fresh = [decompose(binary(truth, 6, 3, (5, 50))).R.value for _ in range(400)]
    one = joint_replicates([read_preferences(binary(truth, 6, 3, (5, 50)))], replicates=800)
    assert np.std(one.draws[:, 0, 0]) == pytest.approx(np.std(fresh), rel=0.35)


def test_twins_have_zero_in_their_difference_interval() -> None:
    p = binary(np.random.default_rng(2), 6, 4, (4, 30))
    found = joint_replicates([read_preferences(p)] * 2, replicates=100)
    gap = found.draws[:, 0, 0] - found.draws[:, 1, 0]
    assert found.interval(0.0, gap) == (0.0, 0.0)


def test_kendall_matches_scipy_without_ties_and_is_bounded_with_them() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.normal(size=(2, 7))
        assert kendall(a, b) == pytest.approx(kendalltau(a, b).statistic)
    assert kendall([1, 1, 1], [1, 2, 3]) == 0
    assert kendall([1, 2, 3], [6, 5, 4]) == -1
    with pytest.raises(SettingsError, match="two or more"):
        kendall([1], [1])


def test_interval_of_tau_widens_with_noise() -> None:
    rng = np.random.default_rng(4)
    base = np.arange(5.0)
    still = base + 0.01 * rng.normal(size=(300, 5))
    noisy = base + 3.0 * rng.normal(size=(300, 5))
    assert kendall_interval(still, still[::-1]) == (1.0, 1.0)
    low, high = kendall_interval(noisy, noisy[::-1])
    assert low < 0.3 < high
