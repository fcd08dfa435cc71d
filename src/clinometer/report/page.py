"""One HTML page about one or several runs: a single file, no request, everything escaped."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clinometer.display.table import Table
from clinometer.errors import ClinometerError, SettingsError
from clinometer.report import run_tables
from clinometer.report.charts.style.theme import brief
from clinometer.report.document import render_document, script
from clinometer.report.explorer.bundle import explorer_file, explorer_script
from clinometer.report.explorer.data import view_file
from clinometer.report.export import write_files
from clinometer.report.figure import Figure
from clinometer.report.figures import comparison
from clinometer.report.sections import figures_of, run_tables_of, section, section_key, with_key
from clinometer.report.sentences import limits
from clinometer.report.summary.screen import RunSummary, Screen, first_screen
from clinometer.runs import Run, compare
from clinometer.runs.folder.recover import Opened, open_runs, require_some

#: A run, its folder, or a folder as `open_run` found it.
Source = Run | Opened | str | Path

#: Number of the worst sentences whose words are in an interactive page.
_HELD_WORDS = 50

#: Maximum number of runs that a page compares in pairs; with more, the table is unreadable.
_MOST_COMPARED = 5


@dataclass(frozen=True)
class Extra:
    """A part that a caller adds to a report, such as a study of the same runs."""

    title: str
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


def write_report(
    runs: Sequence[Source],
    out: str | Path,
    *,
    extras: Sequence[Extra] = (),
    interactive: bool = False,
) -> list[Opened]:
    """Write the page; it appears whole or not at all. Returns the runs as they were opened.

    `interactive` puts the viewer's page of the run, with its data, into the same file; it takes a
    single run that can be measured.
    """
    opened = _opened(runs)
    write_files({Path(out): _render(opened, extras, interactive=interactive).encode("utf-8")})
    return opened


def render_report(
    runs: Sequence[Source], *, extras: Sequence[Extra] = (), interactive: bool = False
) -> str:
    """The page as text, of runs or of their folders."""
    return _render(_opened(runs), extras, interactive=interactive)


def report_figures(opened: Sequence[Opened]) -> list[Figure]:
    """Every figure of a page, with unique keys: what --format svg and png write."""
    summaries = _summaries(opened)
    sections = [section(one, i, summaries.get(i)) for i, one in enumerate(opened)]
    found = [f for s in _screens(list(summaries.values())) for f in s.pictures]
    compared = _comparison(opened)
    found += compared["figures"] if compared else []
    named = [(s.key + "-" if len(sections) > 1 else "", f) for s in sections for f in figures_of(s)]
    return found + [with_key(f, prefix + f.key) for prefix, f in named]


def report_tables(opened: Sequence[Opened]) -> list[Table]:
    """Every table of a page, with unique keys: what --format csv, md and tex write."""
    found = [run_tables.risks_table(opened)]
    compared = _comparison(opened)
    found += compared["tables"] if compared else []
    summaries = _summaries(opened)
    for i, one in enumerate(opened):
        prefix = f"{section_key(i, one)}-" if len(opened) > 1 else ""
        for table in run_tables_of(one, summaries.get(i)):
            title = f"{table.title}: {one.name}" if len(opened) > 1 else table.title
            found.append(replace(table, key=prefix + table.key, title=title))
    return found


def _opened(runs: Sequence[Source]) -> list[Opened]:
    opened = open_runs(
        [
            Opened(r.path or Path(), r.model, "finished", run=r, content=r.record.to_dict())
            if isinstance(r, Run)
            else r
            for r in runs
        ]
    )
    require_some(opened)
    return opened


def _render(opened: Sequence[Opened], extras: Sequence[Extra], *, interactive: bool = False) -> str:
    summaries = _summaries(opened)
    if interactive and (len(opened) != 1 or not summaries):
        raise SettingsError(
            f"interactive: expected one run that can be measured, found {len(opened)} with "
            f"{len(summaries)} of them; write one page per run"
        )
    screens = _screens(list(summaries.values()))
    left = f"What is left of {', '.join(brief(one.name, 40) for one in opened)}"
    title = screens[0].title if len(screens) == 1 else left
    if len(screens) > 1:
        title = f"{len(summaries)} runs on {len(screens)} kinds of topic"
    said, not_said = limits([summary.run for summary in summaries.values()])
    return render_document(
        "report.html",
        css=explorer_file("explorer.css") if interactive else "",
        scripts=[script(), *([explorer_script()] if interactive else [])],
        title=title,
        topic=_topic(opened),
        names=[one.name for one in opened],
        explorer=_held(summaries[0]) if interactive else "",
        notices=[one.notice for one in opened if one.notice],
        screens=screens,
        sections=[section(one, i, summaries.get(i)) for i, one in enumerate(opened)],
        risks=run_tables.risks_table(opened),
        comparison=_comparison(opened),
        extras=extras,
        said=said,
        not_said=not_said,
    )


def _held(summary: RunSummary) -> str:
    """The data of the viewer's page as text that can be embedded in a page."""
    return base64.b64encode(view_file(summary, words=_HELD_WORDS)).decode()


def _summaries(opened: Sequence[Opened]) -> dict[int, RunSummary]:
    """The runs that can be measured, by index."""
    return {i: RunSummary.of(one, one.run) for i, one in enumerate(opened) if one.run is not None}


def _screens(summaries: Sequence[RunSummary]) -> list[Screen]:
    """One screen for each set of runs that share an axis."""
    kinds: dict[tuple[Any, ...], list[RunSummary]] = {}
    for one in summaries:
        kind = (one.run.risks.categories, one.run.risks.normalized)
        kinds.setdefault(kind, []).append(one)
    found = [first_screen(part) for part in kinds.values()]
    if len(found) == 1:
        return found
    return [
        replace(s, pictures=tuple(with_key(f, f"{i + 1}-{f.key}") for f in s.pictures))
        for i, s in enumerate(found)
    ]


def _topic(opened: Sequence[Opened]) -> str:
    return " · ".join(dict.fromkeys(one.topic for one in opened if one.topic))


def _comparison(opened: Sequence[Opened]) -> dict[str, Any] | None:
    runs = [one.run for one in opened if one.run is not None and one.state == "finished"]
    if not 2 <= len(runs) <= _MOST_COMPARED:
        return None
    try:
        found = compare(*runs)
    except ClinometerError:
        return None  # another topic or other contexts: shown side by side, unpaired
    return {
        "figures": [
            comparison.differences_figure(found),
            comparison.plane_figure(runs, [one.name for one in opened if one.run in runs]),
        ],
        "tables": run_tables.comparison_tables(found),
    }
