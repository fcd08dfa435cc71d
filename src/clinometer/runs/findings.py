"""What was found in a run: data, each with its sentence.

A finding is data: its kind, whom it is about, numbers with intervals, and how sure it is. The
terminal, pages, `gate`, `compare`, JSON and Python read the same objects. Each kind is made in one
place, where its sentence stands beside its numbers.

The first finding is the headline. How sure it is follows three rules, so that no two findings can
contradict each other:

- a group is on a clear side only if it is on the corrected list of `Run.leans`;
- where no group is, it is said whether they differ on the whole, or only swing;
- fewer units than a test needs cannot tell, however large the numbers are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clinometer.display.numbers import (
    between,
    counted,
    p_relation,
    percent,
    risk,
)
from clinometer.display.text import Plain, brief, proper
from clinometer.measure import Estimate, Preferences, RiskReport
from clinometer.measure.components import Components
from clinometer.measure.factors import FactorShares
from clinometer.measure.leaning import GroupLean
from clinometer.measure.risks import RISKS
from clinometer.runs.folder.record import FloorRecord, RunRecord
from clinometer.runs.nouns import (
    context_noun,
    favourable,
    group_name,
    group_noun,
    label,
    noun_of,
    plural,
    question_label,
)
from clinometer.runs.people import is_clear, joint, kind_leans, kinds_shown, unit_of
from clinometer.runs.placebo import Placebo
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.topics.conversation import CASE

if TYPE_CHECKING:
    from clinometer.runs.run import Run

Sure = Literal["clear", "unclear", "cannot tell", "exact", "described"]

UNDECIDED = "undecided"
"""The entry of a tally for groups without a clear side."""

AVERAGE = "on average"
"""What stands in a headline for the side of the mean on which no group is clear."""

NO_PROBABILITY = 1e-3
"""Below this share of the probability, the words of the categories are not what a model writes."""

MANY_UNDECIDED = 0.1
"""Above this share of answers that fit no category, rates are said to be of the others."""

CHANCE = 0.05
"""A risk is above its floor when at most this share of shuffles reaches it."""

NAMED = 2
"""Groups that a sentence names on each side."""

HEADLINES = ("kinds", "leans", "rates", "scores")
"""What a run says first, where it says anything."""

#: Headlines of runs that say nothing more.
ALONE = ("nothing", "improbable", "alike")

#: The share of cells with little probability that is worth a line.
_MANY = 0.01


@dataclass(frozen=True)
class Finding(Plain):
    """One statement.

    kind     what it is about
    text     the sentence
    sure     clear, unclear, cannot tell, exact (of a whole set) or described (no inference)
    who      the models that it is about
    tally    how many groups (or pairs, models) are on which side; with the undecided, all of them
    groups   the groups that it names, each with its number
    numbers  all other numbers, by name
    words    what the numbers are of: the measure, the unit, the answer
    """

    kind: str
    text: str
    sure: Sure = "described"
    who: tuple[str, ...] = ()
    tally: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, Estimate] = field(default_factory=dict)
    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def clear(self) -> int:
        """How many of what it counts are on a clear side."""
        return sum(n for side, n in self.tally.items() if side != UNDECIDED)

    @property
    def counted(self) -> int:
        """How many there are in all."""
        return sum(self.tally.values())

    def __str__(self) -> str:
        return self.text


# --- Parts of sentences ----------------------------------------------------------------------


def capital(text: str) -> str:
    """A sentence begins with it."""
    return text[:1].upper() + text[1:]


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names in a sentence: a, b and c."""
    each = list(names)
    return f" {last} ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)


def are(n: int) -> str:
    return "is" if n == 1 else "are"


def minus(text: str) -> str:
    """A number with the sign that print has; 0 has none below it.

    >>> minus("-0.3"), minus("-0.0"), minus("+0.0")
    ('−0.3', '0.0', '+0.0')
    """
    return text.replace("-", "−" if text.strip("-0.") else "")


def ends(number: Estimate, digits: int = 3, *, size: bool = False) -> str:
    """(0.09 to 0.60), or nothing without an interval; of a size, without signs."""
    if number.low is None or number.high is None:
        return ""
    low, high = number.low, number.high
    if size:
        low, high = sorted(
            (max(low, 0.0), high) if number.value > 0 else (max(-high, 0.0), -low)
        )
    if digits == 3:
        return f" ({between(low, high, to=' to ')})"
    return f" ({minus(f'{low:.{digits}f}')} to {minus(f'{high:.{digits}f}')})"


def share_range(low: float, high: float) -> str:
    """20–30 %."""
    a, b = percent(low), percent(high)
    return a if a == b else f"{a.removesuffix(' %')}–{b}"


def digits(unit: str) -> int:
    return 2 if unit == "points" else 1


def amount(value: float, unit: str) -> str:
    """0.35 points, 3.5 percentage points."""
    return f"{value:.{digits(unit)}f} {unit}"


def more_or_less(lean: Estimate, unit: str, often: str = "") -> str:
    """0.35 points more (0.09 to 0.60)."""
    way = "more" if lean.value > 0 else "less"
    return f"{amount(abs(lean.value), unit)} {way}{often}{ends(lean, digits(unit), size=True)}"


def ruled_out(differences: Iterable[Estimate]) -> dict[str, Estimate]:
    """The size that the intervals of all differences rule out; nothing where one has none."""
    ends = [(d.low, d.high) for d in differences]
    known = [
        max(-low, high) for low, high in ends if low is not None and high is not None
    ]
    return {"ruled out": Estimate(max(known))} if len(known) == len(ends) else {}


# --- What the findings of a run are made of ---------------------------------------------------


