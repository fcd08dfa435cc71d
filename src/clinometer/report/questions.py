"""The questions of a reader about a run, each with its answer, and every table of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from clinometer.report.evidence import sentences
from clinometer.report.examples import Example, top_examples
from clinometer.report.figure import Figure
from clinometer.report.figures.distribution import distribution_figure
from clinometer.report.figures.groups import leans_figure
from clinometer.report.figures.swing import swing_figure
from clinometer.report.summary import RunSummary
from clinometer.report.tables import (
    cells_table,
    contexts_table,
    distances_table,
    factors_table,
    flags_table,
    groups_table,
    risks_table,
    settings_table,
)
from clinometer.runs import Run
from clinometer.runs.folder.recover import LoadedRun
from clinometer.runs.names import context_noun, groups_noun
from clinometer.tables import Table

T = TypeVar("T")

_HOW_TO_READ = (
    "A column of one colour is a steady lean; a column of mixed colours is swing."
)


@dataclass(frozen=True)
class Extra:
    """A part that a caller adds to a report."""

    title: str

    text: tuple[str, ...] = ()

    figures: tuple[Figure, ...] = ()

    tables: tuple[Table, ...] = ()

    first: bool = False
    """Whether it is a study of the runs, which comes first; else what they end in."""


@dataclass(frozen=True)
class PagePart(Extra):
    """One question with its answer."""

    key: str = ""

    examples: tuple[Example, ...] = ()

    folded: tuple[Table, ...] = ()
    """Tables that open on a click."""

    collapsed: bool = False
    """Whether all of it opens on a click."""


def questions(summary: RunSummary, *, alone: bool) -> list[PagePart]:
    """Return the questions of a run. Of one of several the first screen has no chart of its groups,
    and the page leaves out what only a reader of this run asks: `report` of it alone has that."""
    run = summary.run
    cells = summary.cells
    tables = {table.key: table for table in tables_of(summary.opened, summary)}
    noun = context_noun(run)
    groups = groups_noun(run)
    factors = [finding.text for finding in run.findings if finding.kind == "factors"]
    risks = (risks_table([summary.opened]),) if alone else ()
    chosen = "The answers with the largest share of R"
    by_risk: tuple[Table, ...] = ()
    if "distances" in tables:
        chosen = f"The answers furthest from what all {groups} get"
        by_risk = (*risks, tables["groups"])
        risks = ()
    parts = [
        PagePart(
            f"Which {groups}?",
            key="groups",
            figures=() if alone else (leans_figure(cells),),
            tables=(tables.get("distances", tables["groups"]),),
        ),
        PagePart(
            f"Which {noun}s?",
            (f"{chosen}, each {noun} once.",),
            key="sentences",
            examples=tuple(top_examples(cells, 8 if alone else 4)),
            folded=(tables["cells"],),
        ),
        PagePart(
            "What makes it swing?",
            (_HOW_TO_READ, *factors) if alone else tuple(factors),
            figures=without_none(swing_figure(cells)) if alone else (),
            tables=without_none(tables.get("factors")),
            key="swing",
            folded=(tables["contexts"],),
        ),
        PagePart("How sure is it?", tuple(sentences(run)), key="sure"),
        PagePart("Against what reference?", tables=risks, key="reference"),
        PagePart(
            "How was it asked?",
            key="asked",
            folded=(tables["flags"], tables["settings"]),
        ),
        PagePart(
            "For researchers",
            figures=_distribution(summary) if alone else (),
            tables=by_risk,
            key="research",
            collapsed=True,
        ),
    ]
    return [
        part
        for part in parts
        if part.text or part.figures or part.tables or part.folded
    ]


def _distribution(summary: RunSummary) -> tuple[Figure, ...]:
    """Return how answers spread in all groups and in those that lean furthest each way."""
    groups = outermost(summary.run)
    return without_none(distribution_figure(summary.cells, groups=groups))


def outermost(run: Run) -> list[str]:
    """Return the groups that lean furthest in each direction, to compare with all of them."""
    lean = run.risks.mean_stereotype[:, 0]
    order = np.argsort(lean, kind="stable").tolist()
    groups = [run.risks.groups[x] for x in order if not np.isnan(lean[x])]
    return [groups[-1], groups[0]] if len(groups) > 2 else []


def tables_of(opened: LoadedRun, summary: RunSummary | None) -> list[Table]:
    """Return every table of a run, what .csv, .json, .md and .tex hold; of one that cannot be
    measured what is stored of its settings."""
    if summary is None:
        record = opened.record
        return [] if record is None else [settings_table(record.to_dict())]
    run = summary.run
    distances = None
    if run.outcome.chart == "distances":
        distances = distances_table(run)
    return [
        cells_table(summary.cells),
        groups_table(run),
        *without_none(distances),
        contexts_table(summary.cells),
        *without_none(factors_table(run)),
        flags_table(run),
        settings_table(run.record.to_dict()),
    ]


def without_none(*values: T | None) -> tuple[T, ...]:
    """Return the values that are not None."""
    return tuple(value for value in values if value is not None)
