"""The paper's equations, intervals and ranks: by hand, as published, by another way, and in
simulations with a known truth; and Table 2."""

from __future__ import annotations

import gzip
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.present import loaded, present
from tests.processes import ROOT

from clinometer.errors import ModelNotFound, SettingsError, TableError
from clinometer.models.embeddings import SentenceEncoder
from clinometer.reliability.score import (
    SamplingDistribution,
    benchmark_tables,
    cobias,
    context_variance,
    dissimilarity,
    growing_pairwise,
    length_adjusted,
    mean_estimate,
    model_spread,
    rank_agreement,
    stability,
    version_dissimilarity,
)
from clinometer.statistics.arrays import FloatArray
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


def distribution(tau: FloatArray, versions: FloatArray) -> SamplingDistribution:
    """Of one model."""
    return SamplingDistribution.of(tau[None], versions[None])


def test_intervals_by_hand() -> None:
    """Three statements alone: c² is drawn towards 2, the value of normal changes, by 60 versions;
    the law of the mean is gamma with shape n / (c² (1 + 0.5/n))."""
    rng = np.random.default_rng(0)
    tau = np.array([3.0, 2.0, 1.0])
    versions = np.abs(tau[:, None] + rng.normal(size=(3, 30)))
    versions[1, 5:] = np.nan
    versions[2, 1:] = np.nan
    low, high = distribution(tau, versions).intervals(level=0.9)
    for i in range(2):
        squares = np.array(
            [100 * (v - tau[i]) ** 2 / tau[i] for v in versions[i] if v == v]
        )
        n, mean = len(squares), squares.mean()
        own = squares.var(ddof=1) / mean**2
        ratio = (60 * 2 + (n - 1) * own) / (60 + n - 1)
        law = stats.gamma(n / (ratio * (1 + 0.5 / n)))
        ends = [mean * law.mean() / law.ppf(q) for q in (0.95, 0.05)]
        assert (low[i], high[i]) == pytest.approx(ends)
    assert np.isnan([low[2], high[2]]).all()  # one version has no spread


def test_versions_that_change_nothing_have_no_width() -> None:
    law = distribution(np.array([2.0]), np.full((1, 4), 2.0))
    assert [float(e[0]) for e in law.intervals(level=0.95)] == [0.0, 0.0]
    assert np.isnan(law.ranks(level=0.95)[0]).all()


@pytest.mark.parametrize("n", [4, 12, 20, 40])
@pytest.mark.parametrize(
    ("law", "missing"),
    [
        *((law, 0.0) for law in ("normal", "normal, shifted", "Student, 5 degrees")),
        *(("two normal laws", 0.0), ("exponential", 0.0), ("exponential", 0.15)),
    ],
)
def test_intervals_cover_the_truth(n: int, law: str, missing: float) -> None:
    """Statements of a run vary in their scale, as benchmarks/statement_intervals.py draws them."""
    worlds, rng = (
        loaded(ROOT / "benchmarks" / "statement_intervals.py"),
        np.random.default_rng(1),
    )
    drawn, square = worlds.changes(law, 3000, n, rng)
    drawn[rng.random(drawn.shape) < missing] = np.nan
    assert 0.93 <= worlds.covered(drawn, square) <= 0.975