@dataclass(frozen=True)
class Nouns:
    """What a sentence calls one group, several, a context and a unit of inference."""

    one: str = "group"
    many: str = "groups"
    context: str = "context"
    unit: str = "context"


@dataclass(frozen=True, eq=False)
class Facts:
    """What the findings of a run are made of.

    groups      [X] names as a sentence writes them
    words       [Y] what a category is called in a sentence
    favourable  index of the favourable answer, if the topic names one
    units       how many units inference rests on
    exact       known and not estimated, as of a reference model
    improbable  share of the cells whose words carry less than `NO_PROBABILITY`
    split       lean, swing and dice of repeated replies
    kinds       what kinds of people get more or less than the mean, in `unit`
    other       share of the answers, or of their probability, that fits no category
    """

    name: str
    p: Preferences
    report: RiskReport
    leans: tuple[GroupLean, ...]
    groups: tuple[str, ...]
    words: tuple[str, ...]
    nouns: Nouns = Nouns()
    favourable: int | None = None
    units: int = 0
    exact: bool = False
    improbable: float = 0.0
    floor: FloorRecord | None = None
    split: Components | None = None
    placebo: Placebo | None = None
    kinds: Mapping[str, Estimate] | None = None
    columns: tuple[str, ...] = ()
    other: float = 0.0

    @property
    def who(self) -> str:
        """The name of the model in a sentence."""
        return brief(self.name, 40)

    @property
    def seen(self) -> list[int]:
        """Groups with an answer."""
        return [x for x, lean in enumerate(self.leans) if lean.favoured is not None]

    @property
    def clear(self) -> list[int]:
        """Groups on the corrected list of clear leans."""
        return [x for x, lean in enumerate(self.leans) if lean.category is not None]

    @property
    def shares(self) -> FloatArray:
        """[X, Y] mean preference; NaN for a missing group."""
        return self.p.grid.mean(self.p.values)

    @property
    def points(self) -> FloatArray:
        """What the categories are worth on a scale; empty where there is none."""
        return np.array(self.report.criterion.points)

    @property
    def unit(self) -> str:
        """Of differences: points of a scale, or percentage points."""
        return "points" if self.points.size else "percentage points"

    @property
    def factor(self) -> float:
        """Differences of shares times it are in the unit."""
        return 1.0 if self.points.size else 100.0

    @property
    def relative(self) -> bool:
        """Whether groups are compared with their mean."""
        return isinstance(self.p.reference, str)

    @property
    def too_few(self) -> bool:
        """Whether the units cannot tell: R has no interval, or no test could list a group."""
        level = self.report.R.level or 0.95
        unknown = self.report.R.low is None and not self.p.noisy
        few = unknown or 2.0 ** (1 - self.units) > 1 - level
        return few and not self.exact and not self.clear

    @property
    def alike(self) -> bool:
        """Whether every answer is as the reference: R of sampled answers can be 0 by chance, or
        because dice were taken out of it."""
        R = self.report.R
        plain = R.value if self.p.answers is None else self.p.decompose().R.value
        return (
            max(R.value, R.high or 0.0, plain) <= ROUNDING
            and not self.clear
            and not self.p.noisy
        )

    @property
    def sure(self) -> Sure:
        """How sure the headline is."""
        if self.exact:
            return "exact"
        if self.too_few:
            return "cannot tell"
        return "clear" if self.clear or self.on_the_whole else "unclear"

    @property
    def on_the_whole(self) -> bool:
        """Whether the groups lean together, though perhaps no single one does clearly."""
        if self.split is not None and self.split.p is not None and self.relative:
            return self.split.p <= 1 - (self.split.lean.level or 0.95)
        return (self.report.R.low or 0.0) > 0 and (self.report.R_bias.low or 0.0) > 0

    @property
    def whole(self) -> str:
        """What is to be said where no single group is clear; "" where one is."""
        if self.clear or self.exact or self.too_few:
            return ""
        if self.on_the_whole:
            return f"; the {self.nouns.many} {'differ' if self.relative else 'lean'} on the whole"
        if self.swings:
            return f"; which way changes with the {self.nouns.context}"
        return ""

    @property
    def swings(self) -> bool:
        """Whether what groups get changes with the context; of replies, by more than dice."""
        swing = None if self.split is None else self.split.swing
        return ((self.report.R if swing is None else swing).low or 0.0) > 0

    @property
    def reference(self) -> str:
        """What R measures from."""
        if self.relative:
            return f"what all {self.nouns.many} get in the same {self.nouns.context}"
        return "an even split" if self.p.reference is None else "the given reference"

    @property
    def basis(self) -> str:
        """What inference rests on: 40 contexts."""
        return counted(self.units, self.nouns.unit)

    def called(self, x: int) -> str:
        return proper(brief(self.groups[x], 40))

    def extremes(self, values: FloatArray, among: Sequence[int]) -> dict[str, Estimate]:
        """The groups with the highest and the lowest value, by name; of one group, that one."""
        order = sorted(among, key=lambda x: -values[x])
        return {
            self.called(x): Estimate(float(values[x])) for x in order[:1] + order[-1:]
        }

    def tally(self, sides: Mapping[str, str]) -> dict[str, int]:
        """How many groups are clearly on which side, by category; with the undecided, all seen."""
        of = Counter(sides[self.leans[x].category or ""] for x in self.clear)
        return {**dict(of.most_common()), UNDECIDED: len(self.seen) - len(self.clear)}

    def undecided(self, tally: Mapping[str, int], as_: str = UNDECIDED) -> str:
        """How many groups are on no side: "; 3 are undecided"."""
        left = tally[UNDECIDED]
        return f"; {left} {are(left)} {as_}" if left else ""

    def said(
        self, kind: str, text: str, sure: Sure = "described", **parts: Any
    ) -> Finding:
        """A finding of this run."""
        return Finding(kind, text, sure, (self.name,), **parts)


