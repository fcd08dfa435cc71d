"""Compare runs, run folders and preferences: open them, check and align them, compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from clinometer.errors import RunError, SettingsError
from clinometer.measure import Comparison, Preferences
from clinometer.measure import compare as compare_arrays
from clinometer.measure.unpaired import compare_unpaired
from clinometer.runs.run import Run
from clinometer.runs.scales import on_one_scale
from clinometer.runs.several_runs import run_names, same_contexts

Comparable = Run | Preferences | str | Path

Align = Literal["same", "common", "groups"]
ALIGN = get_args(Align)


def compare(
    *models: Comparable,
    names: Sequence[str] | None = None,
    align: Align = "same",
    clusters: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Return paired differences of the risks of two or more models, each first minus second.

    Arrays are compared by `clinometer.measure.compare`.

    Args:
        models: runs or their folders, or `Preferences`, matched by group and context.
        names: of the models; None uses those of the runs, or numbers.
        align: "same" requires the same groups and contexts; "common" compares what all share, with
            the weights of the first; "groups" compares the groups that all share, each model in its
            own contexts, with its own weights and reference. For runs, "same" means the same topic
            and context set; samples from one set with one seed are nested, and count as the same:
            all of them share the smallest, whose weights are taken.
        clusters: a label of the contexts (predicate, source) by which they are resampled
            together.
        level, seed: of the intervals.

    >>> from clinometer import audit
    >>> round(compare(*audit(["reference:stereotyped", "reference:unbiased"])).overall[0].value, 9)
    1.0
    """
    opened = _open(models)
    if align not in ALIGN:
        raise SettingsError(
            f"align: expected one of {', '.join(ALIGN)}, found {align!r}"
        )
    labels = list(names) if names else _labels(opened)
    runs = [model for model in opened if isinstance(model, Run)]
    preferences = on_one_scale([_preferences(model) for model in opened])
    first = preferences[0]
    if len(runs) == len(opened):
        if align == "same":
            _check_same_questions(runs, labels)
            align = "common"  # the remaining differences are nested samples
        first = preferences[_smallest_sample(runs)]
    _check_same_measure(first, preferences, labels)

    cells = SharedCells.of(first, preferences)
    cells.check(align)
    if align == "same":
        _check_same_cells(preferences, cells, labels)
    if align == "groups":
        return _compare_by_group(
            first, preferences, cells, labels, clusters, level=level, seed=seed
        )
    return _compare_by_cell(
        first, preferences, cells, labels, clusters, level=level, seed=seed
    )


def _open(models: Sequence[Comparable]) -> list[Run | Preferences]:
    """Return the models with folders read as runs; refuse anything else."""
    if len(models) < 2:
        raise SettingsError(
            f"compare: expected at least two models as separate arguments, compare(a, b); "
            f"found {len(models)}"
        )
    opened = [
        Run.load(model) if isinstance(model, str | Path) else model for model in models
    ]
    for model in opened:
        if not isinstance(model, Run | Preferences):
            raise SettingsError(
                f"compare: expected runs, their folders or Preferences, found {type(model)}; "
                "clinometer.measure.compare takes arrays"
            )
    return opened


def _preferences(model: Run | Preferences) -> Preferences:
    return model.preferences if isinstance(model, Run) else model


def _labels(models: Sequence[Run | Preferences]) -> list[str]:
    """Return the names of runs, and the positions of models that have no name."""
    names = iter(run_names([model for model in models if isinstance(model, Run)]))
    return [
        next(names) if isinstance(model, Run) else str(i)
        for i, model in enumerate(models)
    ]


def _smallest_sample(runs: Sequence[Run]) -> int:
    """Return the position of the run with the smallest sample of contexts.

    Nested samples share the smallest, whose weights are taken. Without samples it is the first.
    """
    drawn = [run.record.contexts.drawn for run in runs]
    sizes = [np.inf if sample is None else sample.n for sample in drawn]
    return int(np.argmin(sizes))


def _check_same_questions(runs: Sequence[Run], labels: Sequence[str]) -> None:
    """Refuse runs of another topic, or in other contexts, than the first."""
    first = runs[0]
    for run, label in zip(runs[1:], labels[1:], strict=False):
        if run.record.topic.sha256 != first.record.topic.sha256:
            difference = "about another topic"
        elif not same_contexts(first, run):
            difference = "in other contexts"
        else:
            continue
        raise RunError(
            f"compare: {label} was asked {difference} than {first.model}; "
            'align="groups" (--align groups) compares each in its own contexts, "common" '
            "in what they share"
        )


