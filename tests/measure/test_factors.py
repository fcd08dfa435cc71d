"""Shares of factors: planted models, invariants, pairs of units taken one by one, and words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.preferences import pair
from tests.present import present

from clinometer.errors import SettingsError
from clinometer.measure import PreferenceGrid, read_preferences
from clinometer.measure.criterion import Criterion
from clinometer.measure.factors import (
    FactorShares,
    factor_shares,
    sampled_factor,
)
from clinometer.measure.level_moments import Moments
from clinometer.statistics.arrays import BoolArray, FloatArray
from clinometer.statistics.estimate import Estimate

WORDINGS, ORDERS, FRAMINGS = 24, 3, 2
WORDING, ORDER, FRAMING = (
    a.ravel()
    for a in np.meshgrid(*map(np.arange, (WORDINGS, ORDERS, FRAMINGS)), indexing="ij")
)
LABELS = {"wording": WORDING, "order": ORDER, "framing": FRAMING}


def grid_of(s: FloatArray, **given: Any) -> PreferenceGrid:
    """Two categories with stereotypes s [X, C]."""
    up = (1 + s) / 2
    return read_preferences(pair(up), **given)


def planted(
    rng: np.random.Generator, wording: float, order: float, rest: float
) -> FloatArray:
    """s [4, C] with these variances; the orders have effects of fixed size."""
    a = rng.normal(0, np.sqrt(wording), (4, WORDINGS))
    b = np.sqrt(order * 1.5) * np.array([-1.0, 0.0, 1.0])
    e = rng.normal(0, np.sqrt(rest), (4, WORDING.size))
    return np.asarray(0.2 * (a[:, WORDING] + b[ORDER] + e))


def shares(found: FactorShares | None) -> dict[str, Estimate]:
    assert found is not None
    known = {f.name: f.share for f in found.factors if f.share is not None}
    return {**known, "rest": found.rest}


def test_planted_shares_are_recovered_and_held_as_often_as_promised() -> None:
    """95 % +- 3 standard errors of 200 trials; the rest has 1/6 of its variance in the wording."""
    rng = np.random.default_rng(11)
    truth = {"wording": 0.5 + 0.2 / 6, "order": 0.3, "rest": 0.2 * 5 / 6}
    held = dict.fromkeys(truth, 0)
    mean = dict.fromkeys([*truth, "framing"], 0.0)
    for _ in range(200):
        found = shares(factor_shares(grid_of(planted(rng, 0.5, 0.3, 0.2)), LABELS))
        for name, e in found.items():
            mean[name] += e.value / 200
        for name, true in truth.items():
            e = found[name]
            held[name] += (e.low or 0.0) <= true <= (e.high or 0.0)
    for name, true in truth.items():
        assert mean[name] == pytest.approx(true, abs=0.02)
        assert 0.904 <= held[name] / 200 <= 0.996, name
    assert mean["framing"] < 0.005  # as observed it would be 0.2 / 36


def test_shares_do_not_depend_on_order_names_scale_or_split_contexts() -> None:
    s = planted(np.random.default_rng(2), 0.4, 0.4, 0.2)
    found = shares(factor_shares(grid_of(s), LABELS))
    mixed = np.random.default_rng(3).permutation(WORDING.size)
    renamed = {
        name: [f"level {v}" for v in values[mixed]] for name, values in LABELS.items()
    }
    again = [
        factor_shares(grid_of(s[:, mixed]), renamed),
        factor_shares(grid_of(-s), LABELS),
        factor_shares(
            replace(grid_of(s), criterion=Criterion(normalize=False)), LABELS
        ),
        factor_shares(grid_of(0.5 * s), LABELS),
    ]
    for one in again:
        for name, e in shares(one).items():
            both = (found[name].value, found[name].low, found[name].high)
            assert (e.value, e.low, e.high) == pytest.approx(both, abs=1e-9)


def test_sampled_answers_give_the_shares_without_their_counting_noise() -> None:
    rng = np.random.default_rng(4)
    s = planted(rng, 0.5, 0.3, 0.2)
    up = (1 + s) / 2
    true = shares(factor_shares(grid_of(s), LABELS))
    answers = np.full(s.shape, 12.0)
    found, noisy = [], []
    for _ in range(30):
        counted = rng.binomial(12, up) / 12
        grid = read_preferences(pair(counted))
        found.append(
            shares(factor_shares(grid, LABELS, samples=answers))["order"].value
        )
        noisy.append(shares(factor_shares(grid, LABELS))["order"].value)
    assert np.mean(found) == pytest.approx(true["order"].value, abs=0.03)
    assert np.mean(noisy) < 0.7 * true["order"].value


def test_the_sample_is_the_factor_with_most_levels_of_a_crossing_else_the_contexts() -> (
    None
):
    assert sampled_factor(LABELS) == "wording"
    assert sampled_factor({"source": WORDING % 3, "tense": FRAMING}) is None
    found = present(
        factor_shares(
            grid_of(planted(np.random.default_rng(5), 0.5, 0.3, 0.2)), {"order": ORDER}
        )
    )
    assert (found.unit, found.n_units) == (None, WORDING.size)


def test_factors_that_say_nothing_are_left_out_or_noted() -> None:
    s = planted(np.random.default_rng(6), 0.5, 0.3, 0.2)
    same, each = [1] * WORDING.size, list(range(WORDING.size))
    assert (
        factor_shares(grid_of(s), {"same": same, "id": each, "articles": ORDER}) is None
    )
    assert factor_shares(grid_of(0 * s), LABELS) is None
    single = [f"{v}" if v else "0" for v in each[:-1]] + [
        "0"
    ]  # one level has two contexts
    found = present(factor_shares(grid_of(s), {"nearly": single}))
    assert found.factors[0].share is not None


def test_levels_that_go_together_are_named() -> None:
    s = planted(np.random.default_rng(7), 0.5, 0.3, 0.2)
    found = present(
        factor_shares(grid_of(s), {"order": ORDER, "copy": np.minimum(ORDER, 1)})
    )
    assert found.note is not None
    assert "order and copy" in found.note
    balanced = present(factor_shares(grid_of(s), LABELS))
    assert balanced.note is None


def test_few_units_give_no_interval() -> None:
    s = planted(np.random.default_rng(8), 0.5, 0.3, 0.2)[:, :18]
    few = {name: values[:18] for name, values in LABELS.items()}
    found = shares(factor_shares(grid_of(s), few))
    assert all(e.low is None for e in found.values())


def test_wrong_labels_are_one_line() -> None:
    s = planted(np.random.default_rng(9), 0.5, 0.3, 0.2)
    with pytest.raises(SettingsError, match=r"^factors: "):
        factor_shares(grid_of(s), {"order": [1, 2]})
    with pytest.raises(SettingsError, match=r"^unit: "):
        factor_shares(grid_of(s), LABELS, unit="tone")


def test_a_group_in_one_unit_takes_no_part() -> None:
    s = planted(np.random.default_rng(10), 0.5, 0.3, 0.2)
    mask = np.ones(s.shape, dtype=bool)
    mask[0] = WORDING == 0
    found = shares(factor_shares(grid_of(s, mask=mask), LABELS))
    without = shares(factor_shares(grid_of(s[1:]), LABELS))
    for name, e in found.items():
        assert (e.value, e.low, e.high) == pytest.approx(
            (without[name].value, without[name].low, without[name].high), abs=1e-9
        )


# --- mean squares without the noise of units ------------------------------------------------------


def slow_square(
    s: FloatArray,
    w: FloatArray,
    units: list[int],
    levels: list[int],
    left_out: int | None,
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
                        w[a]
                        * w[b]
                        * math.fsum(x * y for x, y in zip(s[a], s[b], strict=True))
                    )
        found += math.fsum(w[c] for c in here) / whole * products / weights
    return found


def made(
    seed: int,
) -> tuple[PreferenceGrid, FloatArray, FloatArray, BoolArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X, C, K = int(rng.integers(1, 4)), 24, int(rng.integers(2, 5))
    p = rng.dirichlet(np.full(K, 3.0), (X, C))
    w_c, w_x = rng.random(C) + 0.2, rng.random(X) + 0.2
    mask = rng.random((X, C)) < 0.9
    grid = read_preferences(
        p, context_weights=w_c, group_weights=w_x, mask=mask, criterion="raw"
    )
    return grid, p, w_c, mask, w_x / w_x.sum()


@given(seed=st.integers(0, 5_000))
def test_level_means_match_pairs_of_units_with_each_unit_left_out(seed: int) -> None:
    grid, p, w_c, mask, w_x = made(seed)
    units, levels = np.repeat(np.arange(8), 3), np.tile(np.arange(3), 8)
    found = Moments.of(grid, units).level_means(levels)
    K = p.shape[2]
    for left_out, value in zip((None, *range(8)), found.tolist(), strict=True):
        expected = 0.0
        for x in range(len(p)):
            w = np.where(mask[x], w_c, 0.0)
            s = K * p[x] - 1
            expected += w_x[x] * slow_square(
                s, w, units.tolist(), levels.tolist(), left_out
            )
        assert value == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("left_out", [None, 0, 5])
@given(seed=st.integers(0, 5_000))
def test_total_and_unit_means_match_loops(left_out: int | None, seed: int) -> None:
    grid, p, w_c, mask, w_x = made(seed)
    K = p.shape[2]
    units = np.repeat(np.arange(8), 3)
    contexts = [c for c in range(24) if units[c] != left_out]
    total = 0.0
    unit_means = 0.0
    for x in range(len(p)):
        s = K * p[x] - 1
        w = np.where(mask[x], w_c, 0.0)
        whole = math.fsum(w[c] for c in contexts)
        for c in contexts:
            total += w_x[x] * w[c] / whole * math.fsum(v**2 for v in s[c])
        for unit in range(8):
            of_unit = [c for c in contexts if units[c] == unit]
            mass = math.fsum(w[c] for c in of_unit)
            if mass == 0:
                continue
            for y in range(K):
                mean = math.fsum(w[c] * s[c, y] for c in of_unit) / mass
                unit_means += w_x[x] * mass / whole * mean**2

    moments = Moments.of(grid, units)
    row = 0 if left_out is None else 1 + left_out
    each_context_a_level = np.arange(24)
    assert moments.unit_means(each_context_a_level)[row] == pytest.approx(
        total, abs=1e-10
    )
    assert moments.unit_means(units)[row] == pytest.approx(unit_means, abs=1e-10)


def test_a_level_in_one_unit_takes_the_noise_of_the_others() -> None:
    """Levels a (two units, s 0.2 and 0.4) and b (one unit, s 0.5). Noise: the variance between
    units of a, mean square 0.1 less product 0.08; b then has 0.25 - 0.02. Two categories: twice."""
    up = np.array([0.6, 0.7, 0.75])
    grid = read_preferences(pair(up))
    found = Moments.of(grid, np.arange(3)).level_means(np.array([0, 0, 1]))
    assert found[0] == pytest.approx(
        2 * (2 / 3 * 0.08 + 1 / 3 * (0.25 - 0.02)), abs=1e-12
    )


def test_no_level_in_two_units_is_unknown() -> None:
    grid = read_preferences([[0.6, 0.4], [0.8, 0.2]])
    assert np.isnan(Moments.of(grid, np.arange(2)).level_means(np.arange(2))[0])
