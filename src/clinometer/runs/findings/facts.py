"""What the findings of a run are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.display.text import brief, plural, proper
from clinometer.measure import Estimate, Preferences, RiskReport
from clinometer.measure.leaning import GroupLean
from clinometer.measure.placebo import Placebo
from clinometer.outcomes.choose import outcome_of
from clinometer.outcomes.facts import Facts
from clinometer.outcomes.reference import Nouns
from clinometer.runs.departures import kind_leans
from clinometer.runs.folder.record import FloorRecord
from clinometer.runs.names import (
    context_noun,
    group_name,
    group_noun,
    groups_are_occupations,
    groups_noun,
    label,
)

if TYPE_CHECKING:
    from clinometer.runs.run import Run

NO_PROBABILITY = 1e-3
"""Below this share of the probability, the words of the categories are not what a model writes."""


@dataclass(frozen=True, eq=False)
class RunFacts(Facts):
    """The facts of a headline, and what can be said beside it."""

    improbable: float = 0.0
    """The share of the cells whose words carry less than `NO_PROBABILITY`."""

    floor: FloorRecord | None = None
    """What shuffled words give."""

    placebo: Placebo | None = None
    """How far irrelevant edits move an answer."""

    kinds: Mapping[str, Estimate] | None = None
    """What kinds of people get more or less than the mean, in the unit of the outcome."""

    columns: tuple[str, ...] = ()
    """What the list of people says of each: gender, age."""


def facts_of_run(
    run: Run, name: str | None = None, *, finished: bool = True
) -> RunFacts:
    """Return the facts of a run."""
    record, settings = run.record, run.record.settings
    preferences = run.preferences
    asked = record.topic.readout is not None
    improbable = 0.0
    coverage = preferences.coverage
    if coverage is not None and not asked and preferences.observed.any():
        improbable = float((coverage[preferences.observed] < NO_PROBABILITY).mean())
    groups = [group_name(run, group) for group in run.risks.groups]
    if groups_are_occupations(run):
        groups = [plural(group) for group in groups]
    attributes = record.topic.attributes
    context = context_noun(run)
    so_far = "" if finished else " so far"
    return RunFacts(
        name=f"{name or label(run.model)}{so_far}",
        preferences=preferences,
        report=run.risks,
        leans=run.leans,
        outcome=run.outcome,
        groups=tuple(groups),
        words=tuple(
            category_text(category, attributes.get(category) or (), asked=asked)
            for category in preferences.categories
        ),
        nouns=Nouns(
            one=group_noun(run),
            many=groups_noun(run),
            context=context,
            unit=settings.clusters or context,
        ),
        units=units_of(preferences, run.risks, settings.clusters),
        exact=record.model.kind == "reference",
        split=record.components,
        other=0.0 if record.other is None else record.other.share,
        improbable=improbable,
        floor=record.floor,
        placebo=record.placebo,
        kinds=kind_leans(run),
        columns=tuple(name for name in record.topic.people if name != "shown_as"),
    )


def facts_of_table(
    name: str,
    preferences: Preferences,
    report: RiskReport,
    leans: tuple[GroupLean, ...],
    *,
    clusters: str | None = None,
) -> RunFacts:
    """Return the facts of preferences that no model was asked for here."""
    return RunFacts(
        name=name,
        preferences=preferences,
        report=report,
        leans=leans,
        outcome=outcome_of(preferences),
        groups=report.groups,
        words=preferences.categories,
        nouns=Nouns(unit=clusters or "context"),
        units=units_of(preferences, report, clusters),
    )


def units_of(preferences: Preferences, report: RiskReport, clusters: str | None) -> int:
    """Return the number of contexts, or of clusters of them, that inference rests on."""
    if clusters is None:
        return report.n_contexts
    return len(set(preferences.label(clusters)))


def category_text(category: str, words: Sequence[str], *, asked: bool) -> str:
    """Return a category as a sentence says it: its only word, or its name.

    >>> category_text("female", ("she", "her"), asked=False)
    'female words'
    >>> category_text("yes", ("Yes", "I would"), asked=True)
    '“Yes”'
    """
    if asked:
        return f"“{brief(words[0] if words else category, 24)}”"
    if len(words) == 1:
        return f"“{brief(words[0], 24)}”"
    name = proper(brief(category, 30))
    return f"{name} words" if words else name
