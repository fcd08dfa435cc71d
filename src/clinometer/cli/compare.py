"""clinometer compare: paired differences between runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from clinometer import settings as ranges
from clinometer.cli.options import JSON, argument, derived
from clinometer.cli.printing import print_json, print_rows, print_table, sentence
from clinometer.display.numbers import show
from clinometer.display.text import plain
from clinometer.errors import SettingsError
from clinometer.measure.differences import Comparison, Difference
from clinometer.runs import AuditSettings, Run
from clinometer.runs.compare import ALIGN
from clinometer.runs.compared import compared
from clinometer.runs.several_runs import only_contexts_differ, resampling_note
from clinometer.runs.shifts import Shift
from clinometer.settings import option
from clinometer.statistics.significance import EXACT


def compare_command(
    runs: list[Path] = argument("RUN RUN...", "Run folders."),
    align: str | None = option(
        None,
        help="same: require the same topic and contexts; common: compare what the runs share; "
        "groups: pair the groups only, each run in its own contexts.",
        unset="same, or groups if only the contexts differ",
    ),
    level: float = derived(AuditSettings, "level"),
    seed: int = derived(AuditSettings, "seed"),
    clusters: str | None = derived(AuditSettings, "clusters"),
    top: int = option(
        10,
        help="Number of groups to show, smallest p-values first, then largest differences.",
        allowed=ranges.COUNT_OR_0,
    ),
    json_output: bool = JSON,
) -> None:
    """Compare runs group by group and context by context.

    A difference is first minus second. Intervals and p of all groups together are corrected for the
    pairs of runs; p (corr.) of single groups for all groups.
    """
    if align not in (None, *ALIGN):
        raise SettingsError(
            f"--align: expected one of {', '.join(ALIGN)}, found {align!r}"
        )
    opened = [Run.load(path) for path in runs]
    chosen: Any = align
    if align is None:
        chosen = "groups" if only_contexts_differ(opened) else "same"
    result = compared(opened, seed=seed, clusters=clusters, level=level, align=chosen)
    comparison = result.comparison
    resampling = resampling_note(list(zip(comparison.models, opened, strict=True)))
    notes = _notes(comparison, resampling, clusters)
    if json_output:
        print_json(
            {
                **comparison.to_dict(),
                "findings": plain(list(result.findings)),
                "shifts": plain(list(result.shifts)),
                "align": chosen,
                "notes": notes,
            }
        )
        return
    findings = result.findings[:2] if len(opened) > 2 else result.findings
    for finding in findings:
        sentence(finding.text)
    letters = dict(zip(comparison.models, ascii_uppercase, strict=False))
    _print_models(comparison, letters)
    if result.shifts:
        _print_shifts(result.shifts, opened[0].outcome.unit.name, top)
    _print_differences(comparison, letters, top)
    for note in notes:
        sentence(note)


def _print_models(comparison: Comparison, letters: Mapping[str, str]) -> None:
    """Print which letter is which model, with its contexts where each has its own."""
    for i, (model, letter) in enumerate(letters.items()):
        size = ""
        if comparison.own_contexts:
            count = comparison.own_contexts[i]
            size = f": {count.contexts} contexts ({count.n_eff:.1f} effective)"
        sentence(f"{letter} = {model}{size}")


def _print_differences(
    comparison: Comparison, letters: Mapping[str, str], top: int
) -> None:
    """Print the differences of all groups, the ranks, and the groups that differ most clearly."""
    from clinometer.report.tables import comparison_tables

    title = [f"{len(comparison.groups)} groups"]
    if not comparison.own_contexts:
        n_eff = f"{comparison.n_eff:.1f} effective"
        title.append(f"{comparison.n_contexts} contexts ({n_eff})")
    level = f"{100 * comparison.level:g} %"
    title.append(f"{level} intervals for contexts of this kind")
    differences, ranks, groups = comparison_tables(_lettered(comparison, letters))
    print_table(replace(differences, title=", ".join(title)))
    print_table(replace(ranks, note=""))
    tested = groups.frame
    if len(tested):
        tested = tested.dropna(subset=["p"])
    if len(tested) and top > 0:
        listed = f"{min(top, len(tested))} of {len(tested)} differences"
        title_of_groups = f"Groups with the smallest p-values ({listed})"
        print_table(replace(groups, title=title_of_groups, frame=tested), most=top)


def _notes(comparison: Comparison, resampling: str, clusters: str | None) -> list[str]:
    """Return notes that a reader of the numbers must know."""
    notes = []
    if comparison.own_contexts:
        notes.append(
            "The runs have different contexts: groups are paired, contexts are not. A difference "
            "may come from the contexts as well as from the model."
        )
    if resampling:
        unit = "contexts" if clusters is None else f"clusters of contexts by {clusters}"
        notes.append(f"{resampling} This comparison resamples {unit} for all of them.")
    is_paired = not comparison.own_contexts
    uneven = is_paired and comparison.n_eff < comparison.n_contexts / 2
    if uneven and comparison.n_contexts > EXACT and len(comparison.groups) > 1:
        notes.append(
            f"{comparison.n_contexts} contexts weigh as much as {comparison.n_eff:.0f} even ones: "
            "with weights this uneven, corrected p-values name groups too often (docs/compare.md)."
        )
    return notes


def _lettered(comparison: Comparison, letters: Mapping[str, str]) -> Comparison:
    """Return the comparison with the models of a pair by their letters."""
    return replace(
        comparison,
        overall=_with_letters(comparison.overall, letters),
        by_group=_with_letters(comparison.by_group, letters),
    )


def _with_letters(
    differences: Sequence[Difference], letters: Mapping[str, str]
) -> tuple[Difference, ...]:
    return tuple(
        replace(d, a=letters.get(d.a, d.a), b=letters.get(d.b, d.b))
        for d in differences
    )


def _print_shifts(shifts: Sequence[Shift], unit: str, top: int) -> None:
    """Print who gets more or less from the first run, all kinds of people first."""
    kinds = sum(bool(shift.column) for shift in shifts)
    ordered = sorted(shifts, key=lambda s: (not s.column, -abs(s.change.value)))
    rows = []
    for shift in ordered[: kinds + top]:
        change = show(shift.change.value, "signed points")
        if shift.change.low is not None:
            low = show(shift.change.low, "signed points")
            high = show(shift.change.high, "signed points")
            change = f"{change}\n{low} to {high}"
        run = show(shift.run, "signed points")
        baseline = show(shift.baseline, "signed points")
        rows.append((shift.name, run, baseline, change))
    title = f"Away from the mean, in {unit}, corrected for all"
    print_rows(title, ["who", "A", "B", "difference"], rows)
