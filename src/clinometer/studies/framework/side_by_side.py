"""Runs on the same groups and contexts as arrays, and rows of their risks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from clinometer.display.names import MEASURES
from clinometer.errors import RunError
from clinometer.measure.comparison.joint import Joint, joint_replicates
from clinometer.report import Table
from clinometer.report.figures.comparison import reference_rows, risk_rows
from clinometer.runs import Run


def joint(runs: Sequence[Run], *, replicates: int = 2000, seed: int = 0) -> Joint:
    """The risks of runs with the same cells, under common resampling of the contexts."""
    first = runs[0].preferences
    for run in runs[1:]:
        p = run.preferences
        if p.groups != first.groups or p.contexts != first.contexts:
            raise RunError(
                f"study: {run.model} was scored on other groups or contexts than "
                f"{runs[0].model}; use another --out"
            )
    mask = np.logical_and.reduce([run.preferences.observed for run in runs])
    return joint_replicates(
        [replace(first.grid, values=run.preferences.values, mask=mask) for run in runs],
        norm=runs[0].risks.norm,
        normalize=runs[0].risks.normalized,
        replicates=replicates,
        seed=seed,
    )


def risks(named: Sequence[tuple[str, Run]], *, references: bool = False) -> pd.DataFrame:
    """One row per run, lowest R first, with ranks (1 is lowest); the reference models last."""
    rows: list[dict[str, Any]] = risk_rows([r for _, r in named], [n for n, _ in named])
    frame = pd.DataFrame(rows).sort_values("R", kind="stable", ignore_index=True)
    for measure in MEASURES:
        frame[f"{measure}_rank"] = rankdata(frame[measure], method="min").astype(int)
    if references:
        known = pd.DataFrame(reference_rows(named[0][1]))
        frame = pd.concat([frame, known], ignore_index=True)
    return frame


def parameters(run: Run) -> int | None:
    """The number of parameters of a run's model, if known."""
    return run.record.model.parameters


def risks_table(key: str, title: str, named: Sequence[tuple[str, Run]]) -> Table:
    """`risks` for a page: the three risks and the rank; the csv file has all columns."""
    frame = risks(named).drop(columns=["muted"])
    hidden = ("n_contexts", "n_eff", "R_bias_rank", "R_volatility_rank")
    return Table(key, title, frame, hidden=hidden)
