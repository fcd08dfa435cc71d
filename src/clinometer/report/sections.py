"""The sections about one run below the first screen, in the order of a reader's questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clinometer.display.table import Table
from clinometer.report import run_tables
from clinometer.report.figure import Figure
from clinometer.report.figures import comparison, single_run
from clinometer.report.figures.swing import swing_figure
from clinometer.report.sentences import sentences
from clinometer.report.summary.examples import Example, top_examples
from clinometer.report.summary.pictures import ROWS, groups_picture
from clinometer.report.summary.screen import RunSummary, context_noun
from clinometer.runs import Run
from clinometer.runs.folder.recover import Opened


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


def section(one: Opened, number: int, summary: RunSummary | None) -> Section:
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


def run_tables_of(one: Opened, summary: RunSummary | None) -> list[Table]:
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


def section_key(number: int, one: Opened) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in one.name.lower())
    return f"run{number + 1}-{plain.strip('-')[:40] or 'model'}"


def with_key(figure: Figure, key: str) -> Figure:
    return replace(figure, key=key)


def _some(figures: Sequence[Figure | None]) -> tuple[Figure, ...]:
    return tuple(f for f in figures if f is not None)
