"""One HTML page about one or several runs: a single file, no request, everything escaped.

The first screen is followed by a section per run, in the order of a reader's questions; what the
numbers mean is said in plain words, how sure they are, and what they do not mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from clinometer.display.text import brief
from clinometer.errors import ClinometerError, SettingsError
from clinometer.report.document import asset, render_document
from clinometer.report.explorer import explorer_data
from clinometer.report.export import format_of, write_as
from clinometer.report.figure import Figure
from clinometer.report.figures.models import differences_figure
from clinometer.report.first_screen import Screen, first_screen
from clinometer.report.questions import (
    Extra,
    PagePart,
    questions,
    tables_of,
    without_none,
)
from clinometer.report.summary import RunSummary
from clinometer.report.tables import comparison_tables, parts_table, risks_table
from clinometer.runs import Run, compare
from clinometer.runs.folder.recover import LoadedRun, open_runs, require_some
from clinometer.tables import Table

Source = Run | LoadedRun | str | Path
"""A run, its folder, or a folder as `open_run` found it."""

_HELD_WORDS = 50
"""Number of the worst sentences whose words are in an interactive page."""

_MOST_COMPARED = 5
"""Maximum number of runs that a page compares in pairs; with more, the table is unreadable."""


def write_report(
    runs: Sequence[Source],
    out: str | Path,
    *,
    extras: Sequence[Extra] = (),
    interactive: bool = False,
) -> list[Path]:
    """Write a report in the format that the ending of `out` names; return the files.

    `.html` is the page; `.md`, `.tex` and `.json` are its tables in one file; `.csv` is a file for
    each table, `.svg` and `.png` are one for each chart: `x.csv` gives `x-groups.csv` and others.
    `interactive` puts the viewer's page of the run, with its data, into the page; it takes a single
    run that can be measured.
    """
    if format_of(Path(out)) != "html" and interactive:
        raise SettingsError(
            f"interactive: expected a name that ends in .html, found {out}"
        )
    report = Report.of(runs, extras=extras, interactive=interactive)
    return write_as(
        Path(out), page=report.page, tables=report.tables, figures=report.figures
    )


def render_report(
    runs: Sequence[Source], *, extras: Sequence[Extra] = (), interactive: bool = False
) -> str:
    """Return the page as text, of runs or of their folders."""
    return Report.of(runs, extras=extras, interactive=interactive).page()


def run_figure(run: Run) -> Figure:
    """Return the first figure of the page of a run."""
    return Report.of([run]).screens[0].pictures[0]


@dataclass(frozen=True, eq=False)
class Section:
    """The part of a page about one run."""

    key: str

    name: str

    notice: str = ""
    """What a reader must know of a run that is not whole."""

    parts: tuple[PagePart, ...] = ()

    categories: tuple[str, ...] = ()
    """The names of the shares of examples."""

    decides: int | None = None
    """Which of two categories has the colour of a decision."""


@dataclass(frozen=True, eq=False)
class Report:
    """A page about runs, its tables and its charts; what several of them need is made once."""

    opened: Sequence[LoadedRun]

    extras: Sequence[Extra] = ()

    interactive: bool = False

    @classmethod
    def of(cls, runs: Sequence[Source], **options: Any) -> Report:
        """Return the report on runs or their folders; nothing to show is an error."""
        opened = open_runs(
            [_loaded(source) if isinstance(source, Run) else source for source in runs]
        )
        require_some(opened)
        return cls(opened, **options)

    @cached_property
    def summaries(self) -> dict[int, RunSummary]:
        """The runs that can be measured, by index."""
        return {
            i: RunSummary(opened)
            for i, opened in enumerate(self.opened)
            if opened.run is not None
        }

    @cached_property
    def screens(self) -> list[Screen]:
        """One first screen for each set of runs that share an axis."""
        sets: dict[tuple[Any, ...], list[RunSummary]] = {}
        for summary in self.summaries.values():
            risks = summary.run.risks
            sets.setdefault((risks.categories, risks.criterion), []).append(summary)
        screens = [first_screen(summaries) for summaries in sets.values()]
        if len(screens) == 1:
            return screens
        return [
            replace(screen, pictures=tuple(_with_prefix(f"{i}-", screen.pictures)))
            for i, screen in enumerate(screens, start=1)
        ]

    @cached_property
    def compared(self) -> Extra | None:
        """Every pair of a few runs; None where they cannot be paired."""
        runs = [
            opened.run
            for opened in self.opened
            if opened.run is not None and opened.state == "finished"
        ]
        if not 2 <= len(runs) <= _MOST_COMPARED:
            return None
        try:
            comparison = compare(*runs)
        except ClinometerError:
            return None  # another topic or other contexts: shown side by side, unpaired
        return Extra(
            "The models compared",
            figures=(differences_figure(comparison),),
            tables=tuple(comparison_tables(comparison)),
        )

    @cached_property
    def sections(self) -> list[Section]:
        """A section for each run; of one that cannot be read, what is stored of its settings."""
        return [self._section(i) for i in range(len(self.opened))]

    def _section(self, i: int) -> Section:
        opened = self.opened[i]
        section = Section(section_key(i, opened), opened.name, opened.notice)
        summary = self.summaries.get(i)
        if summary is None:
            stored = tuple(tables_of(opened, None))
            part = PagePart("What is stored", tables=stored, key="stored")
            return replace(section, parts=(part,))
        return replace(
            section,
            parts=tuple(questions(summary, alone=len(self.opened) == 1)),
            categories=summary.run.preferences.categories,
            decides=summary.run.outcome.coloured,
        )

    def page(self) -> str:
        """Return the page as text."""
        runs = [summary.run for summary in self.summaries.values()]
        explorer = self._explorer() if self.interactive else ""
        scripts = [asset("page.js")]
        if explorer:
            scripts.append(asset("explorer.js"))
        topics = dict.fromkeys(opened.topic for opened in self.opened if opened.topic)
        asked = [run.outcome.asks_questions or run.preferences.counted for run in runs]
        return render_document(
            "report.html",
            css=asset("explorer.css") if explorer else "",
            scripts=scripts,
            title=self._title(),
            topic=" · ".join(topics),
            names=[opened.name for opened in self.opened],
            explorer=explorer,
            notices=[opened.notice for opened in self.opened if opened.notice],
            screens=self.screens,
            sections=self.sections,
            numbers=without_none(parts_table(self.opened), risks_table(self.opened)),
            comparison=self.compared,
            extras=self.extras,
            study=any(extra.first for extra in self.extras),
            asked=bool(runs) and all(asked),
        )

    def _title(self) -> str:
        """Return the title of the page: the headline, if its runs share an axis."""
        if len(self.screens) > 1:
            n_runs = len(self.summaries)
            return f"{n_runs} runs on {len(self.screens)} kinds of topic"
        if self.screens:
            return self.screens[0].title
        names = ", ".join(brief(opened.name, 40) for opened in self.opened)
        return f"What is left of {names}"

    def _explorer(self) -> str:
        """Return the data of the explorer, as text that cannot end the block of the page that holds
        it."""
        if len(self.opened) != 1 or not self.summaries:
            raise SettingsError(
                f"interactive: expected one run that can be measured, found {len(self.opened)} "
                f"with {len(self.summaries)} of them; write one page per run"
            )
        data = explorer_data(self.summaries[0], words=_HELD_WORDS)
        return data.replace("<", "\\u003c")

    def figures(self) -> list[Figure]:
        """Return every figure of the page, with unique keys: what .svg and .png hold."""
        figures = [figure for screen in self.screens for figure in screen.pictures]
        if self.compared is not None:
            figures += self.compared.figures
        for section in self.sections:
            prefix = f"{section.key}-" if len(self.sections) > 1 else ""
            for part in section.parts:
                figures += _with_prefix(prefix, part.figures)
        for i, extra in enumerate(self.extras, start=1):
            prefix = f"{i}-" if len(self.extras) > 1 else ""
            figures += _with_prefix(prefix, extra.figures)
        return figures

    def tables(self) -> list[Table]:
        """Return every table of the page, with unique keys: what .csv, .json, .md and .tex hold."""
        tables = [risks_table(self.opened), *without_none(parts_table(self.opened))]
        if self.compared is not None:
            tables += self.compared.tables
        for i, opened in enumerate(self.opened):
            of_run = tables_of(opened, self.summaries.get(i))
            if len(self.opened) > 1:
                prefix = section_key(i, opened)
                of_run = [
                    replace(
                        table,
                        key=f"{prefix}-{table.key}",
                        title=f"{table.title}: {opened.name}",
                    )
                    for table in of_run
                ]
            tables += of_run
        return tables


def _loaded(run: Run) -> LoadedRun:
    """Return a run as if its folder had been opened."""
    path = run.path or Path()
    return LoadedRun(path, run.model, "finished", run=run, record=run.record)


def _with_prefix(prefix: str, figures: Sequence[Figure]) -> Iterator[Figure]:
    """Return figures whose keys begin with a prefix."""
    return (replace(figure, key=prefix + figure.key) for figure in figures)


def section_key(i: int, opened: LoadedRun) -> str:
    """Return the id of the section of a run."""
    name = opened.name.lower()
    letters = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
    return f"run{i + 1}-{letters.strip('-')[:40] or 'model'}"
