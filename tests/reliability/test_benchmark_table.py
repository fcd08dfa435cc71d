"""Benchmarks side by side, and a model's score with unreliable pairs left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.present import present

from clinometer.errors import SettingsError, TableError
from clinometer.models import open_model
from clinometer.reliability import Statement
from clinometer.reliability.benchmark_table import benchmark_tables
from clinometer.reliability.pair_scores import pair_scores, stereotype_preferred


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cv = rng.gamma(2.0, 3.0, 60)
    score = np.log1p(cv) / (np.log1p(cv) + 1)
    return pd.DataFrame(
        {
            "id": [str(i) for i in range(60)],
            "source": ["a"] * 20 + ["b"] * 40,
            "category": (["x", "y"] * 10) + [None] * 40,
            "text": [f"Statement {i}." for i in range(60)],
            "cv": cv,
            "cobias": np.where(np.arange(60) == 5, np.nan, score),
            "stability": np.where(np.arange(60) == 5, np.nan, 1 - score),
            "dissimilarity": rng.random(60),
        }
    )


def test_table_2_is_reproduced(frame: pd.DataFrame) -> None:
    benchmarks, kinds = benchmark_tables(frame)
    table = benchmarks.set_index("source")
    a = frame[(frame["source"] == "a") & frame["cobias"].notna()]
    assert table["cobias"]["a"] == pytest.approx(a["cobias"].mean())
    assert table["dissimilarity"]["a"] == pytest.approx(a["dissimilarity"].mean())
    assert table["cobias_q50"]["a"] == pytest.approx(a["cobias"].median())
    assert (table["statements"]["a"], table["scored"]["a"]) == (20, 19)
    assert table["cobias_low"]["b"] < table["cobias"]["b"] < table["cobias_high"]["b"]
    assert benchmarks["stability"].is_monotonic_decreasing
    assert len(kinds) == 3
    assert kinds["scored"].sum() == 59
    assert kinds[kinds["category"].isna()]["statements"].tolist() == [40]
    with pytest.raises(TableError, match="found none"):
        benchmark_tables(frame.assign(cobias=np.nan))


def test_pair_scores_by_hand() -> None:
    preferred = np.array([1.0, 1.0, 0.0, 0.0, np.nan])
    stability = np.array([0.1, 0.2, 0.4, 0.8, 0.9])
    scores = {s.treatment: s for s in pair_scores(preferred, stability, leave_out=(0.5,))}
    assert scores["all pairs"].score.value == 50
    assert scores["all pairs"].change is None
    without = scores["without the least stable 50%"]
    assert (without.pairs, without.score.value) == (2, 0)
    assert present(without.change).value == -50
    assert without.by_chance is not None
    # Two of four pairs at random: the score is 0, 50 or 100, and 50 on average.
    assert without.by_chance.value == pytest.approx(0, abs=3)
    assert (without.by_chance.low, without.by_chance.high) == (-50, 50)
    weighted = scores["weighted by stability"]
    assert weighted.score.value == pytest.approx(100 * 0.3 / 1.5)
    with pytest.raises(SettingsError, match="leave_out"):
        pair_scores(preferred, stability, leave_out=(1.0,))
    with pytest.raises(TableError):
        pair_scores(np.array([np.nan]), np.array([0.5]))


def test_random_stability_changes_no_score() -> None:
    rng = np.random.default_rng(1)
    preferred = rng.integers(0, 2, 400).astype(float)
    scores = pair_scores(preferred, rng.random(400))
    for score in scores[1:]:
        assert score.change is not None
        assert present(score.change.low) < 0 < present(score.change.high)


def test_the_preferred_side_matches_a_computation_by_hand() -> None:
    """By hand: words both sentences share, the differing ones visible; and the other way round."""
    import torch

    from clinometer.models.local.batches import light_kernels

    bert: Any = open_model("pocket:bert")
    pair = ("The nurse said she left.", "The nurse said he left.")
    statements = [
        Statement("s", pair[0], other=pair[1], direction="stereo"),
        Statement("a", pair[0], other=pair[1], direction="antistereo"),
        Statement("none", pair[0]),
    ]
    ids = [bert.tokenizer(t)["input_ids"] for t in pair]
    (place,) = [i for i, (x, y) in enumerate(zip(*ids, strict=True)) if x != y]

    def log_prob(row: list[int], p: int) -> float:
        masked = [bert.tokenizer.mask_token_id if i == p else t for i, t in enumerate(row)]
        with torch.inference_mode(), light_kernels():
            logits = bert.model(input_ids=torch.tensor([masked], device=bert.device)).logits[0, p]
        return float(logits.log_softmax(-1)[row[p]])

    rest = [p for p in range(1, len(ids[0]) - 1) if p != place]
    shared = [sum(log_prob(row, p) for p in rest) for row in ids]
    differing = [log_prob(row, place) for row in ids]
    for metric, values in (("shared", shared), ("differing", differing)):
        found = stereotype_preferred(bert, statements, metric=metric)
        expected = float(values[0] > values[1])
        assert found[:2].tolist() == [expected, 1 - expected]
        assert np.isnan(found[2])
    with pytest.raises(SettingsError, match="metric"):
        stereotype_preferred(bert, statements, metric="all")


def test_runs_of_one_source_are_not_pooled(frame: pd.DataFrame) -> None:
    both = pd.concat([frame.assign(run="first"), frame.assign(run="second")], ignore_index=True)
    table = benchmark_tables(both)[0]
    assert table[["run", "source"]].apply(tuple, axis=1).tolist().count(("first", "a")) == 1
    assert len(table) == 4
    once = benchmark_tables(frame)[0].set_index("source")["cobias"]
    assert table["cobias"].tolist() == pytest.approx(once[table["source"]].tolist())


def test_benchmarks_that_cannot_be_told_apart_say_so() -> None:
    rng = np.random.default_rng(1)
    score = np.concatenate([rng.normal(m, 0.1, 60) for m in (0.3, 0.31, 0.6)]).clip(0, 0.9)
    frame = pd.DataFrame(
        {
            "id": range(180),
            "source": ["a"] * 60 + ["b"] * 60 + ["c"] * 60,
            "category": None,
            "text": "x",
            "cv": score,
            "cobias": score,
            "stability": 1 - score,
        }
    )
    table = benchmark_tables(frame)[0].set_index("source")
    assert table["like"].to_dict() == {"a": "b", "b": "a", "c": ""}
    assert table["rank"].rank().to_dict() == (-table["cobias"]).rank().to_dict()
    ends = table[["rank_low", "rank_high"]].apply(tuple, axis=1).to_dict()
    assert ends == {"a": (2, 3), "b": (2, 3), "c": (1, 1)}
