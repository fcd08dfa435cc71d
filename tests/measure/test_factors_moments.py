"""Mean squares without the noise of units: against pairs of units taken one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.preferences import pair

from clinometer.measure import PreferenceGrid, read_preferences
from clinometer.measure.factors import Moments
from clinometer.statistics.arrays import BoolArray, FloatArray


def slow_square(
    s: FloatArray, w: FloatArray, units: list[int], levels: list[int], left_out: int | None
) -> float:
    """Sum over levels of w_l times the mean product of two different units, of one group: s [C,K],
    w [C] with 0 for what was not observed. All levels must be in several units."""
    rows = [c for c in range(len(w)) if w[c] > 0 and units[c] != left_out]
    whole = math.fsum(w[c] for c in rows)
    found = 0.0
    for level in {levels[c] for c in rows}:
        here = [c for c in rows if levels[c] == level]
        products = weights = 0.0
        for a in here:
            for b in here:
                if units[a] != units[b]:
                    weights += w[a] * w[b]
                    products += (
                        w[a] * w[b] * math.fsum(x * y for x, y in zip(s[a], s[b], strict=True))
                    )
        found += math.fsum(w[c] for c in here) / whole * products / weights
    return found


def made(seed: int) -> tuple[PreferenceGrid, FloatArray, FloatArray, BoolArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X, C, K = int(rng.integers(1, 4)), 24, int(rng.integers(2, 5))
    p = rng.dirichlet(np.full(K, 3.0), (X, C))
    w_c, w_x = rng.random(C) + 0.2, rng.random(X) + 0.2
    mask = rng.random((X, C)) < 0.9
    grid = read_preferences(p, context_weights=w_c, group_weights=w_x, mask=mask, normalize=False)
    return grid, p, w_c, mask, w_x / w_x.sum()


@given(seed=st.integers(0, 5_000))
def test_level_means_match_pairs_of_units_with_each_unit_left_out(seed: int) -> None:
    grid, p, w_c, mask, w_x = made(seed)
    units, levels = np.repeat(np.arange(8), 3), np.tile(np.arange(3), 8)
    found = Moments.of(grid, units).level_means(levels)
    K = p.shape[2]
    for left_out, value in [(None, found.value), *enumerate(found.without.tolist())]:
        expected = 0.0
        for x in range(len(p)):
            w = np.where(mask[x], w_c, 0.0)
            s = K * p[x] - 1
            expected += w_x[x] * slow_square(s, w, units.tolist(), levels.tolist(), left_out)
        assert value == pytest.approx(expected, abs=1e-10)


@given(seed=st.integers(0, 5_000))
def test_total_and_unit_means_match_loops(seed: int) -> None:
    grid, p, w_c, mask, w_x = made(seed)
    units = np.repeat(np.arange(8), 3)
    moments = Moments.of(grid, units)
    K = p.shape[2]
    for left_out in (None, 0, 5):
        total = means = 0.0
        for x in range(len(p)):
            rows = [c for c in range(24) if mask[x, c] and units[c] != left_out]
            whole = math.fsum(w_c[c] for c in rows)
            total += w_x[x] * math.fsum(
                w_c[c] / whole * math.fsum((K * v - 1) ** 2 for v in p[x, c]) for c in rows
            )
            for unit in range(8):
                here = [c for c in rows if units[c] == unit]
                mass = math.fsum(w_c[c] for c in here)
                for y in range(K):
                    mean = math.fsum(w_c[c] * (K * p[x, c, y] - 1) for c in here)
                    means += w_x[x] * (mean**2 / mass / whole if here else 0.0)
        found = moments.total(), moments.unit_means(units)
        shown = [f.value if left_out is None else float(f.without[left_out]) for f in found]
        assert shown == pytest.approx([total, means], abs=1e-10)


def test_a_level_in_one_unit_takes_the_noise_of_the_others() -> None:
    """Levels a (two units, s 0.2 and 0.4) and b (one unit, s 0.5). Noise: the variance between
    units of a, mean square 0.1 less product 0.08; b then has 0.25 - 0.02. Two categories: twice."""
    up = np.array([0.6, 0.7, 0.75])
    grid = read_preferences(pair(up))
    found = Moments.of(grid, np.arange(3)).level_means(np.array([0, 0, 1]))
    assert found.value == pytest.approx(2 * (2 / 3 * 0.08 + 1 / 3 * (0.25 - 0.02)), abs=1e-12)


def test_no_level_in_two_units_is_unknown() -> None:
    grid = read_preferences([[0.6, 0.4], [0.8, 0.2]])
    assert np.isnan(Moments.of(grid, np.arange(2)).level_means(np.arange(2)).value)


def test_counting_noise_is_taken_out_on_average() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(5, 5, (1, 30))
    true = pair(p)
    units = np.repeat(np.arange(10), 3)
    wanted = Moments.of(read_preferences(true), units)
    found = []
    for _ in range(400):
        shares = rng.multinomial(8, true) / 8
        moments = Moments.of(read_preferences(shares), units, samples=np.full((1, 30), 8.0))
        found.append([moments.total().value, moments.unit_means(units).value])
    scatter = 4 * np.std(found, axis=0) / 20
    for mean, each, one in zip(
        np.mean(found, axis=0),
        scatter,
        (wanted.total().value, wanted.unit_means(units).value),
        strict=True,
    ):
        assert abs(mean - one) < each
        assert each < one / 4
