"""Align runs on the same groups and contexts, or raise an error that says what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from clinometer.errors import RunError, SettingsError
from clinometer.measure import Comparison, Preferences, compare
from clinometer.measure.comparison import compare_unpaired
from clinometer.measure.criterion import Criterion
from clinometer.measure.population import POPULATIONS
from clinometer.statistics.arrays import FloatArray

if TYPE_CHECKING:
    from clinometer.runs.run import Run

Align = Literal["same", "common", "groups"]
ALIGN = get_args(Align)


def compare_runs(
    runs: Sequence[Run],
    *,
    names: Sequence[str] | None = None,
    align: Align = "same",
    **how: Any,
) -> Comparison:
    """Differences between runs, cell by cell; with align "groups" group by group. `how` as for
    `compare_preferences`.

    Samples from one set with one seed are nested, and count as the same contexts: all of them
    share the smallest sample.
    """
    names = names or run_names(runs)
    if align == "same":
        _check(runs, names)
    first = min(runs, key=_draws)  # its weights are those of the samples that all of them share
    return compare_preferences(
        [run.preferences for run in runs],
        names=names,
        # the remaining differences are nested samples, or the caller allows them
        align=align if align == "groups" else "common",
        weights_of=first.preferences,
        **how,
    )


def compare_preferences(
    preferences: Sequence[Preferences],
    *,
    names: Sequence[str] | None = None,
    align: Align = "same",
    clusters: str | None = None,
    population: str = "similar",
    weights_of: Preferences | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Paired differences between labelled preferences, matched by group and context.

    Weights and reference are those of `weights_of`, the first unless given. With align "groups"
    only the groups are matched, and each has its own contexts, context weights and reference.
    """
    if align not in ALIGN:
        raise SettingsError(f"align: expected one of {', '.join(ALIGN)}, found {align!r}")
    preferences = on_one_scale(preferences)
    if weights_of is not None:
        weights_of = on_one_scale([weights_of, *preferences])[0]
    first = preferences[0] if weights_of is None else weights_of
    called = names or [str(i) for i in range(len(preferences))]
    for name, one in zip(called, preferences, strict=False):
        if one.categories != first.categories:
            raise RunError(
                f"compare: expected the categories {', '.join(first.categories)}, found "
                f"{', '.join(one.categories)} in {name}: nothing to compare"
            )
        if one.criterion != first.criterion:
            raise RunError(
                f"compare: {name} measures R by another criterion ({_criterion(one)}) than the "
                f"first ({_criterion(first)}): measure both alike (--criterion)"
            )
    groups = [g for g in first.groups if all(g in p.groups for p in preferences)]
    contexts = [c for c in first.contexts if all(c in p.contexts for p in preferences)]
    if not groups or not (contexts or align == "groups"):
        what = "a group" if not groups else "a context"
        other = "" if not groups else '; align="groups" (--align groups) pairs the groups alone'
        raise RunError(f"compare: expected runs with {what} in common, found none{other}")
    for name, one in zip(called, preferences, strict=False):
        if align == "same" and (len(one.groups), len(one.contexts)) != (len(groups), len(contexts)):
            raise RunError(
                f"compare: {name} has other groups or contexts than the first; "
                'align="common" compares what they share, align="groups" their groups'
            )
    if population not in POPULATIONS or (population != "similar" and clusters is not None):
        raise SettingsError(
            f"population: expected one of {', '.join(POPULATIONS)}, and similar with clusters; "
            f"found {population}"
        )
    how: dict[str, Any] = {"level": level, "seed": seed}
    shared = first.only(_places(first.groups, groups))
    if align == "groups":
        if population != "similar":
            raise SettingsError(
                f"population: expected similar for runs in different contexts, found {population}"
            )
        each = [p.only(_places(p.groups, groups)) for p in preferences]
        each = [replace(p, group_weights=shared.group_weights) for p in each]
        return compare_unpaired(each, names=called, clusters=clusters, **how)
    shared = shared.only(contexts=_places(first.contexts, contexts))
    each = [p.only(_places(p.groups, groups), _places(p.contexts, contexts)) for p in preferences]
    samples = [p.samples for p in each]
    draws = None  # replies keep their noise in every population
    if population != "similar" and all(one is None for one in samples):
        draws = first.sampling.draws(population)
    return compare(
        *(p.values for p in each),
        names=names,
        clusters=None if clusters is None else shared.label(clusters),
        samples=samples,
        mask=np.stack([p.observed for p in each]),
        draws=draws,
        groups=groups,
        categories=first.categories,
        context_weights=shared.context_weights,
        group_weights=shared.group_weights,
        reference=shared.reference,
        criterion=first.criterion,
        **how,
    )


