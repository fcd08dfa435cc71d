"""What kinds of people get, and whether names or descriptions move an answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from clinometer.findings.finding import UNDECIDED, Finding, Sure
from clinometer.findings.phrases import NAMED, capital, listed, ruled_out
from clinometer.measure import Estimate
from clinometer.runs.departures import is_clear, joint
from clinometer.runs.findings.facts import RunFacts
from clinometer.runs.kinds import kinds_shown

if TYPE_CHECKING:
    from clinometer.runs.run import Run


def kinds_of_people(facts: RunFacts) -> Finding | None:
    """Return what people who have something in common get more or less than the average; None where
    the list of people says nothing about them."""
    if not facts.kinds or facts.too_few:
        return None
    unit = facts.outcome.unit
    answer = facts.outcome.rated_answer(facts.words)
    clear = {
        name: lean
        for name, lean in facts.kinds.items()
        if facts.exact or is_clear(lean)
    }
    order = sorted(clear, key=lambda name: -abs(clear[name].value))
    groups = {name: clear[name] for name in order[: 2 * NAMED]}
    numbers = ruled_out(facts.kinds.values())
    if groups:
        often = " often" if answer else ""
        verb = f"answers {answer}" if answer else "gives"
        amounts = [
            f"{unit.more_or_less(lean, often)} for {name}"
            for name, lean in groups.items()
        ]
        text = f"{facts.who} {verb} {listed(amounts)} than on average."
    else:
        ruled = ""
        if "ruled out" in numbers:
            largest = unit.amount(numbers["ruled out"].value)
            ruled = f"; more than {largest} is ruled out"
        columns = listed(facts.columns)
        text = f"No kind of people ({columns}) clearly gets another answer{ruled}."
    words = {"unit": unit.name}
    if answer:
        words["answer"] = answer
    return facts.finding(
        "kinds",
        text,
        _sure(facts, clear),
        tally={"clear": len(clear), UNDECIDED: len(facts.kinds) - len(clear)},
        groups=groups,
        numbers=numbers,
        words=words,
    )


def shown(run: Run, facts: RunFacts) -> Finding | None:
    """Return whether names or descriptions move the answer: each kind of groups measured from its
    mean, so that how a person is shown is no difference itself. None where there is only one
    kind."""
    worth = facts.outcome.worth
    if worth is None or not facts.relative or facts.too_few or facts.alike:
        return None
    kinds = kinds_shown(run)
    if len(kinds) < 2:
        return None
    unit, settings = facts.outcome.unit, run.record.settings
    level = joint(settings.level, len(kinds))
    tally, numbers = {}, {}
    for kind, preferences in kinds.items():
        leans = preferences.leans(
            level=level, clusters=settings.clusters, known=facts.exact
        )
        means = preferences.grid.mean(preferences.values) @ worth
        tally[f"{kind}s"] = sum(lean.category is not None for lean in leans)
        numbers[f"{kind}s"] = Estimate(float(np.ptp(means)))
    moving = [kind for kind, n in tally.items() if n]
    clear_of_all = {facts.preferences.groups[x] for x in facts.clear}
    still = []
    for kind, preferences in kinds.items():
        # What is said of a kind must not deny what is said of a group in it.
        if not tally[f"{kind}s"] and clear_of_all.isdisjoint(preferences.groups):
            still.append(f"{kind}s")
    if not moving and not still:
        return None
    differences = [
        f"{unit.amount(number.value)} among {kind}" for kind, number in numbers.items()
    ]
    verdict = capital(_what_moves(moving, still))
    return facts.finding(
        "shown",
        f"{verdict}: it differs by {listed(differences)}.",
        _sure(facts, moving),
        tally=tally,
        numbers=numbers,
        words={"unit": unit.name},
    )


def _what_moves(moving: list[str], still: list[str]) -> str:
    """Return which kinds move the answer and which do not."""
    if moving and still:
        return f"{listed(moving)} move the answer, {listed(still)} do not clearly"
    if moving:
        every = "both" if len(moving) == 2 else "all"
        return f"{listed(moving)} {every} move the answer"
    if len(still) == 1:
        return f"{still[0]} do not clearly move the answer"
    return f"neither {listed(still, 'nor')} clearly move the answer"


def _sure(facts: RunFacts, clear: Collection[str]) -> Sure:
    if facts.exact:
        return "exact"
    return "clear" if clear else "unclear"
