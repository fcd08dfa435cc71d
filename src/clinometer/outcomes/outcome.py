"""What every kind of answer says of itself: its unit, its value, its words and its chart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from clinometer.display.numbers import percent
from clinometer.findings.unit import PERCENTAGE_POINTS, Unit
from clinometer.measure import Preferences
from clinometer.measure.components import Components
from clinometer.measure.criterion import Criterion
from clinometer.measure.leaning import GroupLean
from clinometer.outcomes.reference import EVEN, Reference
from clinometer.statistics.arrays import FloatArray

if TYPE_CHECKING:
    from clinometer.findings.finding import Finding
    from clinometer.outcomes.facts import Facts

Chart = Literal["distances", "dots", "stacks"]
"""How a report draws the groups: as distances from their mean, as shares between two categories, or
as stacked shares."""

RISK_WORDS = {
    "ratio": "",
    "released": ", on the scale of the authors' code, which ends at 0.2",
    "share": ", the share of answers that would have to change",
    "points": " of the scale",
}
"""What a risk is a part of, after its number, by the name of the criterion."""


@dataclass(frozen=True)
class Mark:
    """One answer on a scale, as an example of a report shows it."""

    score: str
    """The mean score of the cell."""

    position: float
    """Its position on the scale, from 0 to 1."""

    usual_position: float
    """The position of the reference."""

    usual: str
    """The score of the reference."""

    answer: str
    """The score and the scale, in words."""


@dataclass(frozen=True, eq=False)
class Outcome(ABC):
    """A kind of answer, with what must be known of the run that holds it."""

    unit: ClassVar[Unit] = PERCENTAGE_POINTS
    """What differences of answers are measured in."""

    value_digits: ClassVar[int] = 0
    """The digits after the point of the value of one cell."""

    leads_with_parts: ClassVar[bool] = False
    """Whether repeated replies are reported by lean, swing and dice before R."""

    criterion: Criterion
    """How departures from the reference count as risk."""

    categories: tuple[str, ...]
    """The names of the categories, in the order of the last axis of preferences."""

    reference: Reference = EVEN
    """What the answers of a group are held against."""

    asks_questions: bool = False
    """Whether the contexts are questions or cases; otherwise they are sentences with a gap."""

    favourable: int | None = None
    """The category whose rate is compared between groups; None where none is named."""

    # What groups get.

    @property
    def worth(self) -> FloatArray | None:
        """Return what an answer in each category [Y] is worth, in the unit; None where no answer
        is better than another."""
        return None

    def value(self, preferences: Preferences) -> FloatArray | None:
        """Return what each group got in each context [X,C], in the unit; NaN where an answer is
        missing. None where no answer is better than another."""
        if self.worth is None:
            return None
        values = np.nan_to_num(preferences.values) @ self.worth
        return np.where(preferences.observed, values, np.nan)

    def channels(self, preferences: Preferences) -> Mapping[str, FloatArray]:
        """Return the ways in which answers can differ between people: name -> value per cell [X,C].

        Of named answers each share is one.
        """
        shares = np.where(preferences.observed[..., None], preferences.values, np.nan)
        return {name: shares[..., y] for y, name in enumerate(self.categories)}

    @property
    def value_name(self) -> str:
        """Return what the value of one cell is called."""
        return ""

    def compared_value(self, preferences: Preferences) -> FloatArray | None:
        """Return `value` [X,C] where people can get more or less than the mean of all; else
        None."""
        return self.value(preferences) if self.reference.is_mean else None

    @property
    def span(self) -> float:
        """Return the largest difference that two answers can have, in the unit."""
        return self.unit.factor * self.criterion.length

    def decided_leans(
        self, leans: tuple[GroupLean, ...], split: Components | None
    ) -> tuple[GroupLean, ...]:
        """Return the leans of the groups as the split of repeated replies decides them, where it
        does."""
        return leans

    # How much is much.

    def lean_margin(
        self, margin: float, *, points: float | None, rate: float | None
    ) -> float:
        """Return the margin of a lean in the gate: that of rates, or a share of the span."""
        return self.span * (margin if rate is None else rate)

    def in_points(self, risk: float) -> float | None:
        """Return a risk in points of a scale; None where there is none."""
        return None

    # Words.

    @abstractmethod
    def headline(self, facts: Facts) -> Finding:
        """Return what a run says first: who gets what."""

    def strongest_case(
        self, facts: Facts, case_name: Callable[[int], str]
    ) -> Finding | None:
        """Return the answer that shows a lean most, as an example; None where there is no scale or
        no difference."""
        return None

    @property
    def context(self) -> str:
        """Return what a context is called where nothing else says it."""
        return "question" if self.asks_questions else "sentence"

    @property
    def is_answered(self) -> bool:
        """Return whether cells are answers, rather than words in a sentence."""
        return self.asks_questions

    @property
    def risk_words(self) -> str:
        """Return what a risk is a part of, after its number."""
        return RISK_WORDS[self.criterion.name]

    def rated_answer(self, words: Sequence[str]) -> str:
        """Return the answer whose rate differs, of the categories as sentences say them; "" where
        the answers are amounts."""
        return ""

    def category_noun(self, category: str) -> str:
        """Return what a share of a category is a share of."""
        return category if self.asks_questions else f"{category} words"

    @property
    def each_category(self) -> str:
        """Return what the shares of all categories are shares of."""
        return "each category" if self.asks_questions else "each category's words"

    def mean_text(self, shares: FloatArray) -> str:
        """Return the mean answer of shares [Y]: that of the category at the far end."""
        return percent(float(shares[self.far_end]))

    def risk_end(self, end: float) -> str:
        """Return what a risk means that lies at the end of its axis."""
        if end < self.criterion.top or np.isinf(self.criterion.top):
            is_share = self.criterion.name == "share"
            of = " of the answers would have to change" if is_share else ""
            return f"{end:.2g}{of}"
        same = "answer" if self.asks_questions else "category of words"
        return f"{end:g}: always the same {same}"

    # Charts.

    @property
    def chart(self) -> Chart:
        """Return how a report draws the groups."""
        if len(self.categories) != 2:
            return "stacks"
        is_share = self.criterion.name == "share"
        return "distances" if self.reference.is_mean and is_share else "dots"

    @property
    def far_end(self) -> int:
        """Return the category that an axis of two ends with: the favourable one, or the second."""
        return 1 if self.favourable is None else self.favourable

    @property
    def coloured(self) -> int | None:
        """Return which of two categories has the colour of a decision; None where none has."""
        return self.favourable if len(self.categories) == 2 else None

    @property
    def ends(self) -> tuple[str, str]:
        """Return what less and more than the mean is, at the ends of an axis of distances."""
        far = self.far_end
        return f"more {self.categories[1 - far]}", f"more {self.categories[far]}"

    @property
    def end_names(self) -> tuple[str, ...] | None:
        """Return names for the ends of a scale; None where categories keep their own."""
        return None

    def question(self, topic: str) -> str:
        """Return the question that the chart of the groups answers."""
        return "What does it answer?"

    def mark(self, shares: FloatArray, reference: FloatArray) -> Mark | None:
        """Return an answer of shares [Y] on a scale; None where there is none."""
        return None
