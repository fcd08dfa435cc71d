"""One HTML page about one or several runs: a single file, no request, everything escaped.

The first screen is followed by a section per run, in the order of a reader's questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from clinometer.display.table import Table
from clinometer.display.text import brief
from clinometer.errors import ClinometerError, SettingsError
from clinometer.report import figures, tables
from clinometer.report.cell_statistics import Example, drawn, top_examples
from clinometer.report.document import asset, render_document
from clinometer.report.explorer import explorer_data
from clinometer.report.export import format_of, write_as
from clinometer.report.figure import Figure
from clinometer.report.summary import RunSummary, Screen, first_screen, limits, sentences
from clinometer.runs import Run, compare
from clinometer.runs.folder.recover import LoadedRun, open_runs, require_some
from clinometer.runs.nouns import context_noun, noun_of

T = TypeVar("T")

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


@dataclass(frozen=True)
class PagePart(Extra):
    """One question with its answer; `folded` tables open on a click."""

    key: str = ""
    examples: tuple[Example, ...] = ()
    folded: tuple[Table, ...] = ()
    collapsed: bool = False


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
    if format_of(Path(out)) != "html" and interactive:
        raise SettingsError(f"interactive: expected a name that ends in .html, found {out}")
    report = Report.of(runs, extras=extras, interactive=interactive)
    return write_as(Path(out), page=report.page, tables=report.tables, figures=report.figures)


def render_report(
    runs: Sequence[Source], *, extras: Sequence[Extra] = (), interactive: bool = False
) -> str:
    """The page as text, of runs or of their folders."""
    return Report.of(runs, extras=extras, interactive=interactive).page()


def run_figure(run: Run) -> Figure:
    """The first figure of the page of a run."""
    return Report.of([run]).screens[0].pictures[0]


@dataclass(frozen=True, eq=False)
class Report:
    """A page about runs, its tables and its charts; what several of them need is made once."""

    opened: Sequence[LoadedRun]
    extras: Sequence[Extra] = ()
    interactive: bool = False

    @classmethod
    def of(cls, runs: Sequence[Source], **options: Any) -> Report:
        """The report on runs or their folders; nothing to show is an error."""
        opened = open_runs(
            [
                LoadedRun(r.path or Path(), r.model, "finished", run=r, record=r.record)
                if isinstance(r, Run)
                else r
                for r in runs
            ]
        )
        require_some(opened)
        return cls(opened, **options)

    @cached_property
    def summaries(self) -> dict[int, RunSummary]:
        """The runs that can be measured, by index."""
        measured = ((i, one, one.run) for i, one in enumerate(self.opened))
        return {i: RunSummary(one, drawn(run)) for i, one, run in measured if run is not None}

    @cached_property
    def screens(self) -> list[Screen]:
        """One first screen for each set of runs that share an axis."""
        kinds: dict[tuple[Any, ...], list[RunSummary]] = {}
        for one in self.summaries.values():
            kind = (one.run.risks.categories, one.run.risks.criterion)
            kinds.setdefault(kind, []).append(one)
        screens = [first_screen(part) for part in kinds.values()]
        if len(screens) == 1:
            return screens
        return [
            replace(s, pictures=tuple(replace(f, key=f"{i}-{f.key}") for f in s.pictures))
            for i, s in enumerate(screens, start=1)
        ]

    @cached_property
    def compared(self) -> Extra | None:
        """Every pair of a few runs; None where they cannot be paired."""
        runs = [one.run for one in self.opened if one.run is not None and one.state == "finished"]
        if not 2 <= len(runs) <= _MOST_COMPARED:
            return None
        try:
            found = compare(*runs)
        except ClinometerError:
            return None  # another topic or other contexts: shown side by side, unpaired
        return Extra(
            "The models compared",
            figures=(figures.differences_figure(found),),
            tables=tuple(tables.comparison_tables(found)),
        )

    @cached_property
    def sections(self) -> list[Section]:
        """A section for each run; of one that cannot be read, what is stored of its settings."""
        found, alone = [], len(self.opened) == 1
        for i, one in enumerate(self.opened):
            shown = Section(section_key(i, one), one.name, one.notice)
            if (summary := self.summaries.get(i)) is None:
                stored = tuple(tables_of(one, None))
                part = PagePart("What is stored", tables=stored, key="stored")
                shown = replace(shown, parts=(part,))
            else:
                parts, names = tuple(_parts(summary, alone)), summary.run.preferences.categories
                decides = figures.decision(summary.run)
                shown = replace(shown, parts=parts, categories=names, decides=decides)
            found.append(shown)
        return found

    def page(self) -> str:
        """The page as text."""
        opened, runs = self.opened, [one.run for one in self.summaries.values()]
        if self.interactive and (len(opened) != 1 or not runs):
            raise SettingsError(
                f"interactive: expected one run that can be measured, found {len(opened)} with "
                f"{len(runs)} of them; write one page per run"
            )
        title = f"{len(runs)} runs on {len(self.screens)} kinds of topic"
        if len(self.screens) < 2:
            left = f"What is left of {', '.join(brief(one.name, 40) for one in opened)}"
            title = self.screens[0].title if self.screens else left
        explorer = ""
        if self.interactive:  # as text that cannot end the block of the page that holds it
            data = explorer_data(self.summaries[0], words=_HELD_WORDS)
            explorer = data.replace("<", "\\u003c")
        said, not_said = limits(runs)
        return render_document(
            "report.html",
            css=asset("explorer.css") if explorer else "",
            scripts=[asset("page.js"), *([asset("explorer.js")] if explorer else [])],
            title=title,
            topic=" · ".join(dict.fromkeys(one.topic for one in opened if one.topic)),
            names=[one.name for one in opened],
            explorer=explorer,
            notices=[one.notice for one in opened if one.notice],
            screens=self.screens,
            sections=self.sections,
            numbers=_some(tables.parts_table(opened), tables.risks_table(opened)),
            comparison=self.compared,
            extras=self.extras,
            said=said,
            not_said=not_said,
        )

    def figures(self) -> list[Figure]:
        """Every figure of the page, with unique keys: what .svg and .png hold."""
        found = [f for screen in self.screens for f in screen.pictures]
        found += self.compared.figures if self.compared else ()
        for one in self.sections:
            prefix = f"{one.key}-" if len(self.sections) > 1 else ""
            found += [replace(f, key=prefix + f.key) for part in one.parts for f in part.figures]
        for i, extra in enumerate(self.extras, start=1):
            prefix = f"{i}-" if len(self.extras) > 1 else ""
            found += [replace(f, key=prefix + f.key) for f in extra.figures]
        return found

    def tables(self) -> list[Table]:
        """Every table of the page, with unique keys: what .csv, .json, .md and .tex hold."""
        every = [tables.risks_table(self.opened), *_some(tables.parts_table(self.opened))]
        every += self.compared.tables if self.compared else ()
        for i, one in enumerate(self.opened):
            for table in tables_of(one, self.summaries.get(i)):
                if len(self.opened) > 1:
                    key = f"{section_key(i, one)}-{table.key}"
                    table = replace(table, key=key, title=f"{table.title}: {one.name}")
                every.append(table)
        return every


@dataclass(frozen=True, eq=False)
class Section:
    """The part of a page about one run."""

    key: str
    name: str
    notice: str = ""
    parts: tuple[PagePart, ...] = ()
    categories: tuple[str, ...] = ()
    decides: int | None = None


def _parts(summary: RunSummary, alone: bool) -> list[PagePart]:
    """The questions of a run. Of one of several the first screen has no chart of its groups, and
    the page leaves out what only a reader of this run asks: `report` of it alone has that."""
    run, cells = summary.run, summary.cells
    by_key = {t.key: t for t in tables_of(summary.opened, summary)}
    noun, (groups, _) = context_noun(run), noun_of(run)
    answered = "distances" in by_key
    chosen = "The answers with the largest share of R"
    if answered:
        chosen = f"The answers furthest from what all {groups} get"
    how = "A column of one colour is a steady lean; a column of mixed colours is swing."
    risks = _some(tables.risks_table([summary.opened]) if alone else None)
    parts = [
        PagePart(
            f"Which {groups}?",
            key="groups",
            figures=_some(None if alone else figures.leans_figure(cells)),
            tables=(by_key["distances" if answered else "groups"],),
        ),
        PagePart(
            f"Which {noun}s?",
            (f"{chosen}, each {noun} once.",),
            key="sentences",
            examples=tuple(top_examples(cells, 8 if alone else 4)),
            folded=(by_key["cells"],),
        ),
        PagePart(
            "What makes it swing?",
            _some(how if alone else None, *(f.text for f in run.findings if f.kind == "factors")),
            _some(figures.swing_figure(cells) if alone else None),
            _some(by_key.get("factors")),
            key="swing",
            folded=(by_key["contexts"],),
        ),
        PagePart("How sure is it?", tuple(sentences(run)), key="sure"),
        PagePart("Against what reference?", tables=() if answered else risks, key="reference"),
        PagePart("How was it asked?", key="asked", folded=(by_key["flags"], by_key["settings"])),
        PagePart(
            "For researchers",
            figures=_some(
                figures.distribution_figure(cells, groups=outermost(run)) if alone else None
            ),
            tables=(*risks, by_key["groups"]) if answered else (),
            key="research",
            collapsed=True,
        ),
    ]
    return [p for p in parts if p.text or p.figures or p.tables or p.folded]


def tables_of(one: LoadedRun, summary: RunSummary | None) -> list[Table]:
    """Every table of a run: what .csv, .json, .md and .tex hold."""
    if summary is None:
        return [] if one.record is None else [tables.settings_table(one.record.to_dict())]
    run, cells = summary.run, summary.cells
    return [
        tables.cells_table(cells),
        tables.groups_table(run),
        *_some(tables.distances_table(run) if figures.measured_from_mean(run) else None),
        tables.contexts_table(cells),
        *_some(tables.factors_table(run)),
        tables.flags_table(run),
        tables.settings_table(run.record.to_dict()),
    ]


def outermost(run: Run) -> list[str]:
    """The groups that lean furthest in each direction, to compare with all of them."""
    mean = run.risks.mean_stereotype[:, 0]
    order = [run.risks.groups[x] for x in np.argsort(mean, kind="stable") if not np.isnan(mean[x])]
    return [order[-1], order[0]] if len(order) > 2 else []


def section_key(number: int, one: LoadedRun) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in one.name.lower())
    return f"run{number + 1}-{plain.strip('-')[:40] or 'model'}"


def _some(*each: T | None) -> tuple[T, ...]:
    """Those that there are."""
    return tuple(one for one in each if one is not None)
