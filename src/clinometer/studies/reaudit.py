"""A published audit of hosted models, read again: what of its differences is steady.

The authors' figures first (means of absolute differences from the unedited text), then lean, swing
and dice of each model and axis, corrected for all of them, irrelevant edits beside them, and
whether half of the contexts predicts the ranking of the other half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clinometer.bridges.mapping import SampleMapping
from clinometer.bridges.replies import ReplyTable, import_replies, reply_rows
from clinometer.errors import SettingsError
from clinometer.measure.components import CellMoments
from clinometer.measure.rankings import HalfSplit, generalisability, half_split
from clinometer.report import Table
from clinometer.report.figures import parts_figure
from clinometer.runs import AuditSettings, Run
from clinometer.runs.nouns import label
from clinometer.statistics.significance import holm
from clinometer.studies.framework import Findings

HALVES = 100
"""Random halves of the contexts."""


def plain_differences(table: ReplyTable) -> pd.DataFrame:
    """The mean absolute difference of each edit or group from the unedited text, as the authors
    take it: means of a cell's scores, one row per model, axis (or irrelevant edit) and context."""
    differences = []
    for place, counts in table.counts.items():
        scores = {float(reply): n for reply, n in counts.items() if reply is not None}
        if scores:
            mean = sum(s * n for s, n in scores.items()) / sum(scores.values())
            axis = "placebo" if place.edit else "baseline" if place.baseline else place.axis
            differences.append(
                (place.model, axis, place.edit or place.place.group, place.place.context, mean)
            )
    frame = pd.DataFrame(differences, columns=["model", "axis", "level", "context", "score"])
    base = frame[frame["axis"] == "baseline"].set_index(["model", "context"])["score"]
    if base.empty:
        raise SettingsError("study reaudit: expected rows of the unedited text, found none")
    rest = frame[frame["axis"] != "baseline"].copy()
    rest = rest.join(base.rename("unedited"), on=["model", "context"])
    rest["moved"] = (rest["score"] - rest["unedited"]).abs()
    return rest.dropna(subset=["moved"])


def reaudit(path: Path, mapping: SampleMapping, settings: AuditSettings, *, out: Path) -> Findings:
    """The study: run folders in `out`, sentences, tables and pictures."""
    table = ReplyTable.read(reply_rows(path), mapping, where=str(path))
    moved = plain_differences(table)
    edited = set(moved.loc[moved["axis"] == "placebo", "model"])
    tested = moved[moved["model"].isin(edited)]
    runs = import_replies(path, mapping, settings, out=out / "runs", fresh=True)
    rows = [_row(run) for run in runs]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p corrected"] = float(p)
    parts = pd.DataFrame(rows)
    level = settings.level
    clear = parts[parts["p corrected"] <= 1 - level]
    splits = [
        (axis, *_rankings([r for r in runs if _axis(r) == axis]))
        for axis in dict.fromkeys(map(_axis, runs))
    ]
    ranking = pd.DataFrame([_split_row(axis, half, g) for axis, half, g in splits])
    first = _axis(runs[0]) if "firstName" not in set(parts["axis"]) else "firstName"
    shown = [run for run in runs if _axis(run) == first]
    figure = parts_figure(shown, [label(run.model) for run in shown])
    return Findings(
        "reaudit",
        [
            Table("reaudit-plain", "As the authors count", _plain(tested, moved)),
            Table("reaudit-parts", "Lean, swing, dice by model and axis", parts),
            Table("reaudit-halves", "Does half of the contexts predict the other?", ranking),
        ],
        [figure] if figure is not None else [],
        shown,
        [
            f"Of {len(parts)} pairs of model and axis, {len(clear)} lean steadily after correction "
            f"for all of them: {_named(clear)}."
        ],
    )


def _axis(run: Run) -> str:
    return "" if run.record.imported is None else run.record.imported.task


def _row(run: Run) -> dict[str, Any]:
    split, placebo = run.record.components, run.record.placebo
    if split is None or split.swing is None or split.dice is None or split.p is None:
        raise SettingsError(
            f"study reaudit: {run.model}: expected repeated replies in several contexts"
        )
    row: dict[str, Any] = {"model": run.model, "axis": _axis(run)}
    for name in ("lean", "swing", "dice"):
        e = getattr(split, name)
        row |= {name: e.value, f"{name} low": e.low, f"{name} high": e.high}
    for name, part in zip(("lean", "swing", "dice"), split.parts, strict=True):
        row[f"{name} share"] = part / split.total if split.total > 0 else math.nan
    row |= {"p": split.p, "another group": split.move}
    if placebo is not None:
        ends = {"ratio": placebo.ratio, "ratio low": placebo.low, "ratio high": placebo.high}
        row |= {"irrelevant edit": placebo.edit, **ends}
    return row


def _named(clear: pd.DataFrame) -> str:
    by = clear.groupby("model")["axis"].agg(", ".join)
    return "; ".join(f"{model} ({axes})" for model, axes in by.items()) or "none"


def _plain(tested: pd.DataFrame, moved: pd.DataFrame) -> pd.DataFrame:
    """By axis over the models with irrelevant edits, then by model."""
    by_axis = tested.groupby("axis")["moved"].mean()
    edits = tested[tested["axis"] == "placebo"].groupby("level")["moved"].mean()
    groups = moved[moved["axis"] != "placebo"].groupby("model")["moved"].mean()
    rows: list[Any] = [("axis", k, v) for k, v in by_axis.items()]
    rows += [("irrelevant edit", k, v) for k, v in edits.items()]
    rows += [("model", k, v) for k, v in groups.items()]
    return pd.DataFrame(rows, columns=["of", "name", "mean absolute difference"])


def _rankings(runs: Sequence[Run]) -> tuple[HalfSplit, float | None]:
    cells = [CellMoments.of(run.preferences.grid, run.preferences.answers) for run in runs]
    contexts = [run.preferences.contexts for run in runs]
    common = [c for c in contexts[0] if all(c in other for other in contexts)]
    chosen = [
        moments.only(np.array([names.index(c) for c in common]))
        for moments, names in zip(cells, contexts, strict=True)
    ]
    return half_split(chosen, halves=HALVES), generalisability(chosen)


def _split_row(axis: str, half: HalfSplit, g: float | None) -> dict[str, Any]:
    return {
        "axis": axis,
        "corrected": half.corrected,
        "plain": half.plain,
        "plain to corrected": half.crossed,
        "generalisability": g,
    }
