"""A published audit of hosted models (docs/reaudit.md): what of its differences is steady.

The authors' figures first (means of absolute differences from the unedited text), then lean, swing
and dice of each model and axis, corrected for all of them, and whether half of the contexts
predicts the ranking of the other half.

    python benchmarks/published_audit.py replies.csv.gz studies/reaudit
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clinometer.bridges.mapping import load_mapping
from clinometer.bridges.replies import import_replies
from clinometer.bridges.reply_files import reply_rows
from clinometer.bridges.reply_table import ReplyTable
from clinometer.display.text import plain_records
from clinometer.measure.components import CellMoments, Components, Deviations
from clinometer.runs import AuditSettings, Run
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.rank import spearman
from clinometer.statistics.significance import holm

#: Random halves of the contexts.
HALVES = 100


def plain_differences(table: ReplyTable) -> pd.DataFrame:
    """The mean absolute difference of each edit or group from the unedited text, as the authors
    take it: means of a cell's scores, one row per model, axis (or irrelevant edit) and context."""
    differences = []
    for place, counts in table.counts.items():
        scores = {float(reply): n for reply, n in counts.items() if reply is not None}
        if scores:
            mean = sum(s * n for s, n in scores.items()) / sum(scores.values())
            axis = (
                "placebo"
                if place.edit
                else "baseline"
                if place.baseline
                else place.axis
            )
            differences.append(
                (
                    place.model,
                    axis,
                    place.edit or place.cell.group,
                    place.cell.context,
                    mean,
                )
            )
    frame = pd.DataFrame(
        differences, columns=["model", "axis", "level", "context", "score"]
    )
    base = frame[frame["axis"] == "baseline"].set_index(["model", "context"])["score"]
    rest = frame[frame["axis"] != "baseline"].copy()
    rest = rest.join(base.rename("unedited"), on=["model", "context"])
    rest["moved"] = (rest["score"] - rest["unedited"]).abs()
    return rest.dropna(subset=["moved"])


def _axis(run: Run) -> str:
    return "" if run.record.imported is None else run.record.imported.task


def moved(split: Components) -> float:
    """How far the answers to two groups differ, without dice: a root mean square."""
    X = len(split.groups)
    lean, swing, _ = split.parts
    return math.sqrt(2 * (lean + swing) * X / (X - 1)) if X > 1 else 0.0


def _row(run: Run) -> dict[str, Any]:
    split, placebo = run.record.components, run.record.placebo
    assert split is not None
    row: dict[str, Any] = {"model": run.model, "axis": _axis(run)}
    for name in ("lean", "swing", "dice"):
        e = getattr(split, name)
        row |= {name: e.value, f"{name} low": e.low, f"{name} high": e.high}
    for name, part in zip(("lean", "swing", "dice"), split.parts, strict=True):
        row[f"{name} share"] = part / split.total if split.total > 0 else math.nan
    row |= {"p": split.p, "another group": moved(split)}
    if placebo is not None:
        ends = {
            "ratio": placebo.ratio,
            "ratio low": placebo.low,
            "ratio high": placebo.high,
        }
        row |= {"irrelevant edit": placebo.edit, **ends}
    return row


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
    contexts = [run.preferences.contexts for run in runs]
    common = [c for c in contexts[0] if all(c in other for other in contexts)]
    chosen = []
    for run, names in zip(runs, contexts, strict=True):
        p = run.preferences.only(contexts=[names.index(c) for c in common])
        chosen.append(CellMoments.of(p.grid, p.answers))
    return half_split(chosen, halves=HALVES), generalisability(chosen)


def _split_row(axis: str, half: HalfSplit, g: float | None) -> dict[str, Any]:
    return {
        "axis": axis,
        "corrected": half.corrected,
        "plain": half.plain,
        "plain to corrected": half.crossed,
        "generalisability": g,
    }