def facts(run: Run, name: str | None = None, *, finished: bool = True) -> Facts:
    """The facts of a run."""
    p, record = run.preferences, run.record
    many, common = noun_of(run)
    texts = [group_name(run, group) for group in run.risks.groups]
    asked = record.topic.readout is not None
    improbable = 0.0
    if p.coverage is not None and not asked and p.observed.any():
        improbable = float((p.coverage[p.observed] < NO_PROBABILITY).mean())
    so_far = "" if finished else " so far"
    settings, context = record.settings, context_noun(run)
    return replace(
        facts_of_table(
            f"{name or label(run.model)}{so_far}",
            p,
            run.risks,
            run.leans,
            clusters=settings.clusters,
        ),
        groups=tuple(plural(text) if common else text for text in texts),
        words=tuple(
            _said(category, record.topic.attributes.get(category) or (), asked=asked)
            for category in p.categories
        ),
        favourable=favourable(run),
        nouns=Nouns(group_noun(run), many, context, settings.clusters or context),
        exact=record.model.kind == "reference",
        improbable=improbable,
        floor=record.floor,
        split=record.components,
        placebo=record.placebo,
        kinds=kind_leans(run),
        columns=tuple(name for name in record.topic.people if name != "shown_as"),
        other=0.0 if record.other is None else record.other.share,
    )


def facts_of_table(
    name: str,
    p: Preferences,
    report: RiskReport,
    leans: tuple[GroupLean, ...],
    *,
    clusters: str | None = None,
) -> Facts:
    """The facts of preferences that no model was asked for here."""
    return Facts(
        name=name,
        p=p,
        report=report,
        leans=leans,
        groups=report.groups,
        words=p.categories,
        nouns=Nouns(unit=clusters or "context"),
        units=report.n_contexts if clusters is None else len(set(p.label(clusters))),
    )


def _said(category: str, words: Sequence[str], *, asked: bool) -> str:
    """A category as a sentence says it: its only word, or its name."""
    if asked:
        return f"“{brief(words[0] if words else category, 24)}”"
    if len(words) == 1:
        return f"“{brief(words[0], 24)}”"
    name = proper(brief(category, 30))
    return f"{name} words" if words else name


# --- Headlines of a run ----------------------------------------------------------------------


def run_findings(
    run: Run, name: str | None = None, *, finished: bool = True
) -> tuple[Finding, ...]:
    """The findings of a run, the headline first."""
    f = facts(run, name, finished=finished)
    first, *rest = statements(f)
    if first.kind in ALONE and first.kind != "alike":
        return (first,)
    more = (judged(run.record), other(run.record), shown(run, f), factors(run.record))
    return (first, *(one for one in more if one is not None), *rest)


def statements(f: Facts) -> tuple[Finding, ...]:
    """The findings that follow from the facts alone, the headline first."""
    if not f.seen:
        return (f.said("nothing", f"{f.who} gave no answer that can be measured."),)
    if f.improbable > 0.5:
        text = (
            f"{f.who} hardly ever writes any of these words: in {percent(f.improbable)} of the "
            f"cells they carry less than {percent(NO_PROBABILITY)} of its probability, so their "
            "shares say nothing about it."
        )
        shares = {"cells": Estimate(f.improbable), "least": Estimate(NO_PROBABILITY)}
        return (f.said("improbable", text, "cannot tell", numbers=shares),)
    if f.alike:
        same = "alike for every group" if f.relative else "as the reference"
        text = f"{f.who} answers {same} in every {f.nouns.context}: no lean, no swing."
        return (f.said("alike", text, "exact"),)
    people = kinds_of_people(f)
    first = headline(f)
    leads = people is not None and people.sure == "clear"
    heads = (
        (first,) if people is None else (people, first) if leads else (first, people)
    )
    rest = (parts(f), placebo(f), size(f), steady(f), shared(f), shuffled(f))
    return (*heads, *(one for one in rest if one is not None))


def headline(f: Facts) -> Finding:
    """Who gets what: points of a scale, the favourable answer, or words."""
    if f.points.size:
        return scores(f)
    return leans(f) if f.favourable is None else rates(f)


def leans(f: Facts) -> Finding:
    """To which words it leans, for how many groups, and the extremes."""
    names, among = f.report.categories, f.clear or f.seen
    called = dict(zip(names, f.words, strict=True))
    if len(names) == 2:
        ahead = Counter(f.leans[x].favoured for x in among)
        side = max(names, key=lambda name: ahead[name])
    else:
        among = [int(np.argmax(np.where(np.isnan(f.report.r), -np.inf, f.report.r)))]
        side = f.leans[among[0]].favoured or names[0]
    tally, groups = f.tally(called), f.extremes(f.shares[:, names.index(side)], among)
    text = _leaning(f, tally, groups, called[side])
    words = {"share": called[side]}
    return f.said("leans", text, f.sure, tally=tally, groups=groups, words=words)


