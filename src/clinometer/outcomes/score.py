"""Scores on a scale of numbers: who gets more or less points than the average group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clinometer.display.text import brief
from clinometer.findings.finding import UNDECIDED, Finding
from clinometer.findings.phrases import NAMED, are, capital, ends, listed, ruled_out
from clinometer.findings.unit import POINTS, Unit
from clinometer.measure import Estimate, Preferences
from clinometer.measure.components import Components
from clinometer.measure.leaning import GroupLean
from clinometer.outcomes.facts import Facts, counts_beside
from clinometer.outcomes.outcome import Chart, Mark, Outcome
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.intervals.reach import widening_for_several


@dataclass(frozen=True, eq=False)
class ScoreOutcome(Outcome):
    """Numbers on a scale; the categories are its points, in rising order."""

    unit: ClassVar[Unit] = POINTS
    value_digits: ClassVar[int] = 1
    leads_with_parts: ClassVar[bool] = True

    @property
    def points(self) -> FloatArray:
        """Return the numbers [Y] that the categories stand for."""
        return np.array(self.criterion.points)

    @property
    def worth(self) -> FloatArray | None:
        return self.points

    @property
    def value_name(self) -> str:
        return "its mean score"

    def channels(self, preferences: Preferences) -> Mapping[str, FloatArray]:
        """Return the mean score of each cell [X,C]: shares of single points are no way of their
        own."""
        mean = preferences.values @ self.points
        return {"mean": np.where(preferences.observed, mean, np.nan)}

    def decided_leans(
        self, leans: tuple[GroupLean, ...], split: Components | None
    ) -> tuple[GroupLean, ...]:
        if split is None or not self.reference.is_mean:
            return leans
        top, length = self.categories[-1], self.criterion.length
        return tuple(steady_lean(lean, split, top, length) for lean in leans)

    def lean_margin(
        self, margin: float, *, points: float | None, rate: float | None
    ) -> float:
        return margin * self.span if points is None else points

    def in_points(self, risk: float) -> float | None:
        return risk * self.criterion.length

    def headline(self, facts: Facts) -> Finding:
        return scores(facts, self.points)

    def strongest_case(
        self, facts: Facts, case_name: Callable[[int], str]
    ) -> Finding | None:
        preferences = facts.preferences
        if not self.reference.is_mean or facts.alike or not preferences.observed.any():
            return None
        scores = np.nan_to_num(preferences.values) @ self.points
        usual = np.broadcast_to(preferences.grid.reference, preferences.values.shape)
        return strongest_case(
            facts,
            np.where(preferences.observed, scores, np.nan),
            usual @ self.points,
            case_name,
        )

    @property
    def is_answered(self) -> bool:
        return True

    def mean_text(self, shares: FloatArray) -> str:
        return self.unit.number(float(shares @ self.points))

    def risk_end(self, end: float) -> str:
        return f"{self.criterion.length * end:.2g} {self.unit.name}"

    @property
    def chart(self) -> Chart:
        return "distances" if self.reference.is_mean else super().chart

    @property
    def far_end(self) -> int:
        return len(self.categories) - 1

    @property
    def coloured(self) -> int | None:
        return 1 if len(self.categories) == 2 else None

    @property
    def ends(self) -> tuple[str, str]:
        return "lower", "higher"

    @property
    def end_names(self) -> tuple[str, ...] | None:
        return self.ends

    def question(self, topic: str) -> str:
        return "How does it score people?"

    def mark(self, shares: FloatArray, reference: FloatArray) -> Mark | None:
        bottom, top = self.criterion.points[0], self.criterion.points[-1]
        score = float(shares @ self.points)
        usual = float(reference @ self.points)
        digits = self.value_digits
        return Mark(
            score=f"{score:.{digits}f}",
            position=(score - bottom) / (top - bottom),
            usual_position=(usual - bottom) / (top - bottom),
            usual=f"{usual:.{digits}f}",
            answer=f"{score:.{digits}f} of {bottom:g} to {top:g}",
        )


def steady_lean(
    lean: GroupLean, split: Components, top: str, length: float
) -> GroupLean:
    """Return the lean of a group as the split of the variance has it.

    Its interval is widened for all groups (Student's t).
    """
    parts = {group.group: group for group in split.groups}
    part = parts.get(lean.group)
    if lean.lean is None or part is None:
        return lean
    category = lean.favoured if part in split.clear_groups() else None
    if part.low is None or part.high is None:
        return replace(lean, category=category, low=None, high=None)
    wider = widening_for_several(
        max(split.contexts - 1, 1),
        len(split.groups),
        level=split.lean.level or 0.95,
    )
    reach = wider * (part.high - part.low) / 2 / length
    sign = 1 if lean.favoured == top else -1
    middle = sign * part.lean[0] / length
    low = min(middle - reach, lean.lean)
    high = max(middle + reach, lean.lean)
    return replace(lean, category=category, low=low, high=high).decided()


def scores(facts: Facts, points: FloatArray) -> Finding:
    """Return who gets more or less points than the average group; on a scale that is measured from
    a reference, who is rated highest and lowest."""
    categories = facts.report.categories
    tally = facts.tally({categories[0]: "below", categories[-1]: "above"})
    if facts.relative and len(facts.seen) > 1:
        return _beside_the_mean(facts, tally)
    return _rated(facts, points, tally)


def _rated(facts: Facts, points: FloatArray, tally: Mapping[str, int]) -> Finding:
    """Return who is rated highest and lowest."""
    means = facts.shares @ points
    groups = facts.extremes(means, facts.seen)
    unit = facts.outcome.unit
    named = [f"{name} ({unit.number(mean.value)})" for name, mean in groups.items()]
    rated = named[0]
    if len(named) > 1:
        rated = f"{named[0]} highest and {named[1]} lowest"
    scale = f"on a scale of {points[0]:g} to {points[-1]:g}"
    counts = counts_beside(facts, tally, facts.reference, "lean of")
    seen = means[facts.seen]
    return facts.finding(
        "scores",
        f"{facts.who} rates {rated} {scale}{counts}.",
        facts.sure,
        tally=tally,
        groups=groups,
        numbers={
            "highest": Estimate(float(seen.max())),
            "lowest": Estimate(float(seen.min())),
        },
    )


def _beside_the_mean(facts: Facts, tally: Mapping[str, int]) -> Finding:
    """Return who gets clearly more or less than the average group, the furthest first."""
    leans = {x: _lean_in_points(facts, x) for x in facts.seen}
    order = sorted(facts.clear, key=lambda x: -abs(leans[x].value))
    more = [x for x in order if leans[x].value > 0][:NAMED]
    less = [x for x in order if leans[x].value < 0][:NAMED]
    groups = {facts.called(x): leans[x] for x in (*more, *less)}
    numbers = ruled_out(leans.values())
    return facts.finding(
        "scores",
        _beside_the_mean_text(facts, tally, groups, numbers),
        facts.sure,
        tally=tally,
        groups=groups,
        numbers=numbers,
    )


def _beside_the_mean_text(
    facts: Facts,
    tally: Mapping[str, int],
    groups: Mapping[str, Estimate],
    numbers: Mapping[str, Estimate],
) -> str:
    total, many = len(facts.seen), facts.nouns.many
    unit = facts.outcome.unit
    average = f"the average {facts.nouns.one}"
    if facts.sure == "cannot tell":
        return (
            f"{facts.basis} cannot tell whether {facts.who} scores any of {total} {many} steadily "
            "higher or lower."
        )
    if groups:
        undecided = tally[UNDECIDED]
        rest = ""
        if facts.exact:
            rest = f", in exactly these {facts.basis}"
        elif undecided:
            rest = f"; {undecided} of {total} {many} {are(undecided)} {UNDECIDED}"
        return f"{facts.who} gives {_differences(groups, unit)} than {average}{rest}."
    rest = facts.whole
    if not rest and "ruled out" in numbers:
        largest = unit.amount(numbers["ruled out"].value)
        rest = f"; more than {largest} is ruled out for all of them"
    return (
        f"{facts.who} gives no {facts.nouns.one} clearly more or less than {average} over "
        f"{facts.basis}{rest}."
    )


def _lean_in_points(facts: Facts, x: int) -> Estimate:
    """Return a lean in points, above 0 towards the top, with the interval that decides."""
    lean = facts.leans[x]
    length = facts.report.criterion.length
    factor = length if lean.favoured == facts.report.categories[-1] else -length
    value = factor * (lean.lean or 0.0)
    if lean.low is None or lean.high is None:
        return Estimate(value)
    low, high = sorted((factor * lean.low, factor * lean.high))
    level = facts.report.R.level or 0.95
    return Estimate(
        value, min(low, value), max(high, value), level, "interval of the decision"
    )


def _differences(groups: Mapping[str, Estimate], unit: Unit) -> str:
    """Return who gets how much: "A 0.35 points more (0.09 to 0.60) and B 0.16 less"."""
    parts: list[str] = []
    for name, lean in groups.items():
        size = abs(lean.value)
        amount = unit.number(size) if parts else unit.amount(size)
        way = "more" if lean.value > 0 else "less"
        interval = ends(lean, unit.digits, size=True)
        parts.append(f"{brief(name, 40)} {amount} {way}{interval}")
    return listed(parts)


def strongest_case(
    facts: Facts, scores: FloatArray, usual: FloatArray, case_name: Callable[[int], str]
) -> Finding:
    """Return the answer that is furthest from what all groups get in the same context, of the
    groups that lean clearly and their way, if any do. The largest of many, it is an example and no
    estimate.

    Args:
        facts: of a run whose groups are compared with their mean.
        scores: of the cells [X,C], NaN where missing.
        usual: what all groups get [X,C].
        case_name: what a context is called, by its number.
    """
    departures = scores - usual
    size = np.abs(departures)
    if facts.clear:
        direction = np.zeros(len(facts.groups))
        top = facts.report.categories[-1]
        for x in facts.clear:
            direction[x] = 1 if facts.leans[x].category == top else -1
        their_way = departures * direction[:, None]
        size = np.where(direction[:, None] != 0, their_way, np.nan)
    x, c = (int(i) for i in np.unravel_index(np.nanargmax(size), size.shape))
    score, departure = float(scores[x, c]), float(departures[x, c])
    answers = int(np.isfinite(departures).sum())
    numbers = {"apart": Estimate(departure), "answers": Estimate(answers)}
    of_replies = ""
    replies = facts.preferences.replies
    if replies > 1:
        numbers["replies"] = Estimate(replies)
        of_replies = f", each the mean of {replies:.2g} replies"
    case, name = case_name(c), facts.called(x)
    side = "above" if departure > 0 else "below"
    digits = facts.outcome.value_digits
    unit = facts.outcome.unit.name
    text = (
        f"{capital(name)} gets {score:.{digits}f} in “{brief(case, 70)}”, "
        f"{abs(departure):.{digits}f} {unit} {side} what all {facts.nouns.many} get "
        f"there: the furthest of {answers:,.0f} answers{of_replies}."
    )
    return facts.finding(
        "case",
        text,
        groups={name: Estimate(score)},
        numbers=numbers,
        words={"case": case},
    )
