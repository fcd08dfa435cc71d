"""From the models' answers to the scores of statements: one value per statement and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.reliability.scoring.record_schema import SurenessRecord
from clinometer.reliability.scoring.score import cobias, context_variance, stability
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.scoring.taus import ModelTaus
from clinometer.reliability.scoring.texts_to_score import ORIGINAL, TextsToScore
from clinometer.reliability.scoring.uncertainty import (
    VarianceLaw,
    rank_intervals,
    split_half,
    spread,
    variance_intervals,
    versions_needed,
)

Floats = NDArray[np.float64]


def _by_statement(asked: TextsToScore, taus: Floats) -> tuple[Floats, Floats]:
    """tau of statements [M, S] and of versions [M, S, N]."""
    n_models, n = len(taus), len(asked.statements)
    own = np.full((n_models, n), np.nan)
    versions = np.full((n_models, n, asked.n_versions), np.nan)
    for i, text in enumerate(asked.texts):
        if text.version == ORIGINAL:
            own[:, text.statement] = taus[:, i]
        elif text.is_asked:
            versions[:, text.statement, text.version] = taus[:, i]
    return own, versions


def measure_statements(
    asked: TextsToScore,
    found: Sequence[ModelTaus],
    taus: Floats,
    settings: ReliabilitySettings,
) -> tuple[dict[str, Any], dict[str, Floats], SurenessRecord]:
    """Columns of the statements, with tau the mean over models; each model's own [M, S]; and how
    sure the statements' scores are. taus [M, T] are those of all texts."""
    own, versions = _by_statement(asked, taus)
    by_model = {"tau": own, "cv": context_variance(own, versions)}
    by_model["cobias"] = cobias(by_model["cv"])
    tau, mean = own.mean(axis=0), versions.mean(axis=0)
    cv = context_variance(tau, mean)
    law = spread(tau, mean, own=own, by_model=versions)
    low = high = first = last = np.full(len(tau), np.nan)
    rank, *_ = rank_intervals(law, level=settings.level, draws=1)
    if settings.replicates:
        low, high = variance_intervals(law, level=settings.level)
        rank, first, last = rank_intervals(
            law, level=settings.level, draws=settings.replicates, seed=settings.seed
        )
    own_text = {t.statement: i for i, t in enumerate(asked.texts) if t.version == ORIGINAL}
    scored = np.isfinite(mean).sum(axis=1)
    columns = {
        "words": np.array([asked.texts[own_text[i]].words for i in range(len(tau))]),
        "scored": scored,
        "tau": tau,
        "cv": cv,
        "cobias": cobias(cv),
        "stability": stability(cv),
        "cobias_low": cobias(low),
        "cobias_high": cobias(high),
        "rank": rank,
        "rank_low": first,
        "rank_high": last,
        "flag": [
            _flag(asked, found, own_text[i], tau=tau[i], scored=int(scored[i]))
            for i in range(len(tau))
        ],
    }
    if settings.precision is not None:
        needed = versions_needed(law, precision=settings.precision, level=settings.level)
        columns["versions_needed"] = np.where(np.isfinite(needed), needed, np.nan)
    return columns, by_model, _sureness(law, tau, mean, columns, settings)


def _sureness(
    law: VarianceLaw,
    tau: Floats,
    versions: Floats,
    columns: dict[str, Any],
    settings: ReliabilitySettings,
) -> SurenessRecord:
    """How far the scores of single statements can be trusted, in a few numbers."""
    widths = columns["cobias_high"] - columns["cobias_low"]
    places = columns["rank_high"] - columns["rank_low"]
    needed = columns.get("versions_needed")
    ranked = int(np.isfinite(columns["rank"]).sum())
    return SurenessRecord(
        split_half=split_half(tau, versions, seed=settings.seed),
        interval_width=_median(widths),
        spread=float(np.std(columns["cobias"][law.known])) if law.known.any() else None,
        rank_interval=_median(places),
        ranked=ranked,
        models_log_sd=float(np.sqrt(law.models)) if law.models else None,
        precision=settings.precision,
        versions_needed=None if needed is None else _median(needed, lost=np.inf),
    )


def _median(values: Floats, *, lost: float = np.nan) -> float | None:
    """Median of the finite values; of all, where a missing one stands for `lost`."""
    there = values[np.isfinite(values)] if np.isnan(lost) else np.nan_to_num(values, nan=lost)
    found = float(np.median(there)) if len(there) else np.nan
    return found if np.isfinite(found) else None


def _flag(
    asked: TextsToScore, found: Sequence[ModelTaus], text: int, *, tau: float, scored: int
) -> str:
    """Why a statement has no score, what is odd about one that has, or "" """
    if asked.texts[text].left_out:
        return asked.texts[text].left_out
    problems = [p for m in found if (p := m.scores.problem[text])]
    if problems:
        return problems[0]
    if not np.isfinite(tau) or tau == 0:
        return "nothing_to_score"
    if not scored:
        return "no_versions"
    return "target_not_in_sentence" if asked.target_missing[asked.texts[text].statement] else ""