@dataclass(frozen=True)
class HalfSplit:
    """Mean rank correlation of two random halves of the contexts, over `halves` of them.

    corrected  models by how far groups differ without dice
    plain      models by the mean absolute difference of cells, which counts dice
    crossed    how well the plain ranking of one half predicts the corrected one of the other
    """

    corrected: float
    plain: float
    crossed: float
    halves: int


def contributions(cells: CellMoments) -> tuple[FloatArray, FloatArray]:
    """[C] what each context adds to the squares of groups without dice, and to the plain mean of
    absolute deviations."""
    d = Deviations.of(cells)
    square = (d.d**2).sum(axis=-1)
    weights = d.groups[:, None] * (cells.n > 0)
    total = np.maximum(weights.sum(axis=0), 1e-300)
    corrected = (weights * (square - d.noise)).sum(axis=0) / total
    return np.asarray(corrected), np.asarray(
        (weights * np.sqrt(square)).sum(axis=0) / total
    )


def half_split(
    models: Sequence[CellMoments], *, halves: int = 100, seed: int = 0
) -> HalfSplit:
    """Does the ranking of models in half of their contexts predict that in the other half?"""
    both = [contributions(cells) for cells in models]
    corrected, plain = (np.stack([pair[i] for pair in both]) for i in (0, 1))
    rng = np.random.default_rng(seed)
    C = corrected.shape[1]
    found = []
    for _ in range(halves):
        order = rng.permutation(C)
        one, two = order[: C // 2], order[C // 2 :]
        a, b = (corrected[:, half].mean(axis=1) for half in (one, two))
        p, q = (plain[:, half].mean(axis=1) for half in (one, two))
        found.append((_ranks(a, b), _ranks(p, q), (_ranks(p, b) + _ranks(q, a)) / 2))
    mean = np.mean(found, axis=0)
    return HalfSplit(float(mean[0]), float(mean[1]), float(mean[2]), halves)


def generalisability(models: Sequence[CellMoments]) -> float | None:
    """The share of the variance between models' means that other contexts would show again.

    (MS_model − MS_rest)/MS_model of models × contexts, of the squares without dice; 0 where models
    do not differ beyond chance, None with fewer than two models or contexts.
    """
    if len(models) < 2 or len(models[0].weights) < 2:
        return None
    z = np.stack([contributions(cells)[0] for cells in models])
    M, C = z.shape
    of_models = C * z.mean(axis=1).var(ddof=1)
    rest = z - z.mean(axis=1, keepdims=True) - z.mean(axis=0) + z.mean()
    noise = (rest**2).sum() / ((M - 1) * (C - 1))
    return float(max(of_models - noise, 0.0) / of_models) if of_models > 0 else 0.0


def _ranks(a: FloatArray, b: FloatArray) -> float:
    """Spearman's correlation; 0 where one side has no order."""
    found = spearman(a, b, replicates=0)
    return 0.0 if found is None else found.rho.value


def main(path: Path, out: Path) -> None:
    """Run folders below `out`, and the tables as one JSON object."""
    mapping = load_mapping("hiring_bias", None)
    table = ReplyTable.read(reply_rows(path), mapping, where=str(path))
    moved = plain_differences(table)
    edited = set(moved.loc[moved["axis"] == "placebo", "model"])
    settings = AuditSettings()
    runs = import_replies(path, mapping, settings, out=out, fresh=True)
    rows = [_row(run) for run in runs]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p corrected"] = float(p)
    parts = pd.DataFrame(rows)
    ranking = [
        _split_row(axis, *_rankings([run for run in runs if _axis(run) == axis]))
        for axis in dict.fromkeys(map(_axis, runs))
    ]
    tables = {
        "as the authors count": _plain(moved[moved["model"].isin(edited)], moved),
        "parts": parts,
        "clear": parts[parts["p corrected"] <= 1 - settings.level],
        "halves": pd.DataFrame(ranking),
    }
    print(
        json.dumps(
            {name: plain_records(frame) for name, frame in tables.items()}, indent=1
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
