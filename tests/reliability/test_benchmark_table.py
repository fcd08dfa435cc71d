"""Table 2 of the paper."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clinometer.errors import TableError
from clinometer.reliability.benchmark_table import benchmark_tables
from clinometer.reliability.score import cobias


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
