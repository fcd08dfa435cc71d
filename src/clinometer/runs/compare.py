"""One verb for every comparison of runs, run folders and preferences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinometer.display.numbers import counted
from clinometer.errors import ClinometerError, SettingsError
from clinometer.measure import Comparison, Preferences
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

Comparable = Run | Preferences | str | Path


def compare(
    *models: Comparable,
    names: Sequence[str] | None = None,
    align: Align = "same",
    clusters: str | None = None,
    population: str = "similar",
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Paired differences of the risks of two or more models; a difference is first minus second.
    Arrays are compared by `clinometer.measure.compare`.

    Args:
        models: runs or their folders, or `Preferences`.
        names: of the models; None uses those of the runs, or numbers.
        align: "same" requires the same groups and contexts; "common" compares what all share, with
            the weights of the first; "groups" compares the groups that all share, each model in its
            own contexts. For runs, "same" means the same topic and context set.
        clusters: a label of the contexts (predicate, source) by which they are resampled
            together.
        population: what intervals are about: "similar" contexts, the "corpus" that they were
            mined from, or exactly this "set".
        level, seed: of the intervals.

    >>> from clinometer import audit
    >>> compare(*audit(["reference:stereotyped", "reference:unbiased"])).overall[0].value
    1.0
    """
    if len(models) < 2:
        raise SettingsError(
            f"compare: expected at least two models as separate arguments, compare(a, b); "
            f"found {len(models)}"
        )
    opened = [Run.load(m) if isinstance(m, str | Path) else m for m in models]
    if strange := [m for m in opened if not isinstance(m, Run | Preferences)]:
        raise SettingsError(
            f"compare: expected runs, their folders or Preferences, found {type(strange[0])}; "
            "clinometer.measure.compare takes arrays"
        )
    how: dict[str, Any] = {
        "align": align,
        "clusters": clusters,
        "population": population,
        "level": level,
        "seed": seed,
    }
    runs = [m for m in opened if isinstance(m, Run)]
    if len(runs) == len(opened):
        return compare_runs(runs, names=names, **how)
    called = iter(run_names(runs))
    shown = [next(called) if isinstance(m, Run) else f"{i}" for i, m in enumerate(opened)]
    return compare_preferences(
        [m.preferences if isinstance(m, Run) else m for m in opened],
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
