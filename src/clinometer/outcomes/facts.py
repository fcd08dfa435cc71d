"""What a headline is made of: the numbers of a run, with the names that sentences give them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clinometer.display.numbers import counted
from clinometer.display.text import brief, proper
from clinometer.findings.finding import UNDECIDED, Finding, Sure
from clinometer.findings.phrases import are, listed
from clinometer.measure import Estimate, Preferences, RiskReport
from clinometer.measure.components import Components
from clinometer.measure.leaning import GroupLean
from clinometer.outcomes.outcome import Outcome
from clinometer.outcomes.reference import Nouns
from clinometer.statistics.arrays import ROUNDING, FloatArray


@dataclass(frozen=True, eq=False)
class Facts:
    """The numbers of a run, and whether they can tell anything.

    How sure a headline is follows three rules, so that no two findings can contradict each other:

    - a group is on a clear side only if it is on the corrected list of `Run.leans`;
    - where no group is, it is said whether they differ on the whole, or only swing;
    - fewer units than a test needs cannot tell, however large the numbers are.
    """

    name: str
    """The model."""

    preferences: Preferences
    """What was measured."""

    report: RiskReport
    """Its risks."""

    leans: tuple[GroupLean, ...]
    """The lean of each group [X]."""

    outcome: Outcome
    """What kind of answer it is."""

    groups: tuple[str, ...]
    """The names of the groups [X], as a sentence writes them."""

    words: tuple[str, ...]
    """What a category [Y] is called in a sentence."""

    nouns: Nouns = field(default_factory=Nouns)
    """What groups and contexts are called."""

    units: int = 0
    """The number of units that inference rests on."""

    exact: bool = False
    """Whether the numbers are known and not estimated, as of a reference model."""

    split: Components | None = None
    """Lean, swing and dice of repeated replies."""

    other: float = 0.0
    """The share of the answers, or of their probability, that fits no category."""

    @property
    def who(self) -> str:
        """Return the name of the model in a sentence."""
        return brief(self.name, 40)

    @property
    def seen(self) -> list[int]:
        """Return the groups with an answer."""
        return [x for x, lean in enumerate(self.leans) if lean.favoured is not None]

    @property
    def clear(self) -> list[int]:
        """Return the groups on the corrected list of clear leans."""
        return [x for x, lean in enumerate(self.leans) if lean.category is not None]

    @property
    def shares(self) -> FloatArray:
        """Return the mean preferences [X,Y]; NaN for a missing group."""
        return self.preferences.grid.mean(self.preferences.values)

    @property
    def relative(self) -> bool:
        """Return whether groups are compared with their mean."""
        return self.outcome.reference.is_mean

    @property
    def parts(self) -> Components | None:
        """Return lean, swing and dice where groups are compared with their mean: there they say
        what R and its components say elsewhere."""
        return self.split if self.relative else None

    @property
    def too_few(self) -> bool:
        """Return whether the units cannot tell: R has no interval, or no test could list a
        group."""
        level = self.report.R.level or 0.95
        no_interval = self.report.R.low is None and not self.preferences.noisy
        no_test = 2.0 ** (1 - self.units) > 1 - level
        return (no_interval or no_test) and not self.exact and not self.clear

    @property
    def alike(self) -> bool:
        """Return whether every answer is as the reference: R of sampled answers can be 0 by chance,
        or because dice were taken out of it."""
        if self.clear or self.preferences.noisy:
            return False
        R = self.report.R
        by_equation = R.value
        if self.preferences.counted:
            by_equation = self.preferences.decompose().R.value
        return max(R.value, R.high or 0.0, by_equation) <= ROUNDING

    @property
    def sure(self) -> Sure:
        """Return how sure the headline is."""
        if self.exact:
            return "exact"
        if self.too_few:
            return "cannot tell"
        return "clear" if self.clear or self.on_the_whole else "unclear"

    @property
    def on_the_whole(self) -> bool:
        """Return whether the groups lean together, though perhaps no single one does clearly."""
        split = self.parts
        if split is not None and split.p is not None:
            return split.p <= 1 - (split.lean.level or 0.95)
        return (self.report.R.low or 0.0) > 0 and (self.report.R_bias.low or 0.0) > 0

    @property
    def whole(self) -> str:
        """Return what is to be said where no single group is clear; "" where one is."""
        if self.clear or self.exact or self.too_few:
            return ""
        if self.on_the_whole:
            return f"; the {self.nouns.many} {self.outcome.reference.verb} on the whole"
        if self.swings:
            return f"; which way changes with the {self.nouns.context}"
        return ""

    @property
    def swings(self) -> bool:
        """Return whether what groups get changes with the context; of replies, by more than
        dice."""
        swing = None if self.split is None else self.split.swing
        risk = self.report.R if swing is None else swing
        return (risk.low or 0.0) > 0

    @property
    def reference(self) -> str:
        """Return what R measures from."""
        return self.outcome.reference.name(self.nouns)

    @property
    def basis(self) -> str:
        """Return what inference rests on: 40 contexts."""
        return counted(self.units, self.nouns.unit)

    def called(self, x: int) -> str:
        """Return the name of a group in a sentence."""
        return proper(brief(self.groups[x], 40))

    def extremes(self, values: FloatArray, among: Sequence[int]) -> dict[str, Estimate]:
        """Return the groups with the highest and the lowest value, by name; of one group, that
        one."""
        order = sorted(among, key=lambda x: -values[x])
        ends = order[:1] + order[-1:]
        return {self.called(x): Estimate(float(values[x])) for x in ends}

    def tally(self, sides: Mapping[str, str]) -> dict[str, int]:
        """Return how many groups are clearly on which side, by category; with the undecided, all
        that were seen."""
        by_side = Counter(sides[self.leans[x].category or ""] for x in self.clear)
        undecided = len(self.seen) - len(self.clear)
        return {**dict(by_side.most_common()), UNDECIDED: undecided}

    def undecided(self, tally: Mapping[str, int], adjective: str = UNDECIDED) -> str:
        """Return how many groups are on no side: "; 3 are undecided"."""
        number = tally[UNDECIDED]
        return f"; {number} {are(number)} {adjective}" if number else ""

    def finding(
        self, kind: str, text: str, sure: Sure = "described", **parts: Any
    ) -> Finding:
        """Return a finding of this run."""
        return Finding(kind, text, sure, (self.name,), **parts)


def counts_beside(facts: Facts, tally: Mapping[str, int], mean: str, lean: str) -> str:
    """Return how many groups are on which side of the mean, after what was seen of them."""
    total = len(facts.seen)
    many = facts.nouns.many
    if facts.sure == "exact":
        return f", in exactly these {facts.basis}"
    if facts.sure == "cannot tell":
        return f"; {facts.basis} cannot tell whether other {facts.nouns.unit}s would show it"
    sides = [(n, side) for side, n in tally.items() if side != UNDECIDED]
    if not sides:
        if total == 1:
            return ", not clearly"
        return f"; no {lean} the {total} {many} is clear{facts.whole}"
    first_number, first_side = sides[0]
    if total == 1:
        return f", clearly {first_side} {mean}"
    counts = [
        f"{first_number} of {total} {many} {are(first_number)} clearly {first_side}"
    ]
    counts += [f"{n} {side}" for n, side in sides[1:]]
    return f"; {listed(counts)} {mean}{facts.undecided(tally)}"