def _leaning(
    f: Facts, tally: Mapping[str, int], groups: Mapping[str, Estimate], share: str
) -> str:
    total, many = len(f.seen), f.nouns.many
    each = [
        f"{name if total > 1 else ''} {percent(one.value)}"
        for name, one in groups.items()
    ]
    named = f"{', '.join(one.lstrip() for one in each)} {share}"
    if len(each) == 1 and total > 1:
        named = f"furthest: {named}"
    whom = next(iter(groups)) if total == 1 else f"any of {total} {many}"
    if f.sure == "cannot tell":
        return f"{f.basis} cannot tell which way {f.who} leans for {whom} ({named})."
    sides = {side: n for side, n in tally.items() if side != UNDECIDED}
    clearly = "" if f.exact else " clearly"
    if not sides:
        for_none = (
            f"for none of {total} {many}" if total > 1 else f"to neither for {whom}"
        )
        return f"{f.who} leans{clearly} {for_none} ({named}){f.whole}."
    first = f" of {total} {many}"
    to = []
    for side, n in sides.items():
        to.append(f"to {side} for {whom if total == 1 else f'{n}{first}'}")
        first = ""
    rest = f.undecided(tally, "even" if f.exact else UNDECIDED) if total > 1 else ""
    away = f" from {f.reference}," if f.relative or f.p.reference is not None else ""
    return f"{f.who} leans{clearly}{away} {listed(to)} ({named}){rest}{f.whole}."


def _counts(f: Facts, tally: Mapping[str, int], mean: str, lean: str) -> str:
    """How many groups are on which side of the mean, after what was seen of them."""
    total, many = len(f.seen), f.nouns.many
    if f.sure == "exact":
        return f", in exactly these {f.basis}"
    if f.sure == "cannot tell":
        return f"; {f.basis} cannot tell whether other {f.nouns.unit}s would show it"
    sides = [(n, side) for side, n in tally.items() if side != UNDECIDED]
    if total == 1:
        return f", clearly {sides[0][1]} {mean}" if sides else ", not clearly"
    if not sides:
        return f"; no {lean} the {total} {many} is clear{f.whole}"
    (n, first), *further = sides
    said = [
        f"{n} of {total} {many} {are(n)} clearly {first}",
        *(f"{n} {s}" for n, s in further),
    ]
    return f"; {listed(said)} {mean}{f.undecided(tally)}"


def rates(f: Facts) -> Finding:
    """Who gets the favourable answer most and least often."""
    y, two = f.favourable or 0, len(f.words) == 2
    values = f.shares[:, y]
    sides = dict.fromkeys(
        f.report.categories, "below" if two and f.relative else "away from"
    )
    if two and f.relative:
        sides[f.report.categories[y]] = "above"
    weights = f.report.group_weights[f.seen]
    mean = float(weights @ values[f.seen] / weights.sum())
    tally, answer = f.tally(sides), f.words[y]
    far = f.extremes(values, f.seen)
    if (
        f.clear and f.sure == "clear" and "above" in sides.values()
    ):  # none that may be at the mean
        far = f.extremes(values, f.clear)
        (a, *_), (*_, b) = far, far
        if far[a].value < mean:
            far = {AVERAGE: Estimate(mean), b: far[b]}
        elif far[b].value > mean:
            far = {a: far[a], AVERAGE: Estimate(mean)}
    apart = float(np.ptp([one.value for one in far.values()]))
    numbers = {"apart": Estimate(apart), "mean": Estimate(mean)}
    groups = {name: one for name, one in far.items() if name != AVERAGE}
    start, cases = f"{f.who} answers", " of cases"
    if f.other > MANY_UNDECIDED:
        numbers["decided"] = Estimate(1 - f.other)
        of = f"Only {percent(1 - f.other)} of the answers of {f.who} are {listed(f.words, 'or')}."
        start, cases = f"{of} Of these it says", ""
    counts = _counts(
        f,
        tally,
        f"the mean ({100 * mean:.0f} %)" if two and f.relative else f.reference,
        "difference between" if f.relative else "lean of",
    )
    named = [
        (name if name == AVERAGE else f"for {name}", percent(one.value))
        for name, one in far.items()
    ]
    (a, most), (b, least) = named[0], named[-1]
    if most == least:
        several = len(f.seen) > 1
        everyone = " for every group" if several else ""
        about = "about " if several and apart > 0 else ""
        text = f"{start} {answer} in {about}{most}{cases}{everyone}{counts}."
    else:
        points = (
            f"{100 * apart:.0f}"
            if 100 * apart >= 0.95
            else percent(apart).removesuffix(" %")
        )
        text = (
            f"{start} {answer} in {most}{cases} {a} and in {least} {b}, {points} "
            f"percentage point{'' if points == '1' else 's'} apart{counts}."
        )
    words = {"answer": answer}
    return f.said(
        "rates", text, f.sure, tally=tally, groups=groups, numbers=numbers, words=words
    )


def scores(f: Facts) -> Finding:
    """Who gets more or less points than the average group; on a scale that is measured from a
    reference, who is rated highest and lowest."""
    means, length = f.shares @ f.points, f.report.criterion.length
    bottom, top = f.report.categories[0], f.report.categories[-1]
    tally = f.tally({bottom: "below", top: "above"})
    if not f.relative or len(f.seen) == 1:
        groups = f.extremes(means, f.seen)
        limits = {"highest": means[f.seen].max(), "lowest": means[f.seen].min()}
        numbers = {name: Estimate(float(value)) for name, value in limits.items()}
        each = [f"{name} ({mean.value:.2f})" for name, mean in groups.items()]
        rated = each[0] if len(each) == 1 else f"{each[0]} highest and {each[1]} lowest"
        scale = f"on a scale of {f.points[0]:g} to {f.points[-1]:g}"
        text = (
            f"{f.who} rates {rated} {scale}{_counts(f, tally, f.reference, 'lean of')}."
        )
        return f.said(
            "scores", text, f.sure, tally=tally, groups=groups, numbers=numbers
        )
    level = f.report.R.level or 0.95
    away = {x: _signed(f.leans[x], top, length, level) for x in f.seen}
    order = sorted(f.clear, key=lambda x: -abs(away[x].value))
    more = [x for x in order if away[x].value > 0][:NAMED]
    less = [x for x in order if away[x].value < 0][:NAMED]
    groups = {f.called(x): away[x] for x in (*more, *less)}
    numbers = ruled_out(away.values())
    total, many, average = len(f.seen), f.nouns.many, f"the average {f.nouns.one}"
    if f.sure == "cannot tell":
        text = (
            f"{f.basis} cannot tell whether {f.who} scores any of {total} {many} steadily higher "
            "or lower."
        )
    elif groups:
        rest = f", in exactly these {f.basis}" if f.exact else ""
        if not f.exact and (left := tally[UNDECIDED]):
            rest = f"; {left} of {total} {many} {are(left)} {UNDECIDED}"
        text = f"{f.who} gives {_given(groups)} than {average}{rest}."
    else:
        out = numbers.get("ruled out")
        ruled = (
            f"; more than {out.value:.2f} points is ruled out for all of them"
            if out
            else ""
        )
        text = (
            f"{f.who} gives no {f.nouns.one} clearly more or less than {average} over {f.basis}"
            f"{f.whole or ruled}."
        )
    return f.said("scores", text, f.sure, tally=tally, groups=groups, numbers=numbers)