def _check_same_measure(
    first: Preferences, preferences: Sequence[Preferences], labels: Sequence[str]
) -> None:
    """Refuse preferences with other categories, or another criterion, than the first."""
    for label, p in zip(labels, preferences, strict=False):
        if p.categories != first.categories:
            raise RunError(
                f"compare: expected the categories {', '.join(first.categories)}, found "
                f"{', '.join(p.categories)} in {label}: nothing to compare"
            )
        if p.criterion != first.criterion:
            raise RunError(
                f"compare: {label} measures R by another criterion ({_criterion_text(p)}) than "
                f"the first ({_criterion_text(first)}): measure both alike (--criterion)"
            )


def _criterion_text(p: Preferences) -> str:
    parts = p.grid.criterion.to_dict()
    return ", ".join(f"{name} {value}" for name, value in parts.items())


@dataclass(frozen=True)
class SharedCells:
    """The groups and contexts that all models share, in the order of the first."""

    groups: list[str]
    contexts: list[str]

    @classmethod
    def of(cls, first: Preferences, preferences: Sequence[Preferences]) -> SharedCells:
        return cls(
            [g for g in first.groups if all(g in p.groups for p in preferences)],
            [c for c in first.contexts if all(c in p.contexts for p in preferences)],
        )

    def check(self, align: Align) -> None:
        """Refuse models without a common group, or without a common context to pair them by."""
        if not self.groups:
            raise RunError("compare: expected runs with a group in common, found none")
        if not self.contexts and align != "groups":
            raise RunError(
                "compare: expected runs with a context in common, found none; "
                'align="groups" (--align groups) pairs the groups alone'
            )

    def cut_groups(self, p: Preferences) -> Preferences:
        """Return the preferences of the shared groups, in the model's own contexts."""
        return p.only(_positions(p.groups, self.groups))

    def cut(self, p: Preferences) -> Preferences:
        """Return the preferences of the shared groups in the shared contexts."""
        return p.only(
            _positions(p.groups, self.groups), _positions(p.contexts, self.contexts)
        )


def _check_same_cells(
    preferences: Sequence[Preferences], cells: SharedCells, labels: Sequence[str]
) -> None:
    """Refuse preferences with groups or contexts that not all of them have."""
    shape = (len(cells.groups), len(cells.contexts))
    for label, p in zip(labels, preferences, strict=False):
        if (len(p.groups), len(p.contexts)) != shape:
            raise RunError(
                f"compare: {label} has other groups or contexts than the first; "
                'align="common" compares what they share, align="groups" their groups'
            )


def _compare_by_group(
    first: Preferences,
    preferences: Sequence[Preferences],
    cells: SharedCells,
    labels: Sequence[str],
    clusters: str | None,
    **inference: Any,
) -> Comparison:
    """Compare each model in its own contexts, with the group weights of the first."""
    group_weights = cells.cut_groups(first).group_weights
    models = [
        replace(cells.cut_groups(p), group_weights=group_weights) for p in preferences
    ]
    return compare_unpaired(models, names=labels, clusters=clusters, **inference)


def _compare_by_cell(
    first: Preferences,
    preferences: Sequence[Preferences],
    cells: SharedCells,
    labels: Sequence[str],
    clusters: str | None,
    **inference: Any,
) -> Comparison:
    """Compare in the shared cells, with the weights and the reference of the first."""
    models = [cells.cut(p) for p in preferences]
    shared = cells.cut(first)
    return compare_arrays(
        *(p.values for p in models),
        names=labels,
        clusters=None if clusters is None else shared.label(clusters),
        samples=[p.samples for p in models],
        mask=np.logical_and.reduce([p.observed for p in models]),
        groups=cells.groups,
        categories=first.categories,
        context_weights=shared.context_weights,
        group_weights=shared.group_weights,
        reference=shared.reference,
        criterion=first.criterion,
        **inference,
    )


def _positions(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    position = {name: i for i, name in enumerate(names)}
    return [position[name] for name in wanted]
