"""One HTML page about one or several runs: a single file, no request, everything escaped."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.display.table import Table
from clinometer.errors import ClinometerError, SettingsError
from clinometer.report import run_tables
from clinometer.report.charts.style import brief
from clinometer.report.document import render_document, script
from clinometer.report.explorer.data import explorer_file, explorer_script, view_file
from clinometer.report.export import write_files
from clinometer.report.figure import Figure
from clinometer.report.figures import comparison, single_run
from clinometer.report.figures.swing import swing_figure
from clinometer.report.sentences import limits, sentences
from clinometer.report.summary.examples import Example, top_examples
from clinometer.report.summary.pictures import ROWS, groups_picture
from clinometer.report.summary.screen import RunSummary, Screen, context_noun, first_screen
from clinometer.runs import Run, compare
from clinometer.runs.folder.recover import LoadedRun, open_runs, require_some

# --- The sections about one run below the first screen, in the order of a reader's questions -----


@dataclass(frozen=True, eq=False)
class Part:
    """One question with its answer. `folded` figures and tables open on a click."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    folded_figures: tuple[Figure, ...] = ()
    folded: tuple[Table, ...] = ()
    collapsed: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """The part of a page about one run."""

    key: str
    name: str
    run: Run | None
    notice: str = ""
    parts: tuple[Part, ...] = ()
    categories: tuple[str, ...] = ()


def section(one: LoadedRun, number: int, summary: RunSummary | None) -> Section:
    """The section of a run; if it cannot be measured again, with its stored results."""
    key = section_key(number, one)
    if summary is None:
        risks = [run_tables.risks_table([one])] if one.groups is not None else []
        part = Part("stored", "What is stored", tables=(*risks, *run_tables_of(one, None)))
        return Section(key, one.name, None, one.notice, (part,))
    return Section(
        key,
        one.name,
        summary.run,
        one.notice,
        tuple(_parts(summary)),
        summary.run.preferences.categories,
    )


def _parts(summary: RunSummary) -> list[Part]:
    run, reading, leans = summary.run, summary.reading, summary.leans
    tables = {t.key: t for t in run_tables_of(summary.opened, summary)}
    telling = tuple(tables[k] for k in tables if k.startswith("contexts-") and len(tables[k].frame))
    every = (groups_picture(leans, every=True),) if len(leans.seen) > ROWS else ()
    pictures = [single_run.convergence_figure(reading), single_run.coverage_figure(reading)]
    intervals = comparison.intervals_figure([run], [summary.opened.name])
    sure = _some([intervals, *pictures])
    research = _some(
        [
            single_run.groups_figure(run),
            single_run.heat_figure(reading),
            single_run.distribution_figure(reading, groups=outermost(run)),
            single_run.shapes_figure(run),
        ]
    )
    return [
        Part(
            "groups",
            "Which groups?",
            tables=(tables["benchmark"],) if "benchmark" in tables else (),
            folded_figures=every,
            folded=(tables["groups"],),
        ),
        Part(
            "sentences",
            f"Which {context_noun(run)}s?",
            (f"The answers with the largest share of R, each {context_noun(run)} once.",),
            examples=tuple(top_examples(reading, 8)),
            folded=(tables["cells"], *telling),
        ),
        Part(
            "swing",
            "What makes it swing?",
            (
                "A row of one colour is a steady lean; a row of mixed colours is swing.",
                *single_run.factor_sentences(run),
                *single_run.swing_sentences(run),
            ),
            tables=(tables["factors"],) if "factors" in tables else (),
            figures=_some([swing_figure(reading)]),
            folded=(tables["contexts"],),
        ),
        Part("sure", "How sure is it?", tuple(sentences(summary)), figures=sure),
        Part(
            "reference",
            "Against what reference?",
            figures=(comparison.risks_figure([run], [summary.opened.name]),),
        ),
        Part("asked", "How was it asked?", folded=(tables["flags"], tables["settings"])),
        Part("research", "For researchers", figures=research, collapsed=True),
    ]


def run_tables_of(one: LoadedRun, summary: RunSummary | None) -> list[Table]:
    """Every table of a run: what --format csv, md and tex write."""
    if summary is None:
        stored = [] if one.groups is None else [Table("groups", "Groups, as stored", one.groups)]
        return [*stored, *([run_tables.settings_table(one.content)] if one.content else [])]
    return [
        run_tables.cells_table(summary.reading),
        *run_tables.telling_tables(summary.reading),
        run_tables.groups_table(summary.run),
        run_tables.contexts_table(summary.reading),
        *([scores] if (scores := run_tables.benchmark_table(summary.run)) else []),
        *([factors] if (factors := run_tables.factors_table(summary.run)) else []),
        run_tables.flags_table(summary.run),
        run_tables.settings_table(summary.run.record.to_dict()),
    ]


def figures_of(found: Section) -> list[Figure]:
    return [f for part in found.parts for f in (*part.figures, *part.folded_figures)]


def outermost(run: Run) -> list[str]:
    """The groups that lean furthest in each direction, to compare with all of them."""
    mean = run.risks.mean_stereotype[:, 0]
    seen = np.flatnonzero(~np.isnan(mean))
    if seen.size < 3:
        return [run.risks.groups[i] for i in seen[:1]] if seen.size == 1 else []
    order = seen[np.argsort(mean[seen], kind="stable")]
    return [run.risks.groups[order[-1]], run.risks.groups[order[0]]]


def section_key(number: int, one: LoadedRun) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in one.name.lower())
    return f"run{number + 1}-{plain.strip('-')[:40] or 'model'}"


def with_key(figure: Figure, key: str) -> Figure:
    return replace(figure, key=key)


def _some(figures: Sequence[Figure | None]) -> tuple[Figure, ...]:
    return tuple(f for f in figures if f is not None)


# --- One HTML page about one or several runs: a single file, no request, everything escaped ------


#: A run, its folder, or a folder as `open_run` found it.
Source = Run | LoadedRun | str | Path

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
) -> list[LoadedRun]:
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


def report_figures(opened: Sequence[LoadedRun]) -> list[Figure]:
    """Every figure of a page, with unique keys: what --format svg and png write."""
    summaries = _summaries(opened)
    sections = [section(one, i, summaries.get(i)) for i, one in enumerate(opened)]
    found = [f for s in _screens(list(summaries.values())) for f in s.pictures]
    compared = _comparison(opened)
    found += compared["figures"] if compared else []
    named = [(s.key + "-" if len(sections) > 1 else "", f) for s in sections for f in figures_of(s)]
    return found + [with_key(f, prefix + f.key) for prefix, f in named]


def report_tables(opened: Sequence[LoadedRun]) -> list[Table]:
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


def _opened(runs: Sequence[Source]) -> list[LoadedRun]:
    opened = open_runs(
        [
            LoadedRun(r.path or Path(), r.model, "finished", run=r, content=r.record.to_dict())
            if isinstance(r, Run)
            else r
            for r in runs
        ]
    )
    require_some(opened)
    return opened


def _render(
    opened: Sequence[LoadedRun], extras: Sequence[Extra], *, interactive: bool = False
) -> str:
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


def _summaries(opened: Sequence[LoadedRun]) -> dict[int, RunSummary]:
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


def _topic(opened: Sequence[LoadedRun]) -> str:
    return " · ".join(dict.fromkeys(one.topic for one in opened if one.topic))


def _comparison(opened: Sequence[LoadedRun]) -> dict[str, Any] | None:
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
