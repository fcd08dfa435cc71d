"""clinometer compare: paired differences between runs."""

from __future__ import annotations

from collections.abc import Sequence
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
    from clinometer.report.tables import comparison_tables

    loaded = [Run.load(path) for path in runs]
    chosen: Any = align or ("groups" if only_contexts_differ(loaded) else "same")
    both = compared(loaded, seed=seed, clusters=clusters, level=level, align=chosen)
    found = both.comparison
    notes = _notes(
        found, resampling_note(list(zip(found.models, loaded, strict=True))), clusters
    )
    if json_output:
        about = {"align": chosen, "notes": notes}
        said = {
            "findings": plain(list(both.findings)),
            "shifts": plain(list(both.shifts)),
        }
        print_json({**found.to_dict(), **said, **about})
        return
    sizes = [f"{len(found.groups)} groups"]
    if not found.own_contexts:
        sizes.append(f"{found.n_contexts} contexts ({found.n_eff:.1f} effective)")
    intervals = f"{100 * found.level:g} % intervals for contexts of this kind"
    for one in both.findings[: 2 if len(loaded) > 2 else None]:
        sentence(one.text)
    letters = dict(zip(found.models, ascii_uppercase, strict=False))
    for i, (model, letter) in enumerate(letters.items()):
        own = found.own_contexts[i] if found.own_contexts else None
        size = f": {own.contexts} contexts ({own.n_eff:.1f} effective)" if own else ""
        sentence(f"{letter} = {model}{size}")
    if both.shifts:
        _print_shifts(both.shifts, loaded[0].outcome.unit.name, top)
    differences, ranks, groups = comparison_tables(_lettered(found, letters))
    print_table(replace(differences, title=", ".join([*sizes, intervals])))
    print_table(replace(ranks, note=""))
    tested = groups.frame.dropna(subset=["p"]) if len(groups.frame) else groups.frame
    if len(tested) and top > 0:
        shown = f"{min(top, len(tested))} of {len(tested)} differences"
        title = f"Groups with the smallest p-values ({shown})"
        print_table(replace(groups, title=title, frame=tested), most=top)
    for note in notes:
        sentence(note)


def _notes(found: Comparison, resampling: str, clusters: str | None) -> list[str]:
    """Notes that a reader of the numbers must know."""
    notes = []
    if found.own_contexts:
        notes.append(
            "The runs have different contexts: groups are paired, contexts are not. A difference "
            "may come from the contexts as well as from the model."
        )
    if resampling:
        unit = "contexts" if clusters is None else f"clusters of contexts by {clusters}"
        notes.append(f"{resampling} This comparison resamples {unit} for all of them.")
    uneven = not found.own_contexts and found.n_eff < found.n_contexts / 2
    if uneven and found.n_contexts > EXACT and len(found.groups) > 1:
        notes.append(
            f"{found.n_contexts} contexts weigh as much as {found.n_eff:.0f} even ones: with "
            "weights this uneven, corrected p-values name groups too often "
            "(docs/compare.md)."
        )
    return notes


def _lettered(comparison: Comparison, letters: dict[str, str]) -> Comparison:
    """Models of a pair by their letters."""

    def short(rows: Sequence[Difference]) -> tuple[Difference, ...]:
        return tuple(
            replace(d, a=letters.get(d.a, d.a), b=letters.get(d.b, d.b)) for d in rows
        )

    overall, groups = short(comparison.overall), short(comparison.by_group)
    return replace(comparison, overall=overall, by_group=groups)


def _print_shifts(shifts: Sequence[Shift], unit: str, top: int) -> None:
    """Who gets more or less from the first run, kinds of people first."""
    ordered = sorted(shifts, key=lambda s: (not s.column, -abs(s.change.value)))
    kinds = sum(bool(s.column) for s in shifts)
    rows = []
    for s in ordered[: kinds + top]:
        values = [show(v, "signed points") for v in (s.run, s.baseline, s.change.value)]
        if s.change.low is not None:
            ends = [show(v, "signed points") for v in (s.change.low, s.change.high)]
            values[-1] += "\n" + " to ".join(ends)
        rows.append((s.name, *values))
    title = f"Away from the mean, in {unit}, corrected for all"
    print_rows(title, ["who", "A", "B", "difference"], rows)