def _signed(lean: GroupLean, top: str, length: float, level: float) -> Estimate:
    """A lean on a scale in points, above 0 towards the top, with the interval that decides."""
    sign = length if lean.favoured == top else -length
    value = sign * (lean.lean or 0.0)
    if lean.low is None or lean.high is None:
        return Estimate(value)
    low, high = sorted((sign * lean.low, sign * lean.high))
    return Estimate(
        value, min(low, value), max(high, value), level, "interval of the decision"
    )


def _given(groups: Mapping[str, Estimate]) -> str:
    """A 0.35 points more (0.09 to 0.60) and B 0.16 less (0.02 to 0.30)."""
    said, unit = [], " points"
    for name, lean in groups.items():
        way = "more" if lean.value > 0 else "less"
        size = ends(lean, 2, size=True)
        said.append(f"{brief(name, 40)} {abs(lean.value):.2f}{unit} {way}{size}")
        unit = ""
    return listed(said)


def kinds_of_people(f: Facts) -> Finding | None:
    """What people who have something in common get more or less than the average; None where
    the list of people says nothing about them."""
    if not f.kinds or f.too_few:
        return None
    clear = {name: lean for name, lean in f.kinds.items() if f.exact or is_clear(lean)}
    order = sorted(clear, key=lambda name: -abs(clear[name].value))[: 2 * NAMED]
    groups, numbers = {name: clear[name] for name in order}, ruled_out(f.kinds.values())
    words = {"unit": f.unit}
    if f.favourable is not None and not f.points.size:
        words["answer"] = f.words[f.favourable]
    if groups:
        often = " often" if "answer" in words else ""
        each = [
            f"{more_or_less(lean, f.unit, often)} for {name}"
            for name, lean in groups.items()
        ]
        verb = f"answers {words['answer']}" if often else "gives"
        text = f"{f.who} {verb} {listed(each)} than on average."
    else:
        out = numbers.get("ruled out")
        ruled = f"; more than {amount(out.value, f.unit)} is ruled out" if out else ""
        text = f"No kind of people ({listed(f.columns)}) clearly gets another answer{ruled}."
    tally = {"clear": len(clear), UNDECIDED: len(f.kinds) - len(clear)}
    sure: Sure = "exact" if f.exact else "clear" if clear else "unclear"
    return f.said(
        "kinds", text, sure, tally=tally, groups=groups, numbers=numbers, words=words
    )


def shown(run: Run, f: Facts) -> Finding | None:
    """Whether names or descriptions move the answer: each kind of groups measured from its mean,
    so that how a person is shown is no difference itself. None where there is only one kind."""
    unit, settings = unit_of(run), run.record.settings
    kinds = kinds_shown(run) if unit else {}
    if len(kinds) < 2 or f.too_few or f.alike:
        return None
    worth = f.points if f.points.size else 100 * np.eye(len(f.words))[f.favourable or 0]
    tally, numbers = {}, {}
    level = joint(settings.level, len(kinds))
    for kind, p in kinds.items():
        found = p.leans(level=level, clusters=settings.clusters, known=f.exact)
        tally[f"{kind}s"] = sum(one.category is not None for one in found)
        numbers[f"{kind}s"] = Estimate(float(np.ptp(p.grid.mean(p.values) @ worth)))
    moving = [kind for kind, n in tally.items() if n]
    clear = {
        f.p.groups[x] for x in f.clear
    }  # of all: what is said of its kind must not deny it
    still = [f"{kind}s" for kind, p in kinds.items() if not clear & {*p.groups}]
    still = [kind for kind in still if not tally[kind]]
    if not moving and not still:
        return None
    if moving and still:
        verdict = f"{listed(moving)} move the answer, {listed(still)} do not clearly"
    elif moving:
        verdict = (
            f"{listed(moving)} {'both' if len(moving) == 2 else 'all'} move the answer"
        )
    elif len(still) == 1:
        verdict = f"{still[0]} do not clearly move the answer"
    else:
        verdict = f"neither {listed(still, 'nor')} clearly move the answer"
    apart = [f"{amount(one.value, unit)} among {kind}" for kind, one in numbers.items()]
    text = f"{capital(verdict)}: it differs by {listed(apart)}."
    sure: Sure = "exact" if f.exact else "clear" if moving else "unclear"
    return f.said(
        "shown", text, sure, tally=tally, numbers=numbers, words={"unit": unit}
    )


# --- What follows a headline -----------------------------------------------------------------


