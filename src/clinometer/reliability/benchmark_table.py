"""Table 2 of the paper for the benchmarks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.errors import TableError
from clinometer.reliability.sampling import ranked
from clinometer.reliability.score import REPLICATES, mean_estimate
from clinometer.statistics.estimate import with_ends
from clinometer.statistics.intervals.percentile import resampled_counts

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of COBIAS that a row has."""


def benchmark_tables(statements: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one row per benchmark (column `source`), and one per category of each, by COBIAS.

    Of the paper's average dissimilarity both readings are there: `dissimilarity_pairwise` among the
    versions, as its text says, and `dissimilarity_to_statement`, as its code of February 2024 has
    it. Benchmarks also have

    rank, rank_low, rank_high 1 for the highest COBIAS; bootstrap over statements
    """
    if not statements["cobias"].notna().any():
        raise TableError(
            "benchmarks: expected at least one statement with a score, found none"
        )
    benchmarks = _table(statements, ["source"])
    rng = np.random.default_rng(0)
    scores_by_source = statements.dropna(subset=["cobias"]).groupby("source")["cobias"]
    means = []
    samples_of_means = []
    for source in benchmarks["source"]:
        scores = scores_by_source.get_group(source).to_numpy()
        counts = resampled_counts(np.ones(len(scores)), REPLICATES, rng)
        means.append(scores.mean())
        samples_of_means.append(counts @ scores / len(scores))
    ranks = ranked(np.array(means), np.stack(samples_of_means, axis=1), level=0.95)
    benchmarks["rank"] = ranks.rank
    benchmarks["rank_low"] = ranks.low
    benchmarks["rank_high"] = ranks.high
    return benchmarks, _table(statements, ["source", "category"])


def _table(statements: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return a row for each value of the columns `by` that has a score."""
    import pandas as pd

    rows = []
    for key, part in statements.groupby(by, dropna=False, sort=True):
        scored = part[part["cobias"].notna()]
        if len(scored):
            row = dict(zip(by, key, strict=True)) | _row(scored, len(part))
            rows.append(row)
    table = pd.DataFrame(rows)
    return table.sort_values("cobias", ascending=False, ignore_index=True)


def _row(scored: pd.DataFrame, total: int) -> dict[str, Any]:
    """Return the columns of `total` statements, of which some have a score."""
    scores = scored["cobias"].to_numpy()
    mean = mean_estimate(scores)
    row = {
        "statements": total,
        "scored": len(scored),
        **with_ends("cobias", mean),
        "stability": 1.0 - mean.value,
        "cv_median": float(scored["cv"].median()),
    }
    for q in QUANTILES:
        row[f"cobias_q{100 * q:02.0f}"] = float(np.quantile(scores, q))
    for name in ("dissimilarity_pairwise", "dissimilarity_to_statement"):
        if name in scored:
            row[name] = float(scored[name].mean())
    return row
