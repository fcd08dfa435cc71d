"""One verb for every comparison: runs, run folders, preferences or arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from clinometer.display.numbers import counted
from clinometer.errors import ClinometerError, RunError, SettingsError
from clinometer.measure import Comparison, Preferences
from clinometer.measure import compare as compare_arrays
from clinometer.measure.comparison import for_all_pairs, joint_level
from clinometer.runs.align import (
    Align,
    compare_preferences,
    compare_runs,
    only_contexts_differ,
    run_names,
)
from clinometer.runs.findings import (
    comparison_findings,
    leaning_models,
    not_comparable,
    shift_finding,
)
from clinometer.runs.nouns import context_noun, group_noun, noun_of
from clinometer.runs.people import Shift, shifts, unit_of
from clinometer.runs.run import Run
from clinometer.runs.sentences import Finding

Comparable = Run | Preferences | str | Path | ArrayLike


def compare(
    *models: Comparable,
    names: Sequence[str] | None = None,
    align: Align = "same",
    clusters: str | Sequence[object] | None = None,
    population: str = "similar",
    level: float = 0.95,
    seed: int = 0,
    **arrays: Any,
) -> Comparison:
    """Paired differences of the risks of two or more models; a difference is first minus second.

    Args:
        models: runs or their folders; `Preferences`, also among runs; or arrays
            [groups, contexts, categories] of the same shape.
        names: of the models; None uses those of the runs, or numbers.
        align: "same" requires the same groups and contexts; "common" compares what all share, with
            the weights of the first; "groups" compares the groups that all share, each model in its
            own contexts. For runs, "same" means the same topic and context set.
        clusters: a label of the contexts (predicate, source) by which they are resampled
            together; with arrays, one label per context.
        population: what intervals are about: "similar" contexts, the "corpus" that they were
            mined from, or exactly this "set"; arrays allow "similar" only.
        level, seed: of the intervals.
        arrays: with arrays only: context_weights, group_weights, reference, mask, groups,
            categories, criterion, as in `clinometer.measure.compare`. Runs and `Preferences`
            bring their own.

    >>> import numpy as np
    >>> p = np.random.default_rng(0).beta(6, 4, (2, 5, 80))
    >>> compare(*np.stack([p, 1 - p], -1), names=["a", "b"]).models
    ('a', 'b')
    """
    if len(models) < 2:
        raise SettingsError(
            f"compare: expected at least two models as separate arguments, compare(a, b); "
            f"found {len(models)}"
        )
    opened = [Run.load(m) if isinstance(m, str | Path) else m for m in models]
    labelled = [m for m in opened if isinstance(m, Run | Preferences)]
    plain = [m for m in opened if not isinstance(m, Run | Preferences)]
    how: dict[str, Any] = {"level": level, "seed": seed}
    if not labelled:
        if align != "same" or isinstance(clusters, str) or population != "similar":
            raise SettingsError(
                "compare: arrays have no labels to align or cluster by, and no population but "
                "similar; give arrays of the same shape, and clusters as one label per context"
            )
        return compare_arrays(*plain, names=names, clusters=clusters, **how, **arrays)
    if plain:
        raise SettingsError("compare: expected arrays only, or runs and Preferences; found both")
    runs = [m for m in labelled if isinstance(m, Run)]
    if stray := arrays.keys():
        raise SettingsError(
            f"compare: {', '.join(sorted(stray))}: runs and Preferences bring their own; leave "
            "it out"
        )
    if clusters is not None and not isinstance(clusters, str):
        raise SettingsError(f"clusters: expected the name of a label, found {type(clusters)}")
    how.update(align=align, clusters=clusters, population=population)
    if len(runs) == len(labelled):
        return compare_runs(runs, names=names, **how)
    called = iter(run_names(runs))
    shown = [next(called) if isinstance(m, Run) else f"{i}" for i, m in enumerate(labelled)]
    return compare_preferences(
        [m.preferences if isinstance(m, Run) else m for m in labelled],
        names=names or shown,
        **how,
    )


@dataclass(frozen=True)
class Compared:
    """Runs beside each other: what `compare`, `gate`, the report and JSON all say of them.

    comparison  the differences of their risks
    shifts      of two runs, who gets more or less from the first than from the second
    findings    the verdict first
    """

    comparison: Comparison
    shifts: tuple[Shift, ...]
    findings: tuple[Finding, ...]


def compared(
    runs: Sequence[Run],
    names: Sequence[str] | None = None,
    *,
    align: Align | None = None,
    **how: Any,
) -> Compared:
    """Runs beside each other. With `align` None, runs of which only the contexts differ are paired
    by their groups; `how` as for `compare`."""
    if align is None:
        align = "groups" if only_contexts_differ(runs) else "same"
    comparison = compare(*runs, names=names, align=align, **how)
    said = comparison_findings(comparison, one=group_noun(runs[0]), many=noun_of(runs[0])[0])
    if len(runs) > 2:
        lean = leaning_models(runs, comparison.models)
        first = () if lean is None else (lean,)
        return Compared(comparison, (), (*first, *said))
    moved: list[Shift] = []
    if align != "groups":
        moved = shifts(*runs, level=comparison.level, clusters=how.get("clusters"))
    if not moved:
        return Compared(comparison, (), said)
    units = counted(comparison.n_contexts, context_noun(runs[0]))
    shift = shift_finding(moved, comparison.models, unit_of(runs[0]), units)
    sampled = any(run.preferences.answers is not None for run in runs)
    # Of replies, who gets what is the result; R is for researchers.
    findings = (shift, *said) if sampled else (said[0], shift, *said[1:])
    return Compared(comparison, tuple(moved), findings)


def runs_findings(runs: Sequence[Run], names: Sequence[str]) -> tuple[Finding, ...]:
    """What several runs show together, or why they cannot be compared."""
    values = [run.risks.R.value for run in runs]
    lean = leaning_models(runs, names)
    if lean is not None:
        return (lean,)
    if len({tuple(run.preferences.categories) for run in runs}) > 1:
        because = "on different topics: their risks are not comparable"
        return (not_comparable(names, values, because),)
    if len({run.preferences.groups for run in runs}) > 1:
        because = "about different groups, which clinometer compare --align common puts together"
        return (not_comparable(names, values, because),)
    try:
        said = compared(runs, names, level=runs[0].record.settings.level).findings
    except ClinometerError as error:
        return (not_comparable(names, values, f"that cannot be compared in pairs: {error}"),)
    return said[:1]


def compare_levels(factor: str, *runs: Run, **how: Any) -> Mapping[str, Comparison]:
    """The same in the contexts of each level of a factor, by level; `how` as for `compare`.

    Intervals and p_corrected are corrected for all levels together. Levels that a run lacks are an
    error, unless align is "common"; a level with a single context has no p.
    """
    first = runs[0].preferences.label(factor)
    levels = sorted(set(first))
    for run in runs[1:]:
        if missing := [v for v in levels if v not in run.preferences.label(factor)]:
            if how.get("align") != "common":
                raise RunError(
                    f"compare: {run.model} has no context with {factor} {missing[0]}; --align "
                    "common compares the levels that all have"
                )
            levels = [v for v in levels if v not in missing]
    how["level"] = joint_level(how.get("level", 0.95), len(levels))
    found = {}
    for level in levels:
        within = []
        for run in runs:
            at = [i for i, value in enumerate(run.preferences.label(factor)) if value == level]
            within.append(replace(run, preferences=run.preferences.only(contexts=at)))
        one = compare(*within, **how)
        pairs = len(levels) * len(runs) * (len(runs) - 1) // 2
        found[level] = replace(one, overall=for_all_pairs(one.overall, pairs))
    return found