def parts(f: Facts) -> Finding | None:
    """Lean, swing and dice as standard deviations, in points or percentage points; None without
    repeated replies."""
    split = f.split
    if split is None or not f.relative or split.total <= ROUNDING:
        return None
    each = {"lean": split.lean, "swing": split.swing, "dice": split.dice}
    numbers = {
        name: deviation(part, f.factor)
        for name, part in each.items()
        if part is not None
    }
    n = digits(f.unit)
    shown = {name: f"{one.value:.{n}f}{ends(one, n)}" for name, one in numbers.items()}
    said = [f"the steady lean of {f.nouns.many} is {shown['lean']} {f.unit}"]
    if "swing" in shown:
        said.append(f"their swing with the {f.nouns.context} {shown['swing']}")
    if "dice" in shown:
        said.append(f"the dice of the same request, asked again, {shown['dice']}")
    note = "" if len(said) == 3 else f" ({split.note})"
    text = f"As standard deviations, {listed(said)}{note}."
    return f.said("parts", text, numbers=numbers, words={"unit": f.unit})


def deviation(variance: Estimate, factor: float = 1.0) -> Estimate:
    """A variance, which may be estimated below 0, as a standard deviation."""

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


def placebo(f: Facts) -> Finding | None:
    """What an irrelevant edit does beside another group; None where none was asked."""
    asked = f.placebo
    if asked is None:
        return None
    groups, edit = f.factor * asked.groups, f.factor * asked.edit
    contexts = f"{f.nouns.context}s"
    if asked.ratio is None:
        ratio = "no ratio: the edits move nothing beyond dice"
    elif asked.low is None:
        ratio = f"ratio {asked.ratio:.1f}; too few {contexts} for an interval"
    elif asked.high is not None:
        ratio = f"ratio {asked.ratio:.1f}, {asked.low:.1f} to {asked.high:.1f}"
    elif asked.low < 0.05:
        ratio = f"ratio {asked.ratio:.1f}, which so few {contexts} leave open"
    else:
        ratio = f"ratio {asked.ratio:.1f}, at least {asked.low:.1f}"
    text = (
        f"Another {f.nouns.one} moves the answer by {amount(groups, f.unit)}, an irrelevant edit "
        f"by {amount(edit, f.unit)} ({ratio})."
    )
    given = {"groups": groups, "edit": edit, "ratio": asked.ratio}
    given |= {"least": asked.low, "most": asked.high}
    numbers = {
        name: Estimate(value) for name, value in given.items() if value is not None
    }
    sure: Sure = "clear" if (asked.low or 0) > 1 or (asked.high or 9) < 1 else "unclear"
    return f.said("placebo", text, sure, numbers=numbers, words={"unit": f.unit})


def size(f: Facts) -> Finding:
    """R and its interval, and what the interval is about."""
    R, criterion = f.report.R, f.report.criterion
    numbers, unit = {"R": R}, ""
    interval = "" if R.low is None else between(R.low, R.high, to=" to ")
    if (
        R.low == 0 and f.clear
    ):  # wide from few contexts, but some group leans: R is not 0
        interval = f"above 0, up to {risk(R.high)}"
    inside = [interval] if interval else []
    if criterion.points:
        unit, numbers["points"] = " of the scale", Estimate(R.value * criterion.length)
        inside.append(f"{numbers['points'].value:.2f} points")
    elif criterion.name == "share":
        unit = ", the share of answers that would have to change"
    elif criterion.name == "released":
        unit = ", on the scale of the authors' code, which ends at 0.2"
    beside = f" ({'; '.join(inside)})" if inside else ""
    contexts = counted(f.report.n_contexts, f.nouns.context)
    if f.report.n_eff < f.report.n_contexts - 0.5:
        contexts += f", worth about {max(round(f.report.n_eff), 1)}"
    about = in_words(R) + (f"; {R.note}" if R.note else "")
    if R.low is None and R.note:
        about = f"no interval: {R.note}"
    text = (
        f"R is {risk(R.value)}{unit}{beside}, the distance from {f.reference}; "
        f"{contexts}; {about}."
    )
    sure: Sure = "clear" if f.clear or (R.low or 0.0) > 0 else "unclear"
    if f.exact or R.low is None or f.too_few:
        sure = "exact" if f.exact else "cannot tell"
    return f.said("size", text, sure, numbers=numbers)


def steady(f: Facts) -> Finding | None:
    """How much of R is a steady lean, as far as the interval of the bias risk shows; None where
    there is none, or where the parts of replies say it."""
    R, bias, swing = f.report.R.value, f.report.R_bias, f.report.R_volatility
    if ROUNDING >= R or (f.split is not None and f.relative):
        return None
    share = Estimate(swing.value / R)
    sure: Sure = "exact" if f.exact else "cannot tell"
    if bias.low is not None and bias.high is not None and bias.level and not f.too_few:
        low, high = max(0.0, 1 - bias.high / R), min(1.0, 1 - bias.low / R)
        share = replace(share, low=low, high=high, level=bias.level)
        if not f.exact and high - low <= 0.5:
            sure = "clear"
    text = _how_steady(f, share, sure)
    numbers = {"swing share": share, "R_bias": bias, "R_volatility": swing}
    return f.said("steady", text, sure, numbers=numbers)


def _how_steady(f: Facts, share: Estimate, sure: Sure) -> str:
    swings = f"swings with the {f.nouns.context}"
    if sure == "exact":
        if share.value <= 1e-9:
            return f"All of R is a steady lean; nothing {swings}."
        return f"{percent(1 - share.value)} of R is a steady lean, the rest {swings}."
    low, high = share.low, share.high
    if sure == "cannot tell" or low is None or high is None:
        few = "so few replies" if f.p.noisy else f.basis
        return (
            f"How much of R is steady and how much {swings} cannot be told from {few}."
        )
    if low >= 0.95:
        return f"Nearly all of R {swings}."
    if high <= 0.05:
        return "Nearly all of R is a steady lean."
    if low >= 0.5:
        return f"Most of R ({share_range(low, high)}) {swings}; the rest is steady."
    how_much = share_range(1 - high, 1 - low)
    most = "Most" if high <= 0.5 else "About half"
    return f"{most} of R ({how_much}) is a steady lean; the rest {swings}."


