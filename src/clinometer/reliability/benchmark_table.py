"""Table 2 of the paper for the benchmarks of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.errors import TableError
from clinometer.reliability.score import mean_estimate
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import central_interval, resampled_counts

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_REPLICATES, _LEVEL = 1000, 0.95


def benchmark_tables(statements: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row per benchmark (column `source`), and one per category of each, by COBIAS.

    Of the paper's average dissimilarity both readings are there: `dissimilarity_pairwise` among the
    versions, as its text says, and `dissimilarity_to_statement`, as its code of February 2024 has
    it. Benchmarks also have

    rank, rank_low, rank_high 1 for the highest COBIAS; bootstrap over statements
    """
    import pandas as pd

    def rows(by: list[str]) -> pd.DataFrame:
        found = []
        for key, part in statements.groupby(by, dropna=False, sort=True):
            scored = part[part["cobias"].notna()]
            if len(scored):
                found.append(dict(zip(by, key, strict=True)) | _row(scored, len(part)))
        return pd.DataFrame(found).sort_values("cobias", ascending=False, ignore_index=True)

    if not statements["cobias"].notna().any():
        raise TableError("benchmarks: expected at least one statement with a score, found none")
    benchmarks = rows(["source"])
    parts = {name: part["cobias"].dropna() for name, part in statements.groupby("source")}
    ranks = _ranks([parts[name].to_numpy() for name in benchmarks["source"]])
    names = ["rank", "rank_low", "rank_high"]
    benchmarks[names] = ranks
    return benchmarks, rows(["source", "category"])


def _row(scored: pd.DataFrame, total: int) -> dict[str, Any]:
    mean = mean_estimate(scored["cobias"].to_numpy(), replicates=_REPLICATES, level=_LEVEL)
    quantiles = np.quantile(scored["cobias"].to_numpy(), QUANTILES).tolist()
    return {
        "statements": total,
        "scored": len(scored),
        "cobias": mean.value,
        "cobias_low": mean.low,
        "cobias_high": mean.high,
        "stability": 1.0 - mean.value,
        "cv_median": float(scored["cv"].median()),
        **{f"cobias_q{100 * q:02.0f}": v for q, v in zip(QUANTILES, quantiles, strict=True)},
        **{
            name: float(scored[name].mean())
            for name in ("dissimilarity_pairwise", "dissimilarity_to_statement")
            if name in scored
        },
    }


def _ranks(scores: Sequence[FloatArray]) -> FloatArray:
    """[B, 3] rank of each benchmark, and the ends of its interval, by COBIAS of its statements."""
    from scipy.stats import rankdata  # loads slowly

    rng = np.random.default_rng(0)
    means = [
        resampled_counts(np.ones(len(values)), _REPLICATES, rng) @ values / len(values)
        for values in scores
    ]
    place = rankdata([-values.mean() for values in scores])
    low, high = central_interval(rankdata(-np.stack(means, axis=1), axis=-1), _LEVEL)
    return np.stack([place, low, high], axis=1)
