"""Shares of factors: planted models, invariants, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
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
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate

WORDINGS, ORDERS, FRAMINGS = 24, 3, 2
WORDING, ORDER, FRAMING = (
    a.ravel() for a in np.meshgrid(*map(np.arange, (WORDINGS, ORDERS, FRAMINGS)), indexing="ij")
)
LABELS = {"wording": WORDING, "order": ORDER, "framing": FRAMING}


def grid_of(s: FloatArray, **given: Any) -> PreferenceGrid:
    """Two categories with stereotypes s [X, C]."""
    up = (1 + s) / 2
    return read_preferences(pair(up), **given)


def planted(rng: np.random.Generator, wording: float, order: float, rest: float) -> FloatArray:
    """s [4, C] with these variances; the orders have effects of fixed size."""
    a = rng.normal(0, np.sqrt(wording), (4, WORDINGS))
    b = np.sqrt(order * 1.5) * np.array([-1.0, 0.0, 1.0])
    e = rng.normal(0, np.sqrt(rest), (4, WORDING.size))
    return np.asarray(0.2 * (a[:, WORDING] + b[ORDER] + e))


def shares(found: FactorShares | None) -> dict[str, Estimate]:
    assert found is not None
    known = {f.name: f.share for f in found.factors if f.share is not None}
    return {**known, "rest": found.rest}


def test_exact_shares_are_a_plain_analysis_of_variance() -> None:
    s = planted(np.random.default_rng(0), 0.5, 0.3, 0.2)
    found = shares(factor_shares(grid_of(s), LABELS, exact=True))
    total = s.var(axis=1).mean()
    by_wording = s.reshape(4, WORDINGS, -1).mean(axis=2).var(axis=1).mean()
    by_order = s.reshape(4, WORDINGS, ORDERS, FRAMINGS).mean(axis=(1, 3)).var(axis=1).mean()
    by_framing = s.reshape(4, WORDINGS, ORDERS, FRAMINGS).mean(axis=(1, 2)).var(axis=1).mean()
    wanted = {"wording": by_wording, "order": by_order, "framing": by_framing}
    for name, value in wanted.items():
        assert found[name].value == pytest.approx(value / total, abs=1e-12)
        assert found[name].low is None
    assert found["rest"].value == pytest.approx(1 - sum(wanted.values()) / total, abs=1e-12)


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
    renamed = {name: [f"level {v}" for v in values[mixed]] for name, values in LABELS.items()}
    again = [
        factor_shares(grid_of(s[:, mixed]), renamed),
        factor_shares(grid_of(-s), LABELS),
        factor_shares(replace(grid_of(s), criterion=Criterion(normalize=False)), LABELS),
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
    true = shares(factor_shares(grid_of(s), LABELS, exact=True))
    answers = np.full(s.shape, 12.0)
    found, noisy = [], []
    for _ in range(30):
        counted = rng.binomial(12, up) / 12
        grid = read_preferences(pair(counted))
        found.append(shares(factor_shares(grid, LABELS, samples=answers))["order"].value)
        noisy.append(shares(factor_shares(grid, LABELS))["order"].value)
    assert np.mean(found) == pytest.approx(true["order"].value, abs=0.03)
    assert np.mean(noisy) < 0.7 * true["order"].value


def test_the_sample_is_the_factor_with_most_levels_of_a_crossing_else_the_contexts() -> None:
    assert sampled_factor(LABELS) == "wording"
    assert sampled_factor({"source": WORDING % 3, "tense": FRAMING}) is None
    found = present(
        factor_shares(grid_of(planted(np.random.default_rng(5), 0.5, 0.3, 0.2)), {"order": ORDER})
    )
    assert (found.unit, found.n_units) == (None, WORDING.size)


def test_factors_that_say_nothing_are_left_out_or_noted() -> None:
    s = planted(np.random.default_rng(6), 0.5, 0.3, 0.2)
    same, each = [1] * WORDING.size, list(range(WORDING.size))
    assert factor_shares(grid_of(s), {"same": same, "id": each, "articles": ORDER}) is None
    assert factor_shares(grid_of(0 * s), LABELS) is None
    single = [f"{v}" if v else "0" for v in each[:-1]] + ["0"]  # one level has two contexts
    found = present(factor_shares(grid_of(s), {"nearly": single}))
    assert found.factors[0].share is not None


def test_levels_that_go_together_are_named() -> None:
    s = planted(np.random.default_rng(7), 0.5, 0.3, 0.2)
    found = present(factor_shares(grid_of(s), {"order": ORDER, "copy": np.minimum(ORDER, 1)}))
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
    with pytest.raises(SettingsError, match="factors: expected 144 levels"):
        factor_shares(grid_of(s), {"order": [1, 2]})
    with pytest.raises(SettingsError, match="unit: expected one of wording"):
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