def on_one_scale(preferences: Sequence[Preferences]) -> list[Preferences]:
    """Scores on the union of their scales: a run in which nobody got a 1 or a 10 is on the same
    scale as one in which somebody did. Others as they are."""
    scales = [p.criterion.points if isinstance(p.criterion, Criterion) else () for p in preferences]
    union = tuple(sorted(set().union(*scales)))
    if not all(scales) or all(scale == union for scale in scales):
        return list(preferences)
    names = {
        point: name
        for p, scale in zip(preferences, scales, strict=True)
        for point, name in zip(scale, p.categories, strict=True)
    }
    return [
        p if scale == union else _on_scale(p, scale, union, tuple(names[at] for at in union))
        for p, scale in zip(preferences, scales, strict=True)
    ]


def _on_scale(
    p: Preferences, scale: Sequence[float], union: tuple[float, ...], names: tuple[str, ...]
) -> Preferences:
    """With the points that nobody got, each with no answer."""
    at = [union.index(point) for point in scale]

    def wider(values: FloatArray) -> FloatArray:
        new = np.zeros((*values.shape[:-1], len(union)))
        new[..., at] = values
        return np.where(np.isnan(values).any(axis=-1, keepdims=True), np.nan, new)

    reference = wider(p.reference) if isinstance(p.reference, np.ndarray) else p.reference
    return replace(
        p,
        values=wider(p.values),
        categories=names,
        reference=reference,
        criterion=Criterion("points", points=union),
        low=None,
        high=None,
    )


def _criterion(p: Preferences) -> str:
    return ", ".join(f"{key} {value}" for key, value in p.grid.criterion.to_dict().items())


def run_names(runs: Sequence[Run]) -> list[str]:
    """The names of runs in a comparison: their models; where these repeat, with the context sets,
    the folders or numbers, whichever tells them apart."""
    names = [run.model for run in runs]
    further: list[list[str]] = [
        [run.record.contexts.name for run in runs],
        [run.path.name if run.path else str(i) for i, run in enumerate(runs)],
        [str(i + 1) for i in range(len(runs))],
    ]
    while len(set(names)) < len(names):
        more = further.pop(0)
        names = [f"{run.model} ({one})" for run, one in zip(runs, more, strict=True)]
    return names


def resampling_note(runs: Sequence[tuple[str, Run]]) -> str:
    """A warning if the intervals of runs use different resampling units; "" otherwise.

    `runs` are (name, run). Runs without intervals, and reference models, have no unit.
    """
    units = {name: unit for name, run in runs if (unit := _resampling_unit(run))}
    if len(set(units.values())) < 2:
        return ""
    each = ", ".join(f"{unit} for {name}" for name, unit in units.items())
    return (
        f"The intervals of these runs use different resampling units ({each}): one may be "
        "wider than another for that reason alone. Use the same --clusters in every audit to make "
        "them comparable."
    )


def _resampling_unit(run: Run) -> str:
    settings = run.record.settings
    if run.record.model.kind == "reference":
        return ""
    label = settings.clusters
    unit = "contexts" if label is None else f"clusters of contexts by {label}"
    if settings.population != "similar":
        return f"occurrences, for {POPULATIONS[settings.population]}"
    return unit


def _draws(run: Run) -> float:
    drawn = run.record.contexts.drawn
    return float("inf") if drawn is None else float(drawn.n)


def same_contexts(*runs: Run) -> bool:
    """Whether runs used the same contexts, or nested samples from the same set."""
    asked = [run.record.contexts for run in runs]
    seeds = {one.drawn.seed for one in asked if one.drawn is not None}
    nested = len(seeds) == 1 and None not in seeds
    return len({o.drawn.source if nested and o.drawn else o.sha256 for o in asked}) == 1


def only_contexts_differ(runs: Sequence[Run]) -> bool:
    """Whether runs have the same topic but were asked in different contexts."""
    topics = {run.record.topic.sha256 for run in runs}
    return len(topics) == 1 and not same_contexts(*runs)


def _check(runs: Sequence[Run], names: Sequence[str]) -> None:
    """Refuse runs of another topic, or in other contexts, than the first."""
    first = runs[0]
    for other, name in zip(runs[1:], names[1:], strict=False):
        same = {
            "topic": first.record.topic.sha256 == other.record.topic.sha256,
            "contexts": same_contexts(first, other),
        }
        for what in same:
            if not same[what]:
                raise RunError(
                    f"compare: {name} was asked with another {what} than {first.model}; "
                    'align="groups" (--align groups) compares each in its own contexts, "common" '
                    "in what they share"
                )


def _places(labels: Sequence[str], wanted: Sequence[str]) -> list[int]:
    place = {label: i for i, label in enumerate(labels)}
    return [place[w] for w in wanted]