def shared(f: Facts) -> Finding | None:
    """How much of R the groups share, and how far they differ; None for a single group."""
    same, apart = f.report.R_shared, f.report.R_between
    if same is None or apart is None:
        return None
    numbers, chance = {"R_shared": same, "R_between": apart}, ""
    if f.floor is not None and f.floor.R_between is not None and not _flat(f.floor):
        numbers["shuffled"] = f.floor.R_between
        chance = f" ({risk(f.floor.R_between.value)} with shuffled words)"
    one, many = f.nouns.one, f.nouns.many
    of_groups = (
        f"{many} differ by {risk(apart.value)} in the same {f.nouns.context}{chance}"
    )
    common = risk(same.value)
    text = f"{common} of R is the same for every {one}, and {of_groups}."
    least, most = (e.value if e.low is None else e.low for e in (same, apart))
    if least > (apart.value if apart.high is None else apart.high):
        text = f"Most of R is the same for every {one} ({common}); {of_groups}."
    elif most > (same.value if same.high is None else same.high):
        text = (
            f"Most of R differs between {many}: {of_groups}; {common} is common to all."
        )
    return f.said("shared", text, numbers=numbers)


def shuffled(f: Facts) -> Finding | None:
    """R and R^b beside what the same words give when they are shuffled between the categories."""
    floor = f.floor
    if floor is None:
        return None
    R, bias = f.report.R.value, f.report.R_bias.value
    numbers = {
        "R": Estimate(R),
        "R_bias": Estimate(bias),
        "R shuffled": floor.R,
        "R_bias shuffled": floor.R_bias,
    }
    if _flat(floor):
        text = (
            f"Shuffled between the categories, the same words give the same R "
            f"({risk(floor.R.value)}): lists this short cannot tell how much of its size comes "
            "from the words."
        )
        return f.said("shuffled", text, "cannot tell", numbers=numbers)
    above = {"R": floor.p <= CHANCE, "R_bias": bias > (floor.R_bias.high or 0.0)}
    R_is, bias_is = (
        f"{RISKS[name].in_sentences} {risk(value)} is {'above' if above[name] else 'not above'}"
        for name, value in (("R", R), ("R_bias", bias))
    )
    text = (
        f"{capital(R_is)} what the same words give when they are shuffled between the categories "
        f"({between(floor.R.low, floor.R.high)}); {bias_is} it "
        f"({between(floor.R_bias.low, floor.R_bias.high)})."
    )
    tally = {name: int(yes) for name, yes in above.items()}
    sure: Sure = "clear" if all(tally.values()) else "unclear"
    return f.said("shuffled", text, sure, tally=tally, numbers=numbers)


def _flat(floor: FloorRecord) -> bool:
    """Whether every shuffle gives the same R: with one word per category only the names change."""
    return (floor.R.high or 0.0) - (floor.R.low or 0.0) < ROUNDING


def other(record: RunRecord) -> Finding | None:
    """The share of answers that fit no category, and what they could do to R where it is large;
    None for none, as of words."""
    share = record.other
    if share is None or share.share <= 0:
        return None
    numbers, words = {"share": Estimate(share.share)}, dict[str, str]()
    what = "replies" if record.replies else "probability"
    text = f"{percent(share.share)} of the {what} is other (none of the categories)"
    if share.most > share.share + 0.05:
        numbers["most"], words["most"] = Estimate(share.most), share.most_group
        text += f", most for {share.most_group} ({percent(share.most)})"
    if share.bounds is not None:
        low, high = share.bounds["R"]
        numbers |= {"R low": Estimate(low), "R high": Estimate(high)}
        text += f"; if it were any category, R could be {risk(low)} to {risk(high)}"
    return Finding("other", f"{text}.", numbers=numbers, words=words)


def factors(record: RunRecord) -> Finding | None:
    """What the swing between contexts goes with, the largest share first; None where nothing is
    known of any share."""
    shares = record.factors
    named = (
        []
        if shares is None
        else [(one.name, one.share) for one in shares.factors if one.share]
    )
    if shares is None or not named:
        return None
    if all(e.low == 0 and e.high == 1 for e in (*dict(named).values(), shares.rest)):
        return None
    named.sort(key=lambda pair: -pair[1].value)
    rest = "none of them alone" if len(named) > 1 else "anything else"
    groups = {**dict(named), rest: shares.rest}
    parts: list[str] = []
    for name, one in groups.items():
        inside = ""
        if one.low is not None and one.high is not None:
            inside = f" ({share_range(one.low, one.high)})"
        parts.append(
            f"{percent(one.value)}{inside}{'' if parts else ' goes'} with {name}"
        )
    return Finding(
        "factors", f"Of the swing between contexts {', '.join(parts)}.", groups=groups
    )


