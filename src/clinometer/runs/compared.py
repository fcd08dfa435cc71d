"""Runs beside each other, with all that is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clinometer.display.numbers import counted, risk
from clinometer.errors import ClinometerError
from clinometer.findings.finding import Finding
from clinometer.measure import Comparison, Estimate
from clinometer.runs.compare import Align, compare
from clinometer.runs.findings.of_comparison import comparison_findings, shift_finding
from clinometer.runs.findings.of_models import leaning_models
from clinometer.runs.names import context_noun, group_noun, groups_noun
from clinometer.runs.run import Run
from clinometer.runs.several_runs import only_contexts_differ
from clinometer.runs.shifts import Shift, shifts


@dataclass(frozen=True)
class Compared:
    """Runs beside each other: what `compare`, `gate`, the report and JSON all say of them."""

    comparison: Comparison
    """The differences of their risks."""

    shifts: tuple[Shift, ...]
    """Of two runs, who gets more or less from the first than from the second."""

    findings: tuple[Finding, ...]
    """What was found, the verdict first."""


def compared(
    runs: Sequence[Run],
    names: Sequence[str] | None = None,
    *,
    align: Align | None = None,
    **options: Any,
) -> Compared:
    """Compare runs and say what was found; `options` as for `compare`.

    With `align` None, runs of which only the contexts differ are paired by their groups.
    """
    if align is None:
        align = "groups" if only_contexts_differ(runs) else "same"
    comparison = compare(*runs, names=names, align=align, **options)
    risks = comparison_findings(
        comparison, one=group_noun(runs[0]), many=groups_noun(runs[0])
    )
    if len(runs) > 2:
        lean = leaning_models(runs, comparison.models)
        return Compared(comparison, (), risks if lean is None else (lean, *risks))
    moved: list[Shift] = []
    if align != "groups":
        clusters = options.get("clusters")
        moved = shifts(*runs, level=comparison.level, clusters=clusters)
    if not moved:
        return Compared(comparison, (), risks)
    contexts = counted(comparison.n_contexts, context_noun(runs[0]))
    shift = shift_finding(moved, comparison.models, runs[0].outcome.unit, contexts)
    if any(run.preferences.counted for run in runs):
        # Of replies, who gets what is the result; R is for researchers.
        findings = (shift, *risks)
    else:
        findings = (risks[0], shift, *risks[1:])
    return Compared(comparison, tuple(moved), findings)


def runs_findings(runs: Sequence[Run], names: Sequence[str]) -> tuple[Finding, ...]:
    """Return what several runs show together, or why they cannot be compared."""
    lean = leaning_models(runs, names)
    if lean is not None:
        return (lean,)
    if len({tuple(run.preferences.categories) for run in runs}) > 1:
        why = "on different topics: their risks are not comparable"
    elif len({run.preferences.groups for run in runs}) > 1:
        why = "about different groups, which clinometer compare --align common puts together"
    else:
        try:
            level = runs[0].record.settings.level
            return compared(runs, names, level=level).findings[:1]
        except ClinometerError as error:
            why = f"that cannot be compared in pairs: {error}"
    values = [run.risks.R.value for run in runs]
    lowest = min(values)
    highest = max(values)
    numbers = {"lowest": Estimate(lowest), "highest": Estimate(highest)}
    text = f"{len(names)} runs {why} (R {risk(lowest)} to {risk(highest)})."
    return (Finding("models", text, "cannot tell", tuple(names), numbers=numbers),)