def model_versions(
    rng: np.random.Generator, n: int, models: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Changes that all models share, and their own, whose size differs by model and statement:
    tau [M, S], versions [M, S, n], and the expected cv over sets of as many models [S]."""
    many, own, size = 800, 0.8, 0.6
    shared = np.exp(rng.normal(0, 0.4, many))
    scale = own * np.exp(
        rng.normal(-(size**2), size, (models, many))
    )  # E scale² = own²
    tau = np.full((models, many), 20.0)
    changes = shared[:, None] * rng.normal(size=(many, n))
    changes = changes + scale[..., None] * rng.normal(size=(models, many, n))
    truth = 100 / 20 * (shared**2 + own**2 / models)
    return tau, tau[..., None] + changes, truth


@pytest.mark.parametrize(("n", "models"), [(12, 2), (40, 2), (40, 3)])
def test_intervals_cover_other_models(n: int, models: int) -> None:
    rng = np.random.default_rng(2)
    own, by_model, truth = model_versions(rng, n, models)
    law = SamplingDistribution.of(own, by_model)
    assert law.models > 0
    low, high = law.intervals(level=0.95)
    covered = np.mean((low <= truth) & (high >= truth))
    assert 0.93 <= covered <= 0.99
    alone = distribution(own.mean(axis=0), by_model.mean(axis=0)).intervals(level=0.95)
    assert (high >= alone[1] - 1e-12).all()
    assert model_spread(own[:1], by_model[:1]) == 0.0


def test_ranks_cover_the_true_ranks() -> None:
    rng = np.random.default_rng(3)
    size = np.exp(rng.normal(0, 0.5, 200))
    tau = np.full(200, 20.0)
    versions = tau[:, None] + size[:, None] * rng.normal(size=(200, 20))
    rank, low, high = distribution(tau, versions).ranks(level=0.95)
    assert sorted(rank) == list(range(1, 201))
    assert rank[np.argmax(context_variance(tau, versions))] == 1
    truth = stats.rankdata(-size)
    assert 0.9 < np.mean((low <= truth) & (truth <= high)) <= 1


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder(device="cpu")


def test_embeddings_match_the_model_card(encoder: SentenceEncoder) -> None:
    """Padded batch, attention mask, mean over the mask: the card's own recipe, another way."""
    import torch

    texts = [
        "That is a happy person",
        "That is a very happy person",
        "Today is a sunny day",
        "Hi",
    ]
    rows = encoder.tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = encoder.model(**rows).last_hidden_state
    mask = rows["attention_mask"][..., None].float()
    pooled = (states * mask).sum(1) / mask.sum(1)
    expected = torch.nn.functional.normalize(pooled).numpy()
    found = encoder.embed([*texts, texts[0]])
    assert np.abs(found[:4] - expected).max() < 1e-5
    assert (found[4] == found[0]).all()
    # Two values that its page prints for these sentences: 0.942 and 0.257 (paraphrase scale).
    assert float(found[0] @ found[1]) > 0.9
    assert float(found[0] @ found[2]) < 0.4
    # too long a text is truncated
    assert encoder.embed(["nurse " * 400, "short"]).shape == (2, 384)


def test_pairwise_by_hand(encoder: SentenceEncoder) -> None:
    vectors = encoder.embed(
        ["The nurse is tired.", "The doctor is late.", "Bread is cheap.", "Hi"]
    )
    slow = [
        np.mean(
            [1 - min(max(float(a @ b), 0), 1) for a, b in combinations(vectors[:n], 2)]
        )
        for n in (2, 3, 4)
    ]
    assert growing_pairwise(vectors) == pytest.approx(slow)
    assert float(dissimilarity(vectors[0], vectors[0])) == pytest.approx(0, abs=1e-12)
    assert growing_pairwise([[1.0, 0.0], [-1.0, 0.0]]).tolist() == [1.0]  # cut, not 2


def embed(texts: Any) -> Any:
    places = {
        "a": [1.0, 0.0],
        "far": [0.0, 1.0],
        "near": [0.6, 0.8],
    }  # 1 and 0.4 away from a
    return np.array([places[t] for t in texts])


def test_versions_of_statements() -> None:
    versions = [["far", "near"], [], ["near"]]
    pairwise, to_statement = version_dissimilarity(
        ["a", "far", "near"], versions, embed
    )
    assert pairwise[0] == pytest.approx(0.2)
    assert to_statement[0] == pytest.approx((1.0 + 0.4) / 2)
    assert np.isnan(pairwise[1:]).all()
    assert np.isnan(to_statement[1])
    assert to_statement[2] == pytest.approx(0)


def test_an_unknown_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinometer.models.embeddings.hub_reachable", lambda: False)
    with pytest.raises(ModelNotFound, match="nobody/nothing"):
        SentenceEncoder("nobody/nothing")


def test_table_2_is_reproduced() -> None:
    rng = np.random.default_rng(0)
    cv, readings = (
        rng.gamma(2.0, 3.0, 60),
        ["dissimilarity_pairwise", "dissimilarity_to_statement"],
    )
    frame = pd.DataFrame(rng.random((60, 2)), columns=readings).assign(
        source=["a"] * 20 + ["b"] * 40,
        category=pd.Series(["x", "y"] * 10).reindex(range(60)),
        cv=cv,
        cobias=np.where(np.arange(60) == 5, np.nan, cobias(cv)),
    )
    benchmarks, kinds = benchmark_tables(frame)
    table = benchmarks.set_index("source")
    a = frame[(frame["source"] == "a") & frame["cobias"].notna()]
    assert table["cobias"]["a"] == pytest.approx(a["cobias"].mean())
    for reading in readings:
        assert table[reading]["a"] == pytest.approx(a[reading].mean())
    assert table["cobias_q50"]["a"] == pytest.approx(a["cobias"].median())
    assert (table["statements"]["a"], table["scored"]["a"]) == (20, 19)
    assert table["cobias_low"]["b"] < table["cobias"]["b"] < table["cobias_high"]["b"]
    assert benchmarks["cobias"].is_monotonic_decreasing
    assert len(kinds) == 3
    assert kinds["scored"].sum() == 59
    assert kinds[kinds["category"].isna()]["statements"].tolist() == [40]
    with pytest.raises(TableError, match="found none"):
        benchmark_tables(frame.assign(cobias=np.nan))


def test_benchmarks_that_cannot_be_told_apart_share_their_ranks() -> None:
    rng = np.random.default_rng(1)
    score = np.concatenate([rng.normal(m, 0.1, 60) for m in (0.3, 0.31, 0.6)]).clip(
        0, 0.9
    )
    source = np.repeat(["a", "b", "c"], 60)
    frame = pd.DataFrame(
        {"source": source, "category": None, "cv": score, "cobias": score}
    )
    table = benchmark_tables(frame)[0].set_index("source")
    assert table["rank"].rank().to_dict() == (-table["cobias"]).rank().to_dict()
    ends = table[["rank_low", "rank_high"]].apply(tuple, axis=1).to_dict()
    assert ends == {"a": (2, 3), "b": (2, 3), "c": (1, 1)}
