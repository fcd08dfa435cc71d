"""The first screen of a page: the headline, the risk on its axis, pictures and examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clinometer.display.text import brief
from clinometer.measure.criterion import CRITERIA
from clinometer.report.chips import Strip, strip
from clinometer.report.evidence import (
    badge,
    badge_of_several,
    lede,
    next_step_text,
    replies_badge,
)
from clinometer.report.examples import Example, pick_examples
from clinometer.report.figure import Figure
from clinometer.report.figures.groups import leans_figure
from clinometer.report.figures.models import risks_figure
from clinometer.report.figures.parts import parts_figure
from clinometer.report.figures.spread import spread_figure
from clinometer.report.summary import RunSummary
from clinometer.runs.compared import runs_findings
from clinometer.runs.findings.case import strongest_case
from clinometer.runs.findings.of_models import edited_models, leaning
from clinometer.runs.names import context_noun


@dataclass(frozen=True, eq=False)
class Screen:
    """The content above the fold."""

    title: str

    lede: tuple[str, ...] = ()
    """What follows the title."""

    strip: Strip | None = None

    badge: str = ""
    """How far the numbers can be trusted."""

    pictures: tuple[Figure, ...] = ()

    examples: tuple[Example, ...] = ()

    categories: tuple[str, ...] = ()
    """The names of the shares of examples."""

    behind: str = ""
    """The heading of the examples."""

    decides: int | None = None
    """Which of two categories has the colour of a decision."""

    notes: tuple[tuple[str, str], ...] = ()
    """Headings with their texts, in the place of examples."""


def first_screen(summaries: Sequence[RunSummary]) -> Screen:
    """Return the first screen of one run, or of several: of words who leans where, of replies and
    decisions lean, swing and dice in their own unit."""
    names = [summary.opened.name for summary in summaries]
    runs = [summary.run for summary in summaries]
    parts = parts_figure(runs, names)
    if len(summaries) == 1:
        return _screen_of_one(summaries[0], parts)
    if parts is not None and runs[0].outcome.leads_with_parts:
        return _screen_of_scores(summaries, parts)
    top = max(summaries, key=lambda summary: summary.run.risks.R.value)
    spread = spread_figure([summary.cells for summary in summaries], names)
    pictures = [parts or risks_figure(runs, names)]
    if spread is not None:
        pictures.append(spread)
    first = runs_findings(runs, names)[0]
    top_name = brief(top.opened.name, 40)
    return Screen(
        title=first.text,
        lede=(top.title, f"R is the {CRITERIA[runs[0].risks.criterion.name]}."),
        badge=badge_of_several(runs, first),
        pictures=tuple(pictures),
        examples=tuple(pick_examples(top.cells)[:1]),
        categories=top.run.preferences.categories,
        behind=f"The {context_noun(top.run)} that shows it most in {top_name}",
        decides=top.run.outcome.coloured,
    )


def _screen_of_one(summary: RunSummary, parts: Figure | None) -> Screen:
    """Return the screen of a run; with repeated replies, lean, swing and dice are beside the groups
    and R is not on its axis."""
    run = summary.run
    pictures = [leans_figure(summary.cells)]
    risk_strip = None
    basis = badge(run)
    if parts is None:
        risk_strip = strip(run)
    else:
        pictures.append(parts)
        if run.outcome.leads_with_parts:
            basis = replies_badge([run])
    return Screen(
        title=summary.title,
        lede=lede(run),
        strip=risk_strip,
        badge=basis,
        pictures=tuple(pictures),
        examples=tuple(pick_examples(summary.cells)),
        categories=run.preferences.categories,
        behind=f"The {context_noun(run)}s behind it",
        decides=run.outcome.coloured,
    )


def _screen_of_scores(summaries: Sequence[RunSummary], parts: Figure) -> Screen:
    """Return the screen of repeated scores of several models: who leans, what an irrelevant edit
    does and which answer shows it, beside lean, swing and dice."""
    runs = [summary.run for summary in summaries]
    names = [summary.opened.name for summary in summaries]
    clear = leaning(runs)
    notes = []
    edited = edited_models(runs)
    if edited:
        notes.append(("What an irrelevant edit does", edited.text))
    if clear:
        top = max(clear, key=lambda i: _lean(summaries[i]))
        case = strongest_case(summaries[top].whole)
        if case:
            heading = f"Where {brief(names[top], 40)} shows it most"
            notes.append((heading, case.text))
    swap = "A clear lean in one and not in another is no difference yet: clinometer compare A B."
    notes.append(("May one replace another?", swap))
    first = runs_findings(runs, names)[0]
    return Screen(
        title=first.text,
        lede=tuple(
            finding.text
            for i in clear
            for finding in runs[i].findings
            if finding.kind == "scores"
        ),
        badge=replies_badge(runs) + next_step_text(first, replies=True),
        pictures=(parts,),
        notes=tuple(notes),
    )


def _lean(summary: RunSummary) -> float:
    """Return the steady lean of repeated replies; 0 without them."""
    components = summary.run.record.components
    return 0.0 if components is None else components.lean.value
