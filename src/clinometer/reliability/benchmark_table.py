"""Table 2 of the paper for any set of benchmarks, and the statements behind its means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.display.text import plain_records
from clinometer.errors import TableError
from clinometer.reliability.dissimilarity import Embed, version_dissimilarity
from clinometer.reliability.score import mean_estimate
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import central_interval, resampled_counts
from clinometer.statistics.significance import holm

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.reliability.run import ReliabilityRun

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
    found = version_dissimilarity(frame["text"].tolist(), run.versions_used(), embed)
    return frame.assign(dissimilarity=found.pairwise, distance_to_statement=found.to_statement)


def side_by_side(
    runs: Sequence[ReliabilityRun], frames: Sequence[pd.DataFrame] | None = None
) -> pd.DataFrame:
    """The statements of several runs under each other; a column `run` says which is whose, by the
    name of its folder, or by its models if it has none."""
    import pandas as pd

    tables = [run.statements for run in runs] if frames is None else list(frames)
    if len(runs) == 1:
        return tables[0]
    names = [_run_name(run, i) for i, run in enumerate(runs)]
    if len(set(names)) < len(names):
        names = [str(run.path or name) for run, name in zip(runs, names, strict=True)]
    return pd.concat(
        [table.assign(run=name) for name, table in zip(names, tables, strict=True)],
        ignore_index=True,
    )


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


def benchmark_view(
    statements: pd.DataFrame, *, top: int = 5, replicates: int = 1000, level: float = 0.95
) -> BenchmarkView:
    """Statements of one or several runs as tables, one row per benchmark (column `source`).

    With a column `run` (see `side_by_side`) a benchmark has one row for each run: what different
    models or versions say of it is never pooled. Sorted by stability; the paper's Table 2 has the
    printed COBIAS, which is 1 - stability.
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

    runs = ["run"] if "run" in scored else []
    columns = [*runs, "source", "id", "category", "text", "cv", "cobias", "stability"]
    ordered = scored.sort_values("stability")[columns]
    return BenchmarkView(
        _ranked(
            told_apart(rows([*runs, "source"]), scored, [*runs, "source"], level=level),
            scored,
            [*runs, "source"],
            replicates=replicates,
            level=level,
        ),
        rows([*runs, "source", "category"]),
        ordered.head(top).reset_index(drop=True),
        ordered.iloc[::-1].head(top).reset_index(drop=True),
    )


def told_apart(
    table: pd.DataFrame, scored: pd.DataFrame, by: list[str], *, level: float
) -> pd.DataFrame:
    """The table with a column `like`: the other rows of the same run whose mean COBIAS cannot be
    told from this one (Welch's test, Holm's correction over all pairs of the table)."""
    from scipy.stats import ttest_ind

    groups = _scores_of(table, scored, by)
    keys = list(groups)
    pairs = [(a, b) for a, b in combinations(keys, 2) if a[:-1] == b[:-1]]
    p = [
        float(ttest_ind(groups[a], groups[b], equal_var=False).pvalue)
        if min(len(groups[a]), len(groups[b])) > 1
        else np.nan
        for a, b in pairs
    ]
    corrected = holm(p) if pairs else np.empty(0)
    like: dict[tuple[Any, ...], list[str]] = {key: [] for key in keys}
    for (a, b), value in zip(pairs, corrected, strict=True):
        if not value <= 1 - level:
            like[a].append(str(b[-1]))
            like[b].append(str(a[-1]))
    return table.assign(like=["; ".join(like[key]) for key in keys])


def _scores_of(
    table: pd.DataFrame, scored: pd.DataFrame, by: list[str]
) -> dict[tuple[Any, ...], Any]:
    """COBIAS of the statements behind each row of the table."""
    return {
        tuple(row[name] for name in by): part["cobias"].to_numpy()
        for row, part in (
            (row, scored[(scored[by] == [row[name] for name in by]).all(axis=1)])
            for row in table.to_dict(orient="records")
        )
    }


def _ranked(
    table: pd.DataFrame, scored: pd.DataFrame, by: list[str], *, replicates: int, level: float
) -> pd.DataFrame:
    """The table with columns rank, rank_low and rank_high: 1 for the benchmark of a run that
    context changes most, as for statements; bootstrap over the statements of each benchmark."""
    groups = _scores_of(table, scored, by)
    ranks = dict.fromkeys(groups, (1.0, 1.0, 1.0))
    for run in dict.fromkeys(key[:-1] for key in groups):
        keys = [key for key in groups if key[:-1] == run]
        means = np.array([groups[key].mean() for key in keys])
        found = np.repeat(_places(means)[None], 3, axis=0)
        if replicates > 0:
            rng = np.random.default_rng(0)
            drawn = [
                resampled_counts(np.ones(len(groups[key])), replicates, rng) @ groups[key]
                for key in keys
            ]
            sizes = np.array([len(groups[key]) for key in keys])
            found[1:] = central_interval(_places(np.stack(drawn, axis=1) / sizes), level)
        ranks |= {key: tuple(found[:, k].tolist()) for k, key in enumerate(keys)}
    columns = zip(*(ranks[key] for key in groups), strict=True)
    return table.assign(**dict(zip(("rank", "rank_low", "rank_high"), columns, strict=True)))


def _places(means: FloatArray) -> FloatArray:
    """Ranks over the last axis, 1 for the largest."""
    from scipy.stats import rankdata  # loads slowly

    return np.asarray(rankdata(-means, axis=-1))


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
