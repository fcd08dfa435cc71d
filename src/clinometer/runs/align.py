"""Runs side by side: the same groups in the same contexts, or a refusal that says what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from clinometer.errors import RunError
from clinometer.measure import Comparison, compare
from clinometer.runs.run import Run

Align = Literal["same", "common"]


def compare_runs(
    runs: Sequence[Run],
    *,
    align: Align = "same",
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    clusters: str | None = None,
) -> Comparison:
    """Paired differences between runs, cell by cell.

    `align="same"` wants the same topic and contexts; `"common"` takes the groups and contexts that
    all runs share, with the weights of the first run. Draws from one set with one seed are nested,
    and count as the same contexts: the smallest draw is what all of them share.
    `clusters` names a label of the contexts by which they are resampled together.
    """
    if len(runs) < 2:
        raise RunError(f"compare: expected at least two runs, found {len(runs)}")
    names = [run.model for run in runs]
    if len(set(names)) < len(names):
        names = [f"{run.model} ({run.path.name if run.path else i})" for i, run in enumerate(runs)]
    for run, name in zip(runs[1:], names[1:], strict=True):
        _check(runs[0], run, name, align)
    first = min(runs, key=_draws)  # its weights are those of the draws that all of them share
    groups = [g for g in first.preferences.groups if all(g in r.preferences.groups for r in runs)]
    contexts = [
        c for c in first.preferences.contexts if all(c in r.preferences.contexts for r in runs)
    ]
    if not groups or not contexts:
        raise RunError("compare: the runs have no group, or no context, in common")
    cells = [_cells(run, groups, contexts) for run in runs]
    x, c = _places(first.preferences.groups, groups), _places(first.preferences.contexts, contexts)
    return compare(
        *cells,
        names=names,
        groups=groups,
        context_weights=first.preferences.context_weights[..., c],
        group_weights=first.preferences.group_weights[x],
        reference=first.preferences.reference,
        norm=first.risks.norm,
        normalize=first.risks.normalized,
        mask=np.stack([~np.isnan(p).any(axis=2) for p in cells]),
        replicates=replicates,
        level=level,
        seed=seed,
        clusters=None if clusters is None else [first.preferences.label(clusters)[i] for i in c],
    )


def resampling_note(runs: Sequence[tuple[str, Run]]) -> str:
    """A sentence where the intervals of runs rest on different resampling units; "" otherwise.

    `runs` are (name, run). Runs without intervals, and reference models, have no unit.
    """
    units = {name: unit for name, run in runs if (unit := _resampling_unit(run))}
    if len(set(units.values())) < 2:
        return ""
    each = ", ".join(f"{unit} for {name}" for name, unit in units.items())
    return (
        f"The intervals of these runs rest on different resampling units ({each}): one may be "
        "wider than another for that reason alone. The same --cluster and --two-way in every audit "
        "make them comparable."
    )


def _resampling_unit(run: Run) -> str:
    settings = run.record.settings
    if run.record.model.kind == "reference" or not settings.replicates:
        return ""
    label = settings.clusters
    unit = "contexts" if label is None else f"clusters of contexts by {label}"
    return f"{unit} and groups" if settings.two_way else unit


def _draws(run: Run) -> float:
    drawn = run.record.contexts.drawn
    return float("inf") if drawn is None else float(drawn.n)


def _same_contexts(*runs: Run) -> bool:
    """Whether runs were asked with the same contexts, or with nested draws from the same set."""
    asked = [run.record.contexts for run in runs]
    seeds = {one.drawn.seed for one in asked if one.drawn is not None}
    nested = len(seeds) == 1 and None not in seeds
    return len({o.drawn.source if nested and o.drawn else o.sha256 for o in asked}) == 1


def _check(first: Run, other: Run, name: str, align: Align) -> None:
    if first.preferences.categories != other.preferences.categories:
        raise RunError(
            f"compare: {name} has the categories {', '.join(other.preferences.categories)}, "
            f"{first.model} has {', '.join(first.preferences.categories)}: nothing to compare"
        )
    same = {
        "topic": first.record.topic.sha256 == other.record.topic.sha256,
        "contexts": _same_contexts(first, other),
    }
    for what in same:
        if align == "same" and not same[what]:
            raise RunError(
                f"compare: {name} was asked with another {what} than {first.model}; --align common "
                "compares what they share"
            )
    if (first.risks.norm, first.risks.normalized) != (other.risks.norm, other.risks.normalized):
        raise RunError(
            f"compare: {name} was measured with another norm or scale than {first.model}"
        )


def _cells(run: Run, groups: list[str], contexts: list[str]) -> np.ndarray:
    x, c = _places(run.preferences.groups, groups), _places(run.preferences.contexts, contexts)
    return np.asarray(run.preferences.values[np.ix_(x, c)])


def _places(labels: Sequence[str], wanted: Sequence[str]) -> list[int]:
    place = {label: i for i, label in enumerate(labels)}
    return [place[w] for w in wanted]
