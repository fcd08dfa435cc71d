"""Table 2 of the paper for any set of benchmarks, from the statements of one or several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.errors import TableError
from clinometer.reliability.score import mean_estimate
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import central_interval, resampled_counts

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.reliability.run import ReliabilityRun

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_REPLICATES, _LEVEL = 1000, 0.95
NOT_COMPARABLE = (
    "Caution: these runs have different models or readings of the score; only rows of one run can "
    "be compared."
)

#: COBIAS of the statements of each benchmark, by run (if there are several) and source.
Scores = Mapping[tuple[Any, ...], FloatArray]


def side_by_side(runs: Sequence[ReliabilityRun]) -> pd.DataFrame:
    """The statements of several runs in one table; a column `run` has the name of each one's
    folder, or its models if it has none."""
    import pandas as pd

    if len(runs) == 1:
        return runs[0].statements
    names = [_run_name(run, i) for i, run in enumerate(runs)]
    if len(set(names)) < len(names):
        names = [str(run.path or name) for run, name in zip(runs, names, strict=True)]
    tables = [run.statements.assign(run=name) for run, name in zip(runs, names, strict=True)]
    return pd.concat(tables, ignore_index=True)


def _run_name(run: ReliabilityRun, index: int) -> str:
    if run.path is not None:
        # `reliability audit` keeps its run in a folder of that name.
        return run.path.resolve().parent.name if run.path.name == "run" else run.path.name
    return ", ".join(m.id for m in run.record.models) or str(index + 1)


def scored_alike(runs: Sequence[ReliabilityRun]) -> bool:
    """Whether all runs have the same models and settings of scoring, so that their numbers are on
    one scale."""
    kinds = {
        (tuple(m.id for m in run.record.models), str(sorted(run.record.scoring.items())))
        for run in runs
    }
    return len(kinds) == 1


def benchmark_tables(statements: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row per benchmark (column `source`), and one per category of each, by COBIAS.

    With a column `run` (see `side_by_side`) a benchmark has one row for each run: what different
    models or versions say of it is never pooled. Of the paper's average dissimilarity both readings
    are there: `dissimilarity_pairwise` among the versions, as its text says, and
    `dissimilarity_to_statement`, as its code of February 2024 has it. Benchmarks also have

    rank, rank_low, rank_high 1 for the highest COBIAS of its run; bootstrap over statements
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
    by = ["run", "source"] if "run" in statements else ["source"]
    benchmarks = rows(by)
    parts = {key: part["cobias"].dropna().to_numpy() for key, part in statements.groupby(by)}
    scores = {key: parts[key] for key in benchmarks[by].itertuples(index=False, name=None)}
    ranks = _ranks(scores)
    names = ["rank", "rank_low", "rank_high"]
    benchmarks[names] = [ranks[key] for key in scores]
    return benchmarks, rows([*by, "category"])


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


def _ranks(scores: Scores) -> dict[tuple[Any, ...], list[float]]:
    """Rank, and the ends of its interval."""
    from scipy.stats import rankdata  # loads slowly

    ranks: dict[tuple[Any, ...], list[float]] = {}
    for run in dict.fromkeys(key[:-1] for key in scores):
        own = {key: values for key, values in scores.items() if key[:-1] == run}
        rng = np.random.default_rng(0)
        means = [
            resampled_counts(np.ones(len(values)), _REPLICATES, rng) @ values / len(values)
            for values in own.values()
        ]
        place = rankdata([-values.mean() for values in own.values()])
        low, high = central_interval(rankdata(-np.stack(means, axis=1), axis=-1), _LEVEL)
        ranks |= dict(zip(own, np.stack([place, low, high], axis=1).tolist(), strict=True))
    return ranks
