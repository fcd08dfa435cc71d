"""One HTML page about one or several runs: a single file, no request, everything escaped.

The first screen is followed by a section per run, in the order of a reader's questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.display.table import Table
from clinometer.display.text import brief
from clinometer.errors import ClinometerError, SettingsError
from clinometer.report import figures, tables
from clinometer.report.cell_statistics import drawn
from clinometer.report.document import asset, render_document
from clinometer.report.examples import Example, top_examples
from clinometer.report.explorer import explorer_data
from clinometer.report.export import format_of, write_as
from clinometer.report.figure import Figure
from clinometer.report.sentences import factor_sentences, limits, sentences
from clinometer.report.summary import RunSummary, Screen, first_screen
from clinometer.runs import Run, compare
from clinometer.runs.folder.recover import LoadedRun, open_runs, require_some
from clinometer.runs.nouns import context_noun, noun_of

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
) -> list[Path]:
    """Write a report in the format that the ending of `out` names; returns the files.

    `.html` is the page; `.md`, `.tex` and `.json` are its tables in one file; `.csv` is a file for
    each table, `.svg` and `.png` are one for each chart: `x.csv` gives `x-groups.csv` and others.
    `interactive` puts the viewer's page of the run, with its data, into the page; it takes a single
    run that can be measured.
    """
    form = format_of(Path(out))
    if interactive and form != "html":
        raise SettingsError(f"interactive: expected a name that ends in .html, found {out}")
    opened = _opened(runs)
    return write_as(
        Path(out),
        page=lambda: _render(opened, extras, interactive=interactive),
        tables=lambda: report_tables(opened),
        figures=lambda: report_figures(opened, extras),
    )


def render_report(
    runs: Sequence[Source], *, extras: Sequence[Extra] = (), interactive: bool = False
) -> str:
    """The page as text, of runs or of their folders."""
    return _render(_opened(runs), extras, interactive=interactive)


def report_figures(opened: Sequence[LoadedRun], extras: Sequence[Extra] = ()) -> list[Figure]:
    """Every figure of a page, with unique keys: what .svg and .png hold."""
    summaries = run_summaries(opened)
    sections = _sections(opened, summaries)
    shared = [f for s in first_screens(list(summaries.values())) for f in s.pictures]
    compared = _comparison(opened)
    shared += compared["figures"] if compared else []
    named = [
        (s.key + "-" if len(sections) > 1 else "", f)
        for s in sections
        for part in s.parts
        for f in part.figures
    ]
    named += [
        (f"{i + 1}-" if len(extras) > 1 else "", f) for i, e in enumerate(extras) for f in e.figures
    ]
    return shared + [replace(f, key=prefix + f.key) for prefix, f in named]


def run_figure(run: Run) -> Figure:
    """The first figure of the page of a run."""
    return report_figures(_opened([run]))[0]


def report_tables(opened: Sequence[LoadedRun]) -> list[Table]:
    """Every table of a page, with unique keys: what .csv, .json, .md and .tex hold."""
    every = [tables.risks_table(opened)]
    if (parts := tables.parts_table(opened)) is not None:
        every.append(parts)
    compared = _comparison(opened)
    every += compared["tables"] if compared else []
    summaries = run_summaries(opened)
    for i, one in enumerate(opened):
        prefix = f"{section_key(i, one)}-" if len(opened) > 1 else ""
        for table in tables_of(one, summaries.get(i)):
            title = f"{table.title}: {one.name}" if len(opened) > 1 else table.title
            every.append(replace(table, key=prefix + table.key, title=title))
    return every


def _opened(runs: Sequence[Source]) -> list[LoadedRun]:
    opened = open_runs(
        [
            LoadedRun(r.path or Path(), r.model, "finished", run=r, record=r.record)
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
    summaries = run_summaries(opened)
    if interactive and (len(opened) != 1 or not summaries):
        raise SettingsError(
            f"interactive: expected one run that can be measured, found {len(opened)} with "
            f"{len(summaries)} of them; write one page per run"
        )
    screens = first_screens(list(summaries.values()))
    left = f"What is left of {', '.join(brief(one.name, 40) for one in opened)}"
    title = screens[0].title if len(screens) == 1 else left
    if len(screens) > 1:
        title = f"{len(summaries)} runs on {len(screens)} kinds of topic"
    said, not_said = limits([summary.run for summary in summaries.values()])
    return render_document(
        "report.html",
        css=asset("explorer.css") if interactive else "",
        scripts=[asset("page.js"), *([asset("explorer.js")] if interactive else [])],
        title=title,
        topic=_topic(opened),
        names=[one.name for one in opened],
        explorer=_held(summaries[0]) if interactive else "",
        notices=[one.notice for one in opened if one.notice],
        screens=screens,
        sections=_sections(opened, summaries),
        numbers=[t for t in (tables.parts_table(opened), tables.risks_table(opened)) if t],
        comparison=_comparison(opened),
        extras=extras,
        said=said,
        not_said=not_said,
    )


def _sections(opened: Sequence[LoadedRun], summaries: Mapping[int, RunSummary]) -> list[Section]:
    alone = len(opened) == 1
    return [section(one, i, summaries.get(i), alone=alone) for i, one in enumerate(opened)]


def _held(summary: RunSummary) -> str:
    """The data of the explorer as text that cannot end the block of a page that holds it."""
    return explorer_data(summary, words=_HELD_WORDS).replace("<", "\\u003c")


def run_summaries(opened: Sequence[LoadedRun]) -> dict[int, RunSummary]:
    """The runs that can be measured, by index."""
    return {
        i: RunSummary(one, drawn(one.run)) for i, one in enumerate(opened) if one.run is not None
    }


def first_screens(summaries: Sequence[RunSummary]) -> list[Screen]:
    """One screen for each set of runs that share an axis."""
    kinds: dict[tuple[Any, ...], list[RunSummary]] = {}
    for one in summaries:
        kind = (one.run.risks.categories, one.run.risks.criterion)
        kinds.setdefault(kind, []).append(one)
    screens = [first_screen(part) for part in kinds.values()]
    if len(screens) == 1:
        return screens
    return [
        replace(s, pictures=tuple(replace(f, key=f"{i + 1}-{f.key}") for f in s.pictures))
        for i, s in enumerate(screens)
    ]


def _topic(opened: Sequence[LoadedRun]) -> str:
    return " · ".join(dict.fromkeys(one.topic for one in opened if one.topic))


def _comparison(opened: Sequence[LoadedRun]) -> dict[str, Any] | None:
    runs = [one.run for one in opened if one.run is not None and one.state == "finished"]
    if not 2 <= len(runs) <= _MOST_COMPARED:
        return None
    try:
        compared = compare(*runs)
    except ClinometerError:
        return None  # another topic or other contexts: shown side by side, unpaired
    return {
        "figures": [figures.differences_figure(compared)],
        "tables": tables.comparison_tables(compared),
    }


@dataclass(frozen=True, eq=False)
class PagePart:
    """One question with its answer; `folded` tables open on a click."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    collapsed: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """The part of a page about one run."""

    key: str
    name: str
    notice: str = ""
    parts: tuple[PagePart, ...] = ()
    categories: tuple[str, ...] = ()
    decides: int | None = None


def section(
    one: LoadedRun, number: int, summary: RunSummary | None, *, alone: bool = True
) -> Section:
    """The section of a run; of one that cannot be read, what is stored of its settings."""
    key = section_key(number, one)
    if summary is None:
        part = PagePart("stored", "What is stored", tables=tuple(tables_of(one, None)))
        return Section(key, one.name, one.notice, (part,))
    parts = tuple(_parts(summary, alone=alone))
    run = summary.run
    return Section(
        key, one.name, one.notice, parts, run.preferences.categories, figures.decision(run)
    )


def _parts(summary: RunSummary, *, alone: bool) -> list[PagePart]:
    """The questions of a run. Of one of several the first screen has no chart of its groups, and
    the page leaves out what only a reader of this run asks: `report` of it alone has that."""
    run, cells = summary.run, summary.cells
    by_key = {t.key: t for t in tables_of(summary.opened, summary)}
    noun, (groups, _) = context_noun(run), noun_of(run)
    answered = figures.measured_from_mean(run)
    risks = "The answers with the largest share of R"
    chosen = f"The answers furthest from what all {groups} get" if answered else risks
    parts = [
        PagePart(
            "groups",
            f"Which {groups}?",
            figures=() if alone else (figures.leans_figure(summary.leans),),
            tables=(by_key["distances" if answered else "groups"],),
        ),
        PagePart(
            "sentences",
            f"Which {noun}s?",
            (f"{chosen}, each {noun} once.",),
            examples=tuple(top_examples(cells, 8 if alone else 4)),
            folded=(by_key["cells"],),
        ),
        PagePart(
            "swing",
            "What makes it swing?",
            (
                "A column of one colour is a steady lean; a column of mixed colours is swing.",
                *factor_sentences(run),
            )[0 if alone else 1 :],
            tables=(by_key["factors"],) if "factors" in by_key else (),
            figures=_some([figures.swing_figure(cells)]) if alone else (),
            folded=(by_key["contexts"],),
        ),
        PagePart("sure", "How sure is it?", tuple(sentences(run))),
        PagePart("asked", "How was it asked?", folded=(by_key["flags"], by_key["settings"])),
    ]
    research = PagePart(
        "research",
        "For researchers",
        figures=_some([figures.distribution_figure(cells, groups=outermost(run))]) if alone else (),
        tables=(
            *((tables.risks_table([summary.opened]),) if alone and answered else ()),
            *((by_key["groups"],) if answered else ()),
        ),
        collapsed=True,
    )
    if alone and not answered:
        risks_part = (tables.risks_table([summary.opened]),)
        parts.insert(-1, PagePart("reference", "Against what reference?", tables=risks_part))
    return [*parts, research] if research.figures or research.tables else parts


def tables_of(one: LoadedRun, summary: RunSummary | None) -> list[Table]:
    """Every table of a run: what .csv, .json, .md and .tex hold."""
    if summary is None:
        return [] if one.record is None else [tables.settings_table(one.record.to_dict())]
    return [
        tables.cells_table(summary.cells),
        tables.groups_table(summary.run),
        *([tables.distances_table(summary.run)] if figures.measured_from_mean(summary.run) else []),
        tables.contexts_table(summary.cells),
        *([factors] if (factors := tables.factors_table(summary.run)) else []),
        tables.flags_table(summary.run),
        tables.settings_table(summary.run.record.to_dict()),
    ]


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


def _some(figures: Sequence[Figure | None]) -> tuple[Figure, ...]:
    return tuple(f for f in figures if f is not None)
