"""The paper's equations, means and rank agreement: by hand, as published, and by another way."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.present import present

from clinometer.errors import SettingsError
from clinometer.reliability.score import (
    cobias,
    context_variance,
    length_adjusted,
    mean_estimate,
    rank_agreement,
    stability,
)
from clinometer.studies.cobias import TEMPERATURES, cronbach_alpha


def published(folder: Path, model: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"cobias/published_pll_{model}.jsonl.gz", "rt") as stream:
        return [json.loads(line) for line in stream]


@pytest.mark.parametrize(
    ("model", "n"), [("bert-base-uncased", 2229), ("albert-base-v2", 2228)]
)
def test_published_values_are_reproduced(shared_data: Path, model: str, n: int) -> None:
    rows = published(shared_data, model)
    assert len(rows) == n
    tau = np.array([r["original"] for r in rows])
    versions = np.array([r["variants"] for r in rows])
    cv = context_variance(tau, versions)
    assert np.abs(cv - [r["context_variance"] for r in rows]).max() < 1e-9
    assert np.abs(cobias(cv) - [r["cobias"] for r in rows]).max() < 1e-9


def test_the_scores_of_the_paper_are_reproduced(shared_data: Path) -> None:
    """At temperature 1.2: three large models, forty versions, the code of February 2024."""
    folder = shared_data / "cobias" / "paper"
    with gzip.open(folder / "published_large_1.2.jsonl.gz", "rt") as stream:
        rows = [json.loads(line) for line in stream]
    table = pd.read_csv(folder / "temperatures.csv", dtype={"id": str})
    published = table[table["temperature"] == 1.2].set_index("id")
    tau = np.array([r["original"] for r in rows])  # [195, 3]
    versions = np.array([r["variants"] for r in rows])  # [195, 40, 3]
    assert (tau.shape, versions.shape) == ((195, 3), (195, 40, 3))
    cv = context_variance(tau.mean(axis=1), versions.mean(axis=2))
    theirs = published.loc[[r["id"] for r in rows]]
    assert np.abs(cv - theirs["context_variance"]).max() < 1e-9
    assert np.abs(cobias(cv) - theirs["cobias"]).max() < 1e-9


def test_alpha_of_the_ten_published_temperatures(shared_data: Path) -> None:
    """The paper's figure, 0.955 (0.945 to 0.965), over 1.10 to 1.40; four of ten give less."""
    table = pd.read_csv(
        shared_data / "cobias" / "paper" / "temperatures.csv", dtype={"id": str}
    )
    scores = table.pivot(index="id", columns="temperature", values="cobias").dropna()
    assert [float(t) for t in scores.columns] == list(TEMPERATURES)
    found = cronbach_alpha(scores.to_numpy())
    shown = [round(present(x), 3) for x in (found.value, found.low, found.high)]
    assert shown == [0.956, 0.945, 0.965]
    four = cronbach_alpha(scores[[1.1, 1.2, 1.29, 1.38]].to_numpy())
    assert round(four.value, 3) == 0.887


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


def test_length_adjusted_removes_what_length_explains() -> None:
    words = np.array([4, 8, 16, 32, 5, 9])
    scores = 0.9 - 0.1 * np.log2(words)
    assert length_adjusted(scores, words) == pytest.approx(np.full(6, scores.mean()))
    assert length_adjusted([0.1, 0.2, 0.9], [7, 7, 7]).tolist() == [0.1, 0.2, 0.9]
    rng = np.random.default_rng(3)
    words, scores = rng.integers(3, 60, 100), rng.random(100)
    slope = np.polyfit(np.log2(words), scores, 1)[0]
    expected = scores - slope * (np.log2(words) - np.log2(words).mean())
    assert length_adjusted(scores, words) == pytest.approx(expected)


def test_mean_estimate_by_hand() -> None:
    found = mean_estimate([0.2, 0.4, np.nan, 0.6], replicates=4000, level=0.9)
    assert found.value == pytest.approx(0.4)
    assert present(found.low) < 0.4 < present(found.high)
    assert mean_estimate([0.5], replicates=100, level=0.9).low is None
    with pytest.raises(SettingsError):
        mean_estimate([np.nan], replicates=10, level=0.9)


def test_rank_agreement_against_scipy() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 9, 80).astype(float), rng.random(80)
    a[3] = np.nan
    (found,) = rank_agreement({"a": a, "b": b}, replicates=200)
    there = np.isfinite(a)
    assert found.n == 79
    assert present(found.rho).value == pytest.approx(
        stats.spearmanr(a[there], b[there]).statistic
    )
    (none,) = rank_agreement({"a": np.ones(5), "b": np.arange(5.0)})
    assert none.rho is None
