"""Rank correlation: against scipy, against residuals, and when a third measure makes it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from tests.present import present

from clinometer.statistics.rank import spearman, spearman_difference


@pytest.mark.parametrize("seed", range(3))
def test_rank_correlations_match_scipy_and_residuals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=80), rng.integers(5, size=80).astype(float)
    y = x + z + rng.integers(3, size=80)
    plain = present(spearman(x, y, replicates=0))
    theirs = spearmanr(x, y)
    assert plain.rho.value == pytest.approx(theirs.statistic, abs=1e-12)
    assert plain.p == pytest.approx(theirs.pvalue, rel=1e-9)
    held = present(spearman(x, y, given=z, replicates=0))
    ranks = pd.DataFrame({"x": x, "y": y, "z": z}).rank()
    left = {
        c: ranks[c] - np.polyval(np.polyfit(ranks["z"], ranks[c], 1), ranks["z"])
        for c in "xy"
    }
    assert held.rho.value == pytest.approx(
        np.corrcoef(left["x"], left["y"])[0, 1], abs=1e-10
    )


def test_a_correlation_due_to_length_vanishes_when_length_is_held_fixed() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=400)
    x, y = z + rng.normal(size=400) / 2, z + rng.normal(size=400) / 2
    plain = spearman(x, y, replicates=200)
    held = present(spearman(x, y, given=z, replicates=200))
    assert present(plain).rho.value > 0.7
    assert held.rho.high is not None
    assert present(held.rho.low) < 0.06
    assert held.p > 1e-3
    assert spearman(np.ones(9), np.arange(9.0)) is None
    assert spearman(np.arange(2.0), np.arange(2.0)) is None


def test_a_difference_of_correlations_is_paired() -> None:
    rng = np.random.default_rng(7)
    y = rng.normal(size=90)
    a, b = y + rng.normal(size=90), y + 3 * rng.normal(size=90)
    found = present(spearman_difference(a, b, y, replicates=500))
    expected = spearmanr(a, y).statistic - spearmanr(b, y).statistic
    assert found.value == pytest.approx(expected)
    assert present(found.low) < found.value < present(found.high)
    same = present(spearman_difference(a, a, y, replicates=100))
    assert (same.value, same.low, same.high) == (0, 0, 0)
    assert spearman_difference(a, np.ones(90), y) is None
