"""Cronbach's alpha: by hand, by the covariance matrix, by extremes; its interval by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.statistics.agreement import cronbach_alpha


def test_by_hand() -> None:
    # x = 0, 1, 2 and y = 0, 2, 1: variances 1 and 1; sums 0, 3, 3: variance 3; 2 (1 - 2/3) = 2/3.
    assert cronbach_alpha([[0, 0], [1, 2], [2, 1]]).value == pytest.approx(2 / 3)


def test_matches_the_covariance_formula() -> None:
    x = np.random.default_rng(0).normal(size=(40, 5)) + np.arange(40)[:, None] / 10
    c = np.cov(x, rowvar=False)
    k = 5
    mean_cov = (c.sum() - np.trace(c)) / (k * (k - 1))
    expected = k * mean_cov / (np.trace(c) / k + (k - 1) * mean_cov)
    assert cronbach_alpha(x).value == pytest.approx(expected, abs=1e-12)


def test_a_shift_changes_nothing_and_copies_give_one() -> None:
    x = np.random.default_rng(1).normal(size=(20, 1))
    assert cronbach_alpha(np.hstack([x, x + 3, x - 1])).value == pytest.approx(1)


def test_the_interval_covers_at_its_level() -> None:
    """True alpha of k parallel ways with error variance v is k / (k + v)."""
    chance = np.random.default_rng(2)
    truth, inside, rounds = 4 / (4 + 1.5), 0, 800
    for _ in range(rounds):
        x = chance.normal(size=(60, 1)) + chance.normal(scale=np.sqrt(1.5), size=(60, 4))
        found = cronbach_alpha(x, level=0.9)
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= truth <= found.high
    assert 0.87 < inside / rounds < 0.93


@pytest.mark.parametrize("x", [[[1, 2]], [[1], [2]], [[1, 2], [2, 1]], [[1, np.nan], [2, 3]]])
def test_degenerate_input_is_refused(x: list[list[float]]) -> None:
    with pytest.raises(SettingsError):
        cronbach_alpha(x)
