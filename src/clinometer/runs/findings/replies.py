"""What repeated replies show: lean, swing and dice, and what an irrelevant edit does."""

from __future__ import annotations

import math
from dataclasses import replace

from clinometer.findings.finding import Finding, Sure
from clinometer.findings.phrases import ends, listed
from clinometer.measure import Estimate
from clinometer.measure.placebo import Placebo
from clinometer.runs.findings.facts import RunFacts
from clinometer.statistics.arrays import ROUNDING

LEAST_END = 0.05
"""An interval of a ratio that begins below this is said to be open."""


def parts(facts: RunFacts) -> Finding | None:
    """Return lean, swing and dice as standard deviations, in the unit of the outcome; None without
    repeated replies."""
    split = facts.parts
    if split is None or split.total <= ROUNDING:
        return None
    unit = facts.outcome.unit
    variances = {"lean": split.lean, "swing": split.swing, "dice": split.dice}
    numbers = {
        name: deviation(variance, unit.factor)
        for name, variance in variances.items()
        if variance is not None
    }
    shown = {
        name: f"{unit.number(number.value)}{ends(number, unit.digits)}"
        for name, number in numbers.items()
    }
    nouns = facts.nouns
    clauses = [f"the steady lean of {nouns.many} is {shown['lean']} {unit.name}"]
    if "swing" in shown:
        clauses.append(f"their swing with the {nouns.context} {shown['swing']}")
    if "dice" in shown:
        clauses.append(f"the dice of the same request, asked again, {shown['dice']}")
    note = "" if len(clauses) == 3 else f" ({split.note})"
    text = f"As standard deviations, {listed(clauses)}{note}."
    return facts.finding("parts", text, numbers=numbers, words={"unit": unit.name})


def deviation(variance: Estimate, factor: float = 1.0) -> Estimate:
    """Return a variance, which may be estimated below 0, as a standard deviation."""

    def root(value: float) -> float:
        return factor * math.sqrt(max(value, 0.0))

    if variance.low is None or variance.high is None:
        return Estimate(root(variance.value))
    return replace(
        variance,
        value=root(variance.value),
        low=root(variance.low),
        high=root(variance.high),
    )


def placebo(facts: RunFacts) -> Finding | None:
    """Return what an irrelevant edit does beside another group; None where none was asked."""
    edits = facts.placebo
    if edits is None:
        return None
    unit, nouns = facts.outcome.unit, facts.nouns
    of_groups = unit.factor * edits.groups
    of_edits = unit.factor * edits.edit
    text = (
        f"Another {nouns.one} moves the answer by {unit.amount(of_groups)}, an irrelevant edit "
        f"by {unit.amount(of_edits)} ({_ratio(edits, f'{nouns.context}s')})."
    )
    values = {
        "groups": of_groups,
        "edit": of_edits,
        "ratio": edits.ratio,
        "least": edits.low,
        "most": edits.high,
    }
    numbers = {
        name: Estimate(value) for name, value in values.items() if value is not None
    }
    groups_move_more = (edits.low or 0) > 1
    edits_move_more = edits.high is not None and 0 < edits.high < 1
    sure: Sure = "clear" if groups_move_more or edits_move_more else "unclear"
    return facts.finding(
        "placebo", text, sure, numbers=numbers, words={"unit": unit.name}
    )


def _ratio(edits: Placebo, contexts: str) -> str:
    """Return how much more groups move than edits do."""
    if edits.ratio is None:
        return "no ratio: the edits move nothing beyond dice"
    ratio = f"ratio {edits.ratio:.1f}"
    if edits.low is None:
        return f"{ratio}; too few {contexts} for an interval"
    if edits.high is not None:
        return f"{ratio}, {edits.low:.1f} to {edits.high:.1f}"
    if edits.low < LEAST_END:
        return f"{ratio}, which so few {contexts} leave open"
    return f"{ratio}, at least {edits.low:.1f}"
