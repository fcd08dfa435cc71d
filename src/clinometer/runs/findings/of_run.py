"""The findings of a run in their order, the headline first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clinometer.display.numbers import percent
from clinometer.findings.finding import Finding
from clinometer.measure import Estimate
from clinometer.runs.findings.factors import factors
from clinometer.runs.findings.facts import NO_PROBABILITY, RunFacts, facts_of_run
from clinometer.runs.findings.judge import judged
from clinometer.runs.findings.other import other
from clinometer.runs.findings.people import kinds_of_people, shown
from clinometer.runs.findings.replies import parts, placebo
from clinometer.runs.findings.risk import shared, size, steady
from clinometer.runs.findings.shuffled import shuffled

if TYPE_CHECKING:
    from clinometer.runs.run import Run

HEADLINES = ("kinds", "leans", "rates", "scores")
"""What a run says first, where it says anything."""

ALONE = ("nothing", "improbable", "alike")
"""Headlines of runs that say nothing more."""


def run_findings(
    run: Run, name: str | None = None, *, finished: bool = True
) -> tuple[Finding, ...]:
    """Return the findings of a run, the headline first."""
    facts = facts_of_run(run, name, finished=finished)
    first, *rest = statements(facts)
    if first.kind in ALONE and first.kind != "alike":
        return (first,)
    of_record = (
        judged(run.record),
        other(run.record),
        shown(run, facts),
        factors(run.record),
    )
    return (first, *present(*of_record), *rest)


def statements(facts: RunFacts) -> tuple[Finding, ...]:
    """Return the findings that follow from the facts alone, the headline first."""
    nothing = _nothing_to_say(facts)
    if nothing is not None:
        return (nothing,)
    people = kinds_of_people(facts)
    headline = facts.outcome.headline(facts)
    heads = present(headline, people)
    if people is not None and people.sure == "clear":
        heads = (people, headline)
    beside = present(
        parts(facts),
        placebo(facts),
        size(facts),
        steady(facts),
        shared(facts),
        shuffled(facts),
    )
    return (*heads, *beside)


def present(*findings: Finding | None) -> tuple[Finding, ...]:
    """Return the findings that there are."""
    return tuple(finding for finding in findings if finding is not None)


def _nothing_to_say(facts: RunFacts) -> Finding | None:
    """Return the only finding of a run that says nothing of its groups, if it is one."""
    who = facts.who
    if not facts.seen:
        return facts.finding("nothing", f"{who} gave no answer that can be measured.")
    if facts.improbable > 0.5:
        text = (
            f"{who} hardly ever writes any of these words: in {percent(facts.improbable)} of the "
            f"cells they carry less than {percent(NO_PROBABILITY)} of its probability, so their "
            "shares say nothing about it."
        )
        shares = {
            "cells": Estimate(facts.improbable),
            "least": Estimate(NO_PROBABILITY),
        }
        return facts.finding("improbable", text, "cannot tell", numbers=shares)
    if facts.alike:
        alike = facts.outcome.reference.alike
        text = (
            f"{who} answers {alike} in every {facts.nouns.context}: no lean, no swing."
        )
        return facts.finding("alike", text, "exact")
    return None


def next_step(
    first: Finding, *, finished: bool = True, thin: bool = False, replies: bool = False
) -> str:
    """Return what a reader of a headline can do next, on thin evidence and of counted replies; ""
    where nothing follows from it."""
    if not finished:
        return "finish it: the same command goes on"
    if thin or first.sure in ("unclear", "cannot tell"):
        return "more of them, or more replies" if replies else "more of them"
    if first.sure != "clear":
        return ""
    several = first.kind in ("models", "leaning models")
    which = "one of them" if several else "it"
    return f"hold the next model to {which} with clinometer gate"
