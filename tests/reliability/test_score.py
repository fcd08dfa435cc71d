"""Context variance and COBIAS: by hand, as published, and by another way."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.errors import SettingsError
from clinometer.reliability.score import (
    cobias,
    context_variance,
    convergence,
    length_adjusted,
    mean_estimate,
    rank_agreement,
    stability,
)


def published(folder: Path, model: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"cobias/published_pll_{model}.jsonl.gz", "rt") as stream:
        return [json.loads(line) for line in stream]


@pytest.mark.parametrize(("model", "n"), [("bert-base-uncased", 2229), ("albert-base-v2", 2228)])
def test_published_values_are_reproduced(shared_data: Path, model: str, n: int) -> None:
    rows = published(shared_data, model)
    assert len(rows) == n
    tau = np.array([r["original"] for r in rows])
    versions = np.array([r["variants"] for r in rows])
    cv = context_variance(tau, versions)
    assert np.abs(cv - [r["context_variance"] for r in rows]).max() < 1e-9
    assert np.abs(cobias(cv) - [r["cobias"] for r in rows]).max() < 1e-9


def test_by_hand() -> None:
    # 100 / 2 * ((3 - 2)² + (1 - 2)² + 0) / 3 = 100 / 3
    cv = context_variance(2.0, [3.0, 1.0, 2.0])
    assert float(cv) == pytest.approx(100 / 3)
    log = np.log(1 + 100 / 3)
    assert float(cobias(cv)) == pytest.approx(log / (log + 1))
    assert float(cobias(cv) + stability(cv)) == pytest.approx(1.0)


def test_degenerate_input() -> None:
    assert np.isnan(context_variance(2.0, []))
    assert np.isnan(context_variance(2.0, [np.nan]))
    assert np.isnan(context_variance(0.0, [1.0]))
    assert np.isnan(context_variance(np.nan, [1.0]))
    assert float(context_variance(2.0, [np.nan, 3.0])) == 50.0
    assert float(context_variance(2.0, [2.0, 2.0])) == 0.0
    with pytest.raises(SettingsError, match="absolute"):
        context_variance(-1.0, [1.0])


@given(
    st.floats(0.1, 10),
    st.lists(st.floats(0, 20), min_size=1, max_size=8),
    st.integers(2, 4),
)
def test_invariants(tau: float, versions: list[float], times: int) -> None:
    cv = float(context_variance(tau, versions))
    assert cv >= 0
    assert 0 <= float(cobias(cv)) < 1
    assert float(context_variance(tau, versions[::-1])) == pytest.approx(cv)
    assert float(context_variance(tau, versions * times)) == pytest.approx(cv)
    assert float(context_variance(tau, [*versions, tau])) <= cv + 1e-12


def test_convergence_narrows_and_ends_at_the_full_value() -> None:
    rng = np.random.default_rng(2)
    tau = np.full(50, 2.0)
    versions = np.abs(2.0 + rng.normal(size=(50, 12)))
    found = convergence(tau, versions, draws=50)
    assert found.n.tolist() == list(range(2, 13))
    assert found.mean[-1] == pytest.approx(cobias(context_variance(tau, versions)).mean())
    spread = found.high - found.low
    assert spread[-1] == pytest.approx(0, abs=1e-12)
    assert spread[0] > spread[5] > spread[-1]
    with pytest.raises(SettingsError):
        convergence(tau, versions[:, :1])
    with pytest.raises(SettingsError, match="sizes"):
        convergence(tau, versions, sizes=[13])


def test_length_adjusted_removes_what_length_explains() -> None:
    words = np.array([4, 8, 16, 32, 5, 9])
    scores = 0.9 - 0.1 * np.log2(words)
    found = length_adjusted(scores, words)
    assert found.slope == pytest.approx(-0.1)
    assert found.r_squared == pytest.approx(1.0)
    assert found.values == pytest.approx(np.full(6, scores.mean()))
    same = length_adjusted([0.1, 0.2, 0.9], [7, 7, 7])
    assert same.slope == 0
    assert same.values.tolist() == [0.1, 0.2, 0.9]


def test_length_adjusted_against_numpy() -> None:
    rng = np.random.default_rng(3)
    words, scores = rng.integers(3, 60, 100), rng.random(100)
    found = length_adjusted(scores, words)
    slope = np.polyfit(np.log2(words), scores, 1)[0]
    assert found.slope == pytest.approx(slope)
    assert found.r_squared == pytest.approx(np.corrcoef(np.log2(words), scores)[0, 1] ** 2)
    assert np.corrcoef(found.values, np.log2(words))[0, 1] == pytest.approx(0, abs=1e-9)


def test_mean_estimate_by_hand() -> None:
    found = mean_estimate([0.2, 0.4, np.nan, 0.6], replicates=4000, level=0.9)
    assert found.value == pytest.approx(0.4)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.4 < found.high
    assert mean_estimate([0.5], replicates=100, level=0.9).low is None
    with pytest.raises(SettingsError):
        mean_estimate([np.nan], replicates=10, level=0.9)


def test_rank_agreement_against_scipy() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 9, 80).astype(float), rng.random(80)
    a[3] = np.nan
    (found,) = rank_agreement({"a": a, "b": b}, replicates=200)
    there = np.isfinite(a)
    assert found.n == 79
    assert found.rho is not None
    assert found.rho.value == pytest.approx(spearmanr(a[there], b[there]).statistic)
    (none,) = rank_agreement({"a": np.ones(5), "b": np.arange(5.0)})
    assert none.rho is None


def test_published_models_do_not_rank_alike(shared_data: Path) -> None:
    bert = {r["id"]: r["cobias"] for r in published(shared_data, "bert-base-uncased")}
    albert = {r["id"]: r["cobias"] for r in published(shared_data, "albert-base-v2")}
    ids = sorted(set(bert) & set(albert))
    (found,) = rank_agreement(
        {"bert": np.array([bert[i] for i in ids]), "albert": np.array([albert[i] for i in ids])},
        replicates=0,
    )
    assert found.rho is not None
    assert found.rho.value == pytest.approx(0.729, abs=0.001)
