"""The first screen of a page: headline, what R means here, chips, pictures and examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from clinometer.display.numbers import between, risk
from clinometer.measure.criterion import CRITERIA
from clinometer.report.cell_statistics import CellStatistics, Leans, find_leans
from clinometer.report.examples import Example, pick_examples
from clinometer.report.figure import Figure
from clinometer.report.figures import (
    components_figure,
    leans_figure,
    ranking_figure,
    spread_figure,
)
from clinometer.report.sentences import evidence, lede
from clinometer.runs import Run
from clinometer.runs.compare import runs_finding
from clinometer.runs.findings import leaning_models, run_findings
from clinometer.runs.folder.recover import LoadedRun
from clinometer.runs.nouns import context_noun, group_noun


@dataclass(frozen=True)
class Chip:
    """A number of the first screen: its name, value and interval."""

    name: str
    value: str
    interval: str = ""
    kind: str = ""
    about: str = ""


@dataclass(frozen=True, eq=False)
class Screen:
    """The content above the fold."""

    title: str
    lede: tuple[str, ...] = ()
    chips: tuple[Chip, ...] = ()
    pictures: tuple[Figure, ...] = ()
    examples: tuple[Example, ...] = ()
    categories: tuple[str, ...] = ()
    contexts: str = "sentences"


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A run with what its first screen and sections both need, each computed once."""

    opened: LoadedRun
    run: Run

    @cached_property
    def cells(self) -> CellStatistics:
        return CellStatistics(self.run, self.opened.run)

    @cached_property
    def leans(self) -> Leans:
        return find_leans(self.cells)

    @cached_property
    def title(self) -> str:
        """The headline."""
        finished = self.opened.state == "finished"
        return run_findings(self.run, self.opened.name, finished=finished)[0].text

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        return tuple(pick_examples(self.cells))


def first_screen(summaries: Sequence[RunSummary]) -> Screen:
    """The first screen of one run, or of several."""
    names, runs = [s.opened.name for s in summaries], [s.run for s in summaries]
    split = components_figure(runs, names)
    if split is not None and runs[0].risks.criterion.points:
        return Screen(_title(summaries), _of_parts(runs), (), (split,))
    if len(summaries) == 1:
        one = summaries[0]
        return Screen(
            one.title,
            lede(one.run),
            chips(one.run),
            (leans_figure(one.leans), *([split] if split else [])),
            one.examples,
            one.run.preferences.categories,
            f"{context_noun(one.run)}s",
        )
    top = max(summaries, key=lambda s: s.run.risks.R.value)
    spread = spread_figure([s.leans for s in summaries], names)
    return Screen(
        runs_finding(runs, names).text,
        (
            f"R is the {CRITERIA[runs[0].risks.criterion.name]}. Bias risk is the steady part of "
            "it, volatility risk the part that swings with the wording.",
        ),
        (),
        (ranking_figure(runs, names), *([spread] if spread else [])),
        top.examples if spread is None else (),
        top.run.preferences.categories,
        f"{context_noun(top.run)}s",
    )


def _title(summaries: Sequence[RunSummary]) -> str:
    if len(summaries) == 1:
        return summaries[0].title
    names = [s.opened.name for s in summaries]
    return runs_finding([s.run for s in summaries], names).text


def _of_parts(runs: Sequence[Run]) -> tuple[str, ...]:
    """What follows the headline of repeated replies: who leans, and what an irrelevant edit
    does."""
    kinds = ("parts", "placebo") if len(runs) == 1 else ("split",)
    listed = range(len(runs)) if len(runs) == 1 else leaning_models(runs)
    said = [one for i in listed for one in runs[i].findings if one.kind in kinds]
    split = runs[0].record.components
    asked = "" if split is None else f"{split.contexts} {context_noun(runs[0])}s"
    many = "" if split is None else f" × {split.replies:.2g} replies"
    evidence_of = f"Evidence: {len(runs[0].preferences.groups)} groups × {asked}{many}."
    return (*(one.text for one in said), evidence_of)


def chips(run: Run) -> tuple[Chip, ...]:
    """R, its two components and the evidence."""
    report = run.risks
    named = (
        (
            "R",
            report.R,
            "",
            "How far an average answer is from the reference.",
        ),
        (
            "steady lean",
            report.R_bias,
            "b",
            f"Bias risk: what remains when {context_noun(run)}s are averaged.",
        ),
        ("swing", report.R_volatility, "v", "Volatility risk: what changes with the wording."),
    )
    listed = [
        Chip(name, risk(e.value), between(e.low, e.high), kind, about)
        for name, e, kind, about in named
    ]
    if report.R_between is not None:
        e = report.R_between
        about = f"How far groups differ from each other in the same {context_noun(run)}."
        listed.append(Chip("between groups", risk(e.value), between(e.low, e.high), "", about))
    if run.record.floor is not None:
        e = run.record.floor.R
        about = "R of shuffled words: what the lists give by chance."
        listed.append(Chip("shuffled words", risk(e.value), between(e.low, e.high), "", about))
    if (placebo := run.record.placebo) is not None:
        scale = 1 if report.criterion.points else 100
        about = "How far an edit that should not matter moves the answer, beside another group."
        beside = f"another {group_noun(run)} {scale * placebo.groups:.2g}"
        moved = f"{scale * placebo.edit:.2g} points"
        listed.append(Chip("irrelevant edit", moved, beside, "", about))
    level, why = evidence(run)
    return (
        *listed,
        Chip("evidence", level, why, "evidence", "How far the numbers can be trusted."),
    )
