"""Named answers to questions: who gets the favourable one how often, if one is favourable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.display.numbers import percent
from clinometer.display.text import brief
from clinometer.findings.finding import Finding
from clinometer.findings.phrases import listed
from clinometer.measure import Estimate
from clinometer.outcomes.facts import Facts, counts_beside
from clinometer.outcomes.outcome import Outcome
from clinometer.outcomes.words import leans
from clinometer.statistics.arrays import FloatArray

AVERAGE = "on average"
"""What stands in a headline for the side of the mean on which no group is clear."""

MANY_UNDECIDED = 0.1
"""Above this share of answers that fit no category, rates are said to be of the others."""


@dataclass(frozen=True, eq=False)
class DecisionOutcome(Outcome):
    """Rates of named answers."""

    @property
    def worth(self) -> FloatArray | None:
        if self.favourable is None:
            return None
        worth = np.zeros(len(self.categories))
        worth[self.favourable] = self.unit.factor
        return worth

    @property
    def value_name(self) -> str:
        if self.favourable is None:
            return ""
        answer = brief(self.categories[self.favourable], 20)
        return f"the share of “{answer}” in per cent"

    def rated_answer(self, words: Sequence[str]) -> str:
        return "" if self.favourable is None else words[self.favourable]

    def headline(self, facts: Facts) -> Finding:
        if self.favourable is None:
            return leans(facts)
        return rates(facts, self.favourable)


def rates(facts: Facts, favourable: int) -> Finding:
    """Return who gets the favourable answer most and least often."""
    rate = facts.shares[:, favourable]
    weights = facts.report.group_weights[facts.seen]
    mean = float(weights @ rate[facts.seen] / weights.sum())
    from_mean = len(facts.words) == 2 and facts.relative
    tally = facts.tally(_sides(facts, favourable, from_mean=from_mean))
    shown = _extremes(facts, rate, mean, from_mean=from_mean)
    apart = float(np.ptp([number.value for number in shown.values()]))
    numbers = {"apart": Estimate(apart), "mean": Estimate(mean)}
    if facts.other > MANY_UNDECIDED:
        numbers["decided"] = Estimate(1 - facts.other)
    counts = counts_beside(
        facts,
        tally,
        mean=f"the mean ({100 * mean:.0f} %)" if from_mean else facts.reference,
        lean="difference between" if facts.relative else "lean of",
    )
    answer = facts.words[favourable]
    return facts.finding(
        "rates",
        f"{_rates_text(facts, answer, shown, apart)}{counts}.",
        facts.sure,
        tally=tally,
        groups={name: number for name, number in shown.items() if name != AVERAGE},
        numbers=numbers,
        words={"answer": answer},
    )


def _sides(facts: Facts, favourable: int, *, from_mean: bool) -> dict[str, str]:
    """Return on which side of the mean a group is that leans to a category."""
    categories = facts.report.categories
    if not from_mean:
        return dict.fromkeys(categories, "away from")
    sides = dict.fromkeys(categories, "below")
    sides[categories[favourable]] = "above"
    return sides


def _extremes(
    facts: Facts, rate: FloatArray, mean: float, *, from_mean: bool
) -> dict[str, Estimate]:
    """Return the highest and the lowest rate [X], by name.

    Where single groups are clear, only they are named: a side of the mean without a clear group is
    said by the mean.
    """
    if not (from_mean and facts.clear and facts.sure == "clear"):
        return facts.extremes(rate, facts.seen)
    extremes = facts.extremes(rate, facts.clear)
    names = list(extremes)
    highest, lowest = names[0], names[-1]
    if extremes[highest].value < mean:
        return {AVERAGE: Estimate(mean), lowest: extremes[lowest]}
    if extremes[lowest].value > mean:
        return {highest: extremes[highest], AVERAGE: Estimate(mean)}
    return extremes


def _rates_text(
    facts: Facts, answer: str, shown: Mapping[str, Estimate], apart: float
) -> str:
    """Return the sentence up to the number of groups that are clear."""
    start, cases = f"{facts.who} answers", " of cases"
    if facts.other > MANY_UNDECIDED:
        answers = listed(facts.words, "or")
        start = (
            f"Only {percent(1 - facts.other)} of the answers of {facts.who} are {answers}. "
            "Of these it says"
        )
        cases = ""
    names = [name if name == AVERAGE else f"for {name}" for name in shown]
    rates_shown = [percent(number.value) for number in shown.values()]
    highest, lowest = rates_shown[0], rates_shown[-1]
    if highest != lowest:
        points = _points(apart)
        plural = "" if points == "1" else "s"
        return (
            f"{start} {answer} in {highest}{cases} {names[0]} and in {lowest} {names[-1]}, "
            f"{points} percentage point{plural} apart"
        )
    if len(facts.seen) == 1:
        return f"{start} {answer} in {highest}{cases}"
    about = "about " if apart > 0 else ""
    return f"{start} {answer} in {about}{highest}{cases} for every group"


def _points(share: float) -> str:
    """Return a difference of shares in percentage points: whole ones from one on."""
    if 100 * share >= 0.95:
        return f"{100 * share:.0f}"
    return percent(share).removesuffix(" %")
