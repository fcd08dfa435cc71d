"""The results of a run: from each model's tau of every text to its record and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from clinometer.reliability.dissimilarity import Embed, version_dissimilarity
from clinometer.reliability.record import (
    CountsRecord,
    LengthRecord,
    ReliabilityRecord,
    SurenessRecord,
)
from clinometer.reliability.sampling import SamplingDistribution
from clinometer.reliability.score import (
    cobias,
    context_variance,
    length_adjusted,
    mean_estimate,
    rank_agreement,
    rank_correlation,
    stability,
)
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.taus import ModelTaus
from clinometer.reliability.texts import TextsToScore
from clinometer.statistics.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Taus:
    """tau of M models for T texts: those of S statements, and of at most N versions of each."""

    texts: FloatArray
    """[M, T]"""

    statements: FloatArray
    """[M, S]"""

    versions: FloatArray
    """[M, S, N]; NaN for a version that does not count or has no score."""

    @classmethod
    def of(cls, texts: TextsToScore, answers: Sequence[ModelTaus], *, per: str) -> Taus:
        taus = np.stack([answer.taus(texts, per=per) for answer in answers])
        of_statements = taus[:, texts.originals.index.to_numpy()]
        N = 1 + texts.table["version"].max()
        of_versions = np.full((*of_statements.shape, N), np.nan)
        counted = texts.counted
        statement = counted["statement"].to_numpy()
        version = counted["version"].to_numpy()
        of_versions[:, statement, version] = taus[:, counted.index.to_numpy()]
        return cls(taus, of_statements, of_versions)


def measure(
    record: ReliabilityRecord,
    texts: TextsToScore,
    answers: Sequence[ModelTaus],
    settings: ReliabilitySettings,
    *,
    embed: Embed | None,
    versions_too_far: int,
) -> dict[str, pa.Table]:
    """Write the results into the record, and return the tables of the run."""
    taus = Taus.of(texts, answers, per=settings.per)
    names = [answer.name for answer in answers]
    distribution = SamplingDistribution.of(taus.statements, taus.versions)
    words = texts.originals["words"].to_numpy()
    columns = {"words": words, **_scores(taus, distribution, settings)}
    columns["flag"] = _flags(texts, answers, columns["tau"], columns["scored"])
    if embed is not None:
        pairwise, to_statement = _dissimilarity(texts, embed)
        columns["dissimilarity_pairwise"] = pairwise
        columns["dissimilarity_to_statement"] = to_statement
    adjusted = length_adjusted(columns["cobias"], words)
    columns["cobias_length_adjusted"] = adjusted
    columns["rank_length_adjusted"] = pd.Series(adjusted).rank(ascending=False)
    cv = context_variance(taus.statements, taus.versions)
    by_model = {"tau": taus.statements, "cv": cv, "cobias": cobias(cv)}
    scores_by_model = dict(zip(names, by_model["cobias"], strict=True))
    sampled: dict[str, Any] = {"level": settings.level, "seed": settings.seed}
    any_scored = np.isfinite(columns["cobias"]).any()
    record.summary = {}
    for name in ("cobias", "stability", "cv"):
        mean = mean_estimate(columns[name], **sampled) if any_scored else None
        record.summary[name] = mean
    record.length = LengthRecord(
        rho=rank_correlation(columns["cobias"], words, **sampled)
    )
    record.agreement = rank_agreement(scores_by_model, **sampled)
    record.sureness = _sureness(columns, distribution)
    record.counts = _counts(texts, answers, columns["flag"], versions_too_far)
    return {
        "statements": _statement_table(texts, columns),
        "models": _model_table(texts, names, by_model),
        "versions": _version_table(texts, names, taus.texts),
    }


def _scores(
    taus: Taus, distribution: SamplingDistribution, settings: ReliabilitySettings
) -> dict[str, Any]:
    """Return one value per statement and column, with tau the mean over models."""
    cv = distribution.mean
    low, high = distribution.intervals(level=settings.level)
    ranks = distribution.ranks(level=settings.level, seed=settings.seed)
    return {
        "scored": np.isfinite(taus.versions.mean(axis=0)).sum(axis=1),
        "tau": taus.statements.mean(axis=0),
        "cv": cv,
        "cobias": cobias(cv),
        "stability": stability(cv),
        "exponential": -np.expm1(-cv),  # what the authors tried before COBIAS (4.2)
        "cobias_low": cobias(low),
        "cobias_high": cobias(high),
        "rank": ranks.rank,
        "rank_low": ranks.low,
        "rank_high": ranks.high,
    }


def _sureness(
    columns: Mapping[str, Any], distribution: SamplingDistribution
) -> SurenessRecord:
    usable = distribution.usable
    scores = columns["cobias"][usable]
    return SurenessRecord(
        interval_width=_median(columns["cobias_high"] - columns["cobias_low"]),
        spread=float(np.std(scores)) if usable.any() else None,
        rank_interval=_median(columns["rank_high"] - columns["rank_low"]),
        ranked=int(np.isfinite(columns["rank"]).sum()),
    )


def _median(values: FloatArray) -> float | None:
    """Return the median of the values that are not missing; None if there are none."""
    present = values[~np.isnan(values)]
    return float(np.median(present)) if len(present) else None


def _dissimilarity(texts: TextsToScore, embed: Embed) -> tuple[FloatArray, FloatArray]:
    """Return the dissimilarity among the versions that count, and to their statement [S]."""
    counted = texts.counted.groupby("statement")["text"].agg(list)
    ids = [texts.statements[i].id for i in counted.index.tolist()]
    versions = dict(zip(ids, counted, strict=True))
    return version_dissimilarity(texts.statements, versions, embed)


def _counts(
    texts: TextsToScore,
    answers: Sequence[ModelTaus],
    flags: Sequence[str],
    versions_too_far: int,
) -> CountsRecord:
    counts: dict[str, Any] = texts.counts()
    counts["versions_too_dissimilar"] = versions_too_far
    for flag, n in Counter(flags).items():
        counts[f"flag_{flag}"] = n
    by_model = {answer.name: answer.counts() for answer in answers}
    return CountsRecord(by_model=by_model, **counts)


def _flags(
    texts: TextsToScore, answers: Sequence[ModelTaus], tau: FloatArray, scored: IntArray
) -> list[str]:
    """Return why a statement has no score, what is unusual about one that has, or "" [S]."""
    flags = []
    for i, index in enumerate(texts.originals.index.tolist()):
        left_out = texts.table["left_out"][index]
        problems = [answer.scores.problem[index] for answer in answers]
        if left_out:
            flag = left_out
        elif any(problems):
            flag = next(filter(None, problems))
        elif not np.isfinite(tau[i]) or tau[i] == 0:
            flag = "nothing_to_score"
        elif not scored[i]:
            flag = "no_versions"
        elif not texts.statements[i].has_its_targets:
            flag = "target_not_in_sentence"
        else:
            flag = ""
        flags.append(flag)
    return flags


def _statement_table(texts: TextsToScore, columns: Mapping[str, Any]) -> pa.Table:
    statements = texts.statements
    n_versions = Counter(texts.versions["statement"])
    table = {
        "id": [s.id for s in statements],
        "source": [s.source for s in statements],
        "category": pa.array([s.category for s in statements], pa.string()),
        "text": [s.text for s in statements],
        "target": ["; ".join(s.targets) for s in statements],
        "versions": [n_versions[i] for i in range(len(statements))],
    }
    return pa.table(table | _arrays(columns))


def _model_table(
    texts: TextsToScore, names: Sequence[str], by_model: Mapping[str, FloatArray]
) -> pa.Table:
    """Return the table of each model's scores [M, S], one model after the other."""
    ids = [statement.id for statement in texts.statements]
    table = {
        "id": ids * len(names),
        "model": np.repeat(names, len(ids)).tolist(),
    }
    flat = {name: values.reshape(-1) for name, values in by_model.items()}
    return pa.table(table | _arrays(flat))


def _version_table(
    texts: TextsToScore, names: Sequence[str], taus: FloatArray
) -> pa.Table:
    rows = texts.versions
    of_versions = taus[:, rows.index.to_numpy()]
    columns = {"tau": of_versions.mean(axis=0)}
    for name, tau in zip(names, of_versions, strict=True):
        columns[f"tau {name}"] = tau
    ids = [texts.statements[i].id for i in rows["statement"]]
    table = {
        "id": pa.array(ids, pa.string()),
        "version": pa.array(rows["version"], pa.int64()),
        "text": pa.array(rows["text"], pa.string()),
        "words": pa.array(rows["words"], pa.int64()),
        "left_out": pa.array(rows["left_out"], pa.string()),
        "identical": pa.array(rows["identical"], pa.bool_()),
    }
    return pa.table(table | _arrays(columns))


def _arrays(columns: Mapping[str, Any]) -> dict[str, pa.Array]:
    """Return columns of a table in which NaN is a missing value."""
    return {
        name: pa.array(values, from_pandas=True) for name, values in columns.items()
    }