def judged(record: RunRecord) -> Finding | None:
    """What people's labels make of the risks, or that a judge is not calibrated."""
    calibration, readout = record.calibration, record.topic.readout or {}
    if calibration is None:
        if readout.get("by") != "judge":
            return None
        text = (
            f"The judge {readout.get('model')} assigned the categories and is not calibrated: no "
            "labels of people say how often it errs, and its errors are part of these numbers "
            "(clinometer export labels)."
        )
        return Finding("judge", text)
    s, p = calibration.summary, calibration.groups_alike
    text = (
        f"Corrected for the judge's errors by {calibration.labels:,.0f} replies labelled by people "
        f"(agreement {percent(calibration.agreement)}): R {s.R!r}, bias risk {s.R_bias!r}, "
        f"volatility risk {s.R_volatility!r}."
    )
    numbers = {"R": s.R, "R_bias": s.R_bias, "R_volatility": s.R_volatility}
    numbers["labels"] = Estimate(calibration.labels)
    numbers["agreement"] = Estimate(calibration.agreement)
    sure: Sure = "described"
    if p is not None:
        numbers["groups alike"] = Estimate(p)
        if p < CHANCE:
            sure = "unclear"
            text += (
                f" The judge errs differently about different groups (p {p_relation(p)}): one "
                "correction for all of them is not enough."
            )
    return Finding("judge", text, sure, numbers=numbers)


def strongest_case(run: Run) -> Finding | None:
    """The answer on a scale that is furthest from what all groups get in the same context, of the
    groups that lean clearly and their way, if any do; None where there is no scale or no
    difference. The largest of many, it is an example and no estimate."""
    p, f = run.preferences, facts(run)
    if not f.points.size or not f.relative or f.alike or not p.observed.any():
        return None
    scores = np.where(p.observed, np.nan_to_num(p.values) @ f.points, np.nan)
    apart = scores - np.broadcast_to(p.grid.reference, p.values.shape) @ f.points
    size = np.abs(apart)
    if f.clear:
        ways = np.zeros(len(f.groups))
        ways[f.clear] = [
            1 if f.leans[x].category == p.categories[-1] else -1 for x in f.clear
        ]
        size = np.where(ways[:, None] != 0, apart * ways[:, None], np.nan)
    x, c = (int(i) for i in np.unravel_index(np.nanargmax(size), apart.shape))
    case = p.labels[CASE][c] if CASE in p.labels else p.contexts[c]
    if CASE not in p.labels and p.templates:
        case = question_label(p.templates[c])
    score, off, answers = (
        float(scores[x, c]),
        float(apart[x, c]),
        int(np.isfinite(apart).sum()),
    )
    numbers, each = {"apart": Estimate(off), "answers": Estimate(answers)}, ""
    if p.replies > 1:
        numbers["replies"] = Estimate(p.replies)
        each = f", each the mean of {p.replies:.2g} replies"
    text = (
        f"{capital(f.called(x))} gets {score:.1f} in “{brief(case, 70)}”, {abs(off):.1f} points "
        f"{'above' if off > 0 else 'below'} what all {f.nouns.many} get there: the furthest of "
        f"{answers:,.0f} answers{each}."
    )
    groups = {f.called(x): Estimate(score)}
    return f.said("case", text, groups=groups, numbers=numbers, words={"case": case})


def next_step(
    first: Finding, *, finished: bool = True, thin: bool = False, replies: bool = False
) -> str:
    """What a reader of a headline can do next, on thin evidence and of counted replies; "" where
    nothing follows from it."""
    if not finished:
        return "finish it: the same command goes on"
    if thin or first.sure in ("unclear", "cannot tell"):
        return "more of them, or more replies" if replies else "more of them"
    which = "one of them" if first.kind in ("models", "leaning models") else "it"
    return (
        f"hold the next model to {which} with clinometer gate"
        if first.sure == "clear"
        else ""
    )


# --- What a reader must know beside the findings --------------------------------------------------


def cautions(run: Run) -> list[str]:
    """What a reader must know before using the numbers."""
    record, counts = run.record, run.record.counts
    of = counted(counts.get("cells", 0), "cell")
    lines = []
    if without := len(run.risks.missing_groups):
        lines.append(f"groups without any answer: {without} of {len(run.risks.groups)}")
    if missing := counts.get("cells_missing"):
        lines.append(f"no answer in {missing:,} of {of}")
    if (low := counts.get("cells_low_coverage", 0)) > _MANY * counts.get("cells", 0):
        lines.append(
            f"less than {record.settings.coverage_threshold:g} of the probability in {low:,} of "
            f"{of}; there the model hardly ever gives any of the words, and the preference is "
            "close to noise"
        )
    if record.words and record.words.unwritable:
        unwritable = ", ".join(brief(word, 30) for word in record.words.unwritable[:8])
        lines.append(f"not in the model's vocabulary: {unwritable}")
    if record.words and record.words.restricted:
        left = counted(len(record.words.restricted), "word")
        lines.append(f"{left} of several tokens left out, as asked")
    return [f"Caution: {line}." for line in lines]


def in_words(interval: Estimate) -> str:
    """What the interval of a risk is about, or why there is none.

    >>> in_words(Estimate(0.4, 0.3, 0.5, 0.95))
    '95 % intervals for contexts of this kind'
    """
    if interval.level is None:
        return "no intervals"
    return f"{100 * interval.level:g} % intervals for contexts of this kind"


def factor_notes(found: FactorShares, *, clusters: str | None) -> list[str]:
    """What a reader of the shares must know: what is resampled, and what is unknown."""
    notes = [] if found.note is None else [f"{found.note[0].upper()}{found.note[1:]}."]
    notes += [
        f"The share of {f.name} is unknown: {f.note}." for f in found.factors if f.note
    ]
    if found.unit is not None and clusters is None:
        notes.append(
            f"The contexts share {found.n_units} levels of {found.unit}: --clusters {found.unit} "
            "gives intervals of R, Rᵇ and Rᵛ that allow for it."
        )
    return notes


def resampled(found: FactorShares) -> str:
    """What the intervals of the shares speak of."""
    if found.unit is None:
        return "Intervals: contexts are a sample, the levels of the factors are taken as they are."
    return (
        f"Intervals: levels of {found.unit} are a sample, those of other factors are taken as "
        "they are."
    )
