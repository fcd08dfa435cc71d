"""Table 2 of the paper for any set of benchmarks, and the statements behind its means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.display.plain import plain_records
from clinometer.errors import TableError
from clinometer.reliability.dissimilarity import Embed, version_dissimilarity
from clinometer.reliability.scoring.score import mean_estimate

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.reliability.scoring.result import ReliabilityRun

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class BenchmarkView:
    """benchmarks, categories: one row each; worst, best: statements by stability."""

    benchmarks: pd.DataFrame
    categories: pd.DataFrame
    worst: pd.DataFrame
    best: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Rows as plain values, ready for JSON; a missing number is None."""
        return {
            name: plain_records(getattr(self, name))
            for name in ("benchmarks", "categories", "worst", "best")
        }


def add_dissimilarity(run: ReliabilityRun, embed: Embed) -> pd.DataFrame:
    """The statements of a run with two more columns: dissimilarity, distance_to_statement."""
    frame = run.statements
    versions = run.versions
    used = versions[versions["left_out"] == ""].groupby("id")["text"].agg(list)
    lists = [used.get(i, []) for i in frame["id"]]
    found = version_dissimilarity(frame["text"].tolist(), lists, embed)
    return frame.assign(dissimilarity=found.pairwise, distance_to_statement=found.to_statement)


def benchmark_view(
    statements: pd.DataFrame, *, top: int = 5, replicates: int = 1000, level: float = 0.95
) -> BenchmarkView:
    """Statements of one or several runs (column `source` names the benchmark) as tables.

    Sorted by stability, the most reliable first. This reverses the paper's Table 2, whose printed
    COBIAS rises with unreliability.
    """
    import pandas as pd

    scored = statements[statements["cobias"].notna()]
    if scored.empty:
        raise TableError("benchmarks: expected at least one statement with a score, found none")

    def rows(by: list[str]) -> pd.DataFrame:
        found = []
        for key, part in scored.groupby(by, dropna=False, sort=True):
            names = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
            every = statements
            for column, value in names.items():
                same = every[column].isna() if value != value else every[column] == value
                every = every[same]
            found.append(names | _row(part, len(every), replicates=replicates, level=level))
        return pd.DataFrame(found).sort_values("stability", ascending=False, ignore_index=True)

    columns = ["source", "id", "category", "text", "cv", "cobias", "stability"]
    ordered = scored.sort_values("stability")[columns]
    return BenchmarkView(
        rows(["source"]),
        rows(["source", "category"]),
        ordered.head(top).reset_index(drop=True),
        ordered.iloc[::-1].head(top).reset_index(drop=True),
    )


def _row(part: pd.DataFrame, total: int, *, replicates: int, level: float) -> dict[str, Any]:
    mean = mean_estimate(part["cobias"].to_numpy(), replicates=replicates, level=level)
    row: dict[str, Any] = {
        "statements": total,
        "scored": len(part),
        "cobias": mean.value,
        "cobias_low": mean.low,
        "cobias_high": mean.high,
        "stability": 1.0 - mean.value,
        "cv_median": float(part["cv"].median()),
    }
    quantiles = np.quantile(part["cobias"].to_numpy(), QUANTILES)
    row |= {
        f"cobias_q{int(100 * q):02d}": float(v) for q, v in zip(QUANTILES, quantiles, strict=True)
    }
    for name in ("dissimilarity", "distance_to_statement"):
        if name in part:
            row[name] = float(part[name].mean())
    return row
