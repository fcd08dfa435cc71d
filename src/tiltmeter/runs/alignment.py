"""Runs side by side: the same groups in the same contexts, or a refusal that says what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from tiltmeter.errors import RunError
from tiltmeter.measure import Comparison, compare
from tiltmeter.runs.run import Run

Align = Literal["same", "common"]


def compare_runs(
    runs: Sequence[Run],
    *,
    align: Align = "same",
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Paired differences between runs, cell by cell.

    `align="same"` wants the same topic and contexts; `"common"` takes the groups and contexts that
    all runs share, with the weights of the first run.
    """
    if len(runs) < 2:
        raise RunError(f"compare: expected at least two runs, found {len(runs)}")
    names = [run.model for run in runs]
    if len(set(names)) < len(names):
        names = [f"{run.model} ({run.path.name if run.path else i})" for i, run in enumerate(runs)]
    first = runs[0]
    for run, name in zip(runs[1:], names[1:], strict=True):
        _check(first, run, name, align)
    groups = [g for g in first.preferences.groups if all(g in r.preferences.groups for r in runs)]
    contexts = [
        c for c in first.preferences.contexts if all(c in r.preferences.contexts for r in runs)
    ]
    if not groups or not contexts:
        raise RunError("compare: the runs have no group, or no context, in common")
    cells = [_cells(run, groups, contexts) for run in runs]
    x, c = _places(first.preferences.groups, groups), _places(first.preferences.contexts, contexts)
    return compare(
        cells,
        names=names,
        groups=groups,
        context_weights=first.preferences.context_weights[..., c],
        group_weights=first.preferences.group_weights[x],
        reference=first.preferences.reference,
        norm=first.report.norm,
        normalize=first.report.normalized,
        mask=np.stack([~np.isnan(p).any(axis=2) for p in cells]),
        replicates=replicates,
        level=level,
        seed=seed,
    )


def _check(first: Run, other: Run, name: str, align: Align) -> None:
    if first.preferences.categories != other.preferences.categories:
        raise RunError(
            f"compare: {name} has the categories {', '.join(other.preferences.categories)}, "
            f"{first.model} has {', '.join(first.preferences.categories)}: nothing to compare"
        )
    for what in ("topic", "contexts"):
        if align == "same" and first.record[what]["sha256"] != other.record[what]["sha256"]:
            raise RunError(
                f"compare: {name} was asked with another {what} than {first.model}; --align common "
                "compares what they share"
            )
    if (first.report.norm, first.report.normalized) != (other.report.norm, other.report.normalized):
        raise RunError(
            f"compare: {name} was measured with another norm or scale than {first.model}"
        )


def _cells(run: Run, groups: list[str], contexts: list[str]) -> np.ndarray:
    x, c = _places(run.preferences.groups, groups), _places(run.preferences.contexts, contexts)
    return np.asarray(run.preferences.values[np.ix_(x, c)])


def _places(labels: Sequence[str], wanted: Sequence[str]) -> list[int]:
    place = {label: i for i, label in enumerate(labels)}
    return [place[w] for w in wanted]
