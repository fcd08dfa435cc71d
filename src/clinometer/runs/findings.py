"""What was found in a run or a comparison, as data; `sentences.py` has the words for it.

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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clinometer.display.numbers import counted
from clinometer.display.text import brief, proper
from clinometer.measure import Comparison, Estimate, Preferences, RiskReport
from clinometer.measure.comparison import Difference
from clinometer.measure.components import Components
from clinometer.measure.leaning import GroupLean
from clinometer.measure.population import POPULATIONS
from clinometer.runs.answers import mean_preferences
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
from clinometer.runs.people import Shift, is_clear, joint, kind_leans, kinds_shown, unit_of
from clinometer.runs.placebo import Placebo
from clinometer.runs.sentences import UNDECIDED, Finding, Sure, in_words, listed
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.significance import holm
from clinometer.topics.conversation import CASE

if TYPE_CHECKING:
    from clinometer.runs.run import Run

NO_PROBABILITY = 1e-3
"""Below this share of the probability, the words of the categories are not what a model writes."""

MANY_UNDECIDED = 0.1
"""Above this share of answers that fit no category, rates are said to be of the others."""

CHANCE = 0.05
"""A risk is above its floor when at most this share of shuffles reaches it."""

NAMED = 2
"""Groups that a sentence names on each side."""


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
    exact       no sampling error
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
    population: str = "similar"
    exact: bool = False
    improbable: float = 0.0
    floor: FloorRecord | None = None
    split: Components | None = None
    placebo: Placebo | None = None
    kinds: Mapping[str, Estimate] | None = None
    columns: tuple[str, ...] = ()
    other: float = 0.0

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
        return mean_preferences(self.p)

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
            max(R.value, R.high or 0.0, plain) <= ROUNDING and not self.clear and not self.p.noisy
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
        if (self.report.R.low or 0.0) > 0:
            return f"; which way changes with the {self.nouns.context}"
        return ""

    @property
    def reference(self) -> str:
        """What R measures from."""
        if self.relative:
            return f"what all {self.nouns.many} get in the same {self.nouns.context}"
        return "an even split" if self.p.reference is None else "the given reference"

    def called(self, x: int) -> str:
        return proper(brief(self.groups[x], 40))

    def said(self, kind: str, sure: Sure = "described", **parts: Mapping[str, object]) -> Finding:
        """A finding of this run."""
        return Finding(kind, sure, (self.name,), **parts)  # type: ignore[arg-type]


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
            population=settings.population,
        ),
        groups=tuple(plural(text) if common else text for text in texts),
        words=tuple(
            _said(category, record.topic.attributes.get(category) or (), asked=asked)
            for category in p.categories
        ),
        favourable=favourable(run),
        nouns=Nouns(group_noun(run), many, context, settings.clusters or context),
        exact=record.model.kind == "reference" or p.exact(settings.population),
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
    population: str = "similar",
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
        population=population,
        exact=p.exact(population),
    )


def _said(category: str, words: Sequence[str], *, asked: bool) -> str:
    """A category as a sentence says it: its only word, or its name."""
    if asked:
        return f"“{brief(words[0] if words else category, 24)}”"
    if len(words) == 1:
        return f"“{brief(words[0], 24)}”"
    name = proper(brief(category, 30))
    return f"{name} words" if words else name


# --- One run ---------------------------------------------------------------------------------


def run_findings(
    run: Run, name: str | None = None, *, finished: bool = True
) -> tuple[Finding, ...]:
    """The findings of a run, the headline first."""
    f = facts(run, name, finished=finished)
    first, *rest = statements(f)
    if first.kind in ALONE and first.kind != "alike":
        return (first,)
    more = (
        judged(run.record),
        other(run.record),
        shown(run, f),
        factors(run.record),
    )
    return (first, *(one for one in more if one is not None), *rest)


HEADLINES = ("kinds", "leans", "rates", "scores")
"""What a run says first, where it says anything."""

#: Headlines of runs that say nothing more.
ALONE = ("nothing", "improbable", "alike")


def statements(f: Facts) -> tuple[Finding, ...]:
    """The findings that follow from the facts alone, the headline first."""
    if not f.seen:
        return (f.said("nothing"),)
    if f.improbable > 0.5:
        shares = {"cells": Estimate(f.improbable), "least": Estimate(NO_PROBABILITY)}
        return (f.said("improbable", "cannot tell", numbers=shares),)
    if f.alike:
        same = "alike for every group" if f.relative else "as the reference"
        return (f.said("alike", "exact", words={"as": same, "context": f.nouns.context}),)
    people = kinds_of_people(f)
    first = headline(f)
    leads = people is not None and people.sure == "clear"
    heads = (first,) if people is None else (people, first) if leads else (first, people)
    rest = (parts(f), placebo(f), size(f), steady(f), shared(f), shuffled(f))
    return (*heads, *(one for one in rest if one is not None))


def headline(f: Facts) -> Finding:
    """Who gets what: points of a scale, the favourable answer, or words."""
    if f.points.size:
        return scores(f)
    return leans(f) if f.favourable is None else rates(f)


def _words(f: Facts, **more: str) -> dict[str, str]:
    """What every headline calls things."""
    others = f"other {f.nouns.unit}s" if f.population == "similar" else POPULATIONS[f.population]
    return {
        "one": f.nouns.one,
        "many": f.nouns.many,
        "units": counted(f.units, f.nouns.unit),
        "other": others,
        "whole": f.whole,
        **more,
    }


def _tally(f: Facts, sides: Mapping[str, str]) -> dict[str, int]:
    """How many groups are clearly on which side, by category; with the undecided, all seen."""
    of = Counter(sides[f.leans[x].category or ""] for x in f.clear)
    return {**dict(of.most_common()), UNDECIDED: len(f.seen) - len(f.clear)}


def leans(f: Facts) -> Finding:
    """To which words it leans, for how many groups, and the extremes."""
    shares, names = f.shares, f.report.categories
    called = dict(zip(names, f.words, strict=True))
    tally = _tally(f, called)
    ahead = Counter(f.leans[x].favoured for x in (f.clear or f.seen))
    if len(names) == 2:
        side = max(names, key=lambda name: ahead[name])
        values = shares[:, names.index(side)]
        order = sorted(f.seen, key=lambda x: -values[x])
        at = [order[0], *([order[-1]] if len(order) > 1 else [])]
    else:
        at = [int(np.argmax(np.where(np.isnan(f.report.r), -np.inf, f.report.r)))]
        side = f.leans[at[0]].favoured or names[0]
        values = shares[:, names.index(side)]
    away = "" if not f.relative and f.p.reference is None else f" from {f.reference}"
    return f.said(
        "leans",
        f.sure,
        tally=tally,
        groups={f.called(x): Estimate(float(values[x])) for x in at},
        words=_words(f, share=called[side], **{"from": f"{away}," if away else ""}),
    )


def rates(f: Facts) -> Finding:
    """Who gets the favourable answer most and least often."""
    y, two = f.favourable or 0, len(f.words) == 2
    values = f.shares[:, y]
    order = sorted(f.seen, key=lambda x: -values[x])
    sides = dict.fromkeys(f.report.categories, "")
    if two and f.relative:
        sides = dict.fromkeys(sides, "below") | {f.report.categories[y]: "above"}
    else:
        sides = dict.fromkeys(sides, "away from")
    weights = f.report.group_weights[f.seen]
    mean = float(weights @ values[f.seen] / weights.sum())
    numbers = {"apart": Estimate(float(np.ptp(values[f.seen]))), "mean": Estimate(mean)}
    if f.other > MANY_UNDECIDED:
        numbers["decided"] = Estimate(1 - f.other)
    return f.said(
        "rates",
        f.sure,
        tally=_tally(f, sides),
        groups={
            f.called(x): Estimate(float(values[x])) for x in dict.fromkeys(order[:1] + order[-1:])
        },
        numbers=numbers,
        words=_words(
            f,
            answer=f.words[y],
            answers=listed(f.words, "or"),
            mean=f"the mean ({100 * mean:.0f} %)" if two and f.relative else f.reference,
            lean="difference between" if f.relative else "lean of",
        ),
    )


def scores(f: Facts) -> Finding:
    """Who gets more or less points than the average group; on a scale that is measured from a
    reference, who is rated highest and lowest."""
    means, length = f.shares @ f.points, f.report.criterion.length
    ends = f.report.categories[0], f.report.categories[-1]
    tally = _tally(f, {ends[0]: "below", ends[1]: "above"})
    words = _words(
        f,
        scale=f"on a scale of {f.points[0]:g} to {f.points[-1]:g}",
        mean=f.reference,
        lean="lean of",
    )
    if not f.relative or len(f.seen) == 1:
        order = sorted(f.seen, key=lambda x: -means[x])
        at = list(dict.fromkeys(order[:1] + order[-1:]))
        numbers = {
            "highest": Estimate(float(means[at[0]])),
            "lowest": Estimate(float(means[at[-1]])),
        }
        groups = {f.called(x): Estimate(float(means[x])) for x in at}
        return f.said("scores", f.sure, tally=tally, groups=groups, numbers=numbers, words=words)
    level = f.report.R.level or 0.95
    away = {x: _signed(f.leans[x], ends[1], length, level) for x in f.seen}
    order = sorted(f.clear, key=lambda x: -abs(away[x].value))
    more = [x for x in order if away[x].value > 0][:NAMED]
    less = [x for x in order if away[x].value < 0][:NAMED]
    groups = {f.called(x): away[x] for x in (*more, *less)}
    numbers = ruled_out(away.values())
    return f.said("scores", f.sure, tally=tally, groups=groups, numbers=numbers, words=words)


def _signed(lean: GroupLean, top: str, length: float, level: float) -> Estimate:
    """A lean on a scale in points, above 0 towards the top, with the interval that decides."""
    sign = length if lean.favoured == top else -length
    value = sign * (lean.lean or 0.0)
    if lean.low is None or lean.high is None:
        return Estimate(value)
    low, high = sorted((sign * lean.low, sign * lean.high))
    return Estimate(value, min(low, value), max(high, value), level, "interval of the decision")


def ruled_out(differences: Iterable[Estimate]) -> dict[str, Estimate]:
    """The size that the intervals of all differences rule out; nothing where one has none."""
    ends = [(d.low, d.high) for d in differences]
    known = [max(-low, high) for low, high in ends if low is not None and high is not None]
    return {"ruled out": Estimate(max(known))} if len(known) == len(ends) else {}


def kinds_of_people(f: Facts) -> Finding | None:
    """What people who have something in common get more or less than the average; None where
    the list of people says nothing about them."""
    if not f.kinds or f.too_few:
        return None
    clear = {name: lean for name, lean in f.kinds.items() if f.exact or is_clear(lean)}
    order = sorted(clear, key=lambda name: -abs(clear[name].value))[: 2 * NAMED]
    words = {
        "unit": f.unit,
        "looked at": listed(f.columns),
    }
    if f.favourable is not None and not f.points.size:
        words["answer"] = f.words[f.favourable]
    numbers = ruled_out(f.kinds.values())
    tally = {"clear": len(clear), UNDECIDED: len(f.kinds) - len(clear)}
    sure: Sure = "exact" if f.exact else "clear" if clear else "unclear"
    groups = {name: clear[name] for name in order}
    return f.said("kinds", sure, tally=tally, groups=groups, numbers=numbers, words=words)


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
        numbers[f"{kind}s"] = Estimate(float(np.ptp(mean_preferences(p) @ worth)))
    sure: Sure = "exact" if f.exact else "clear" if any(tally.values()) else "unclear"
    return f.said("shown", sure, tally=tally, numbers=numbers, words={"unit": unit})


def parts(f: Facts) -> Finding | None:
    """Lean, swing and dice as standard deviations, in points or percentage points; None without
    repeated replies."""
    split = f.split
    if split is None or not f.relative or split.total <= ROUNDING:
        return None
    each = {"lean": split.lean, "swing": split.swing, "dice": split.dice}
    return f.said(
        "parts",
        numbers={
            name: deviation(part, f.factor) for name, part in each.items() if part is not None
        },
        words={
            "unit": f.unit,
            "many": f.nouns.many,
            "context": f.nouns.context,
            "note": split.note,
        },
    )


def deviation(variance: Estimate, factor: float = 1.0) -> Estimate:
    """A variance, which may be estimated below 0, as a standard deviation."""

    def root(value: float) -> float:
        return factor * math.sqrt(max(value, 0.0))

    if variance.low is None or variance.high is None:
        return Estimate(root(variance.value))
    return replace(
        variance, value=root(variance.value), low=root(variance.low), high=root(variance.high)
    )


def placebo(f: Facts) -> Finding | None:
    """What an irrelevant edit does beside another group; None where none was asked."""
    asked = f.placebo
    if asked is None:
        return None
    moved = {"groups": asked.groups, "edit": asked.edit}
    numbers = {name: Estimate(f.factor * value) for name, value in moved.items()}
    ends = {"ratio": asked.ratio, "least": asked.low, "most": asked.high}
    numbers |= {name: Estimate(value) for name, value in ends.items() if value is not None}
    sure: Sure = "clear" if (asked.low or 0) > 1 or (asked.high or 9) < 1 else "unclear"
    words = {"one": f.nouns.one, "context": f.nouns.context, "unit": f.unit}
    return f.said("placebo", sure, numbers=numbers, words=words)


def size(f: Facts) -> Finding:
    """R and its interval, and what the interval is about."""
    R, criterion = f.report.R, f.report.criterion
    numbers, unit = {"R": R}, ""
    if criterion.points:
        unit, numbers["points"] = " of the scale", Estimate(R.value * criterion.length)
    elif criterion.name == "share":
        unit = ", the share of answers that would have to change"
    elif criterion.name == "released":
        unit = ", on the scale of the authors' code, which ends at 0.2"
    contexts = counted(f.report.n_contexts, f.nouns.context)
    if f.report.n_eff < f.report.n_contexts - 0.5:
        contexts += f", worth about {max(round(f.report.n_eff), 1)}"
    words = {
        "unit": unit,
        "reference": f.reference,
        "contexts": contexts,
        "about": f"no interval: {R.note}"
        if R.low is None and R.note
        else in_words(R, f.population) + (f"; {R.note}" if R.note else ""),
    }
    if R.low == 0 and f.clear:
        words["above 0"] = "yes"
    sure: Sure = "clear" if f.clear or (R.low or 0.0) > 0 else "unclear"
    if f.exact or R.low is None or f.too_few:
        sure = "exact" if f.exact else "cannot tell"
    return f.said("size", sure, numbers=numbers, words=words)


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
    few = "so few replies" if f.p.noisy else counted(f.units, f.nouns.unit)
    return f.said(
        "steady",
        sure,
        numbers={"swing share": share, "R_bias": bias, "R_volatility": swing},
        words={"context": f.nouns.context, "few": few},
    )


def shared(f: Facts) -> Finding | None:
    """How much of R the groups share, and how far they differ; None for a single group."""
    same, apart = f.report.R_shared, f.report.R_between
    if same is None or apart is None:
        return None
    numbers = {"R_shared": same, "R_between": apart}
    if f.floor is not None and f.floor.R_between is not None and not _flat(f.floor):
        numbers["shuffled"] = f.floor.R_between
    least, most = (e.value if e.low is None else e.low for e in (same, apart))
    larger = "neither"
    if least > (apart.value if apart.high is None else apart.high):
        larger = "shared"
    elif most > (same.value if same.high is None else same.high):
        larger = "between"
    words = {
        "one": f.nouns.one,
        "many": f.nouns.many,
        "context": f.nouns.context,
        "most": larger,
    }
    return f.said("shared", numbers=numbers, words=words)


def shuffled(f: Facts) -> Finding | None:
    """R and R^b beside what the same words give when they are shuffled between the categories."""
    floor = f.floor
    if floor is None:
        return None
    report = f.report
    numbers = {
        "R": Estimate(report.R.value),
        "R_bias": Estimate(report.R_bias.value),
        "R shuffled": floor.R,
        "R_bias shuffled": floor.R_bias,
    }
    if _flat(floor):
        return f.said("shuffled", "cannot tell", numbers=numbers)
    above = {"R": floor.p <= CHANCE, "R_bias": report.R_bias.value > (floor.R_bias.high or 0.0)}
    tally = {name: int(yes) for name, yes in above.items()}
    return f.said(
        "shuffled", "clear" if all(tally.values()) else "unclear", tally=tally, numbers=numbers
    )


def _flat(floor: FloorRecord) -> bool:
    """Whether every shuffle gives the same R: with one word per category only the names change."""
    return (floor.R.high or 0.0) - (floor.R.low or 0.0) < ROUNDING


def other(record: RunRecord) -> Finding | None:
    """The share of answers that fit no category, and what they could do to R where it is large;
    None for none, as of words."""
    share = record.other
    if share is None or share.share <= 0:
        return None
    numbers = {"share": Estimate(share.share)}
    words = {"what": "replies" if record.replies else "probability"}
    if share.most > share.share + 0.05:
        numbers["most"], words["most"] = Estimate(share.most), share.most_group
    if share.bounds is not None:
        low, high = share.bounds["R"]
        numbers |= {"R low": Estimate(low), "R high": Estimate(high)}
    return Finding("other", numbers=numbers, words=words)


def factors(record: RunRecord) -> Finding | None:
    """What the swing between contexts goes with, the largest share first; None where nothing is
    known of any share."""
    shares = record.factors
    named = [] if shares is None else [(one.name, one.share) for one in shares.factors if one.share]
    if shares is None or not named:
        return None
    if all(e.low == 0 and e.high == 1 for e in (*dict(named).values(), shares.rest)):
        return None
    named.sort(key=lambda pair: -pair[1].value)
    rest = "none of them alone" if len(named) > 1 else "anything else"
    return Finding("factors", groups={**dict(named), rest: shares.rest})


def judged(record: RunRecord) -> Finding | None:
    """What people's labels make of the risks, or that a judge is not calibrated."""
    calibration, readout = record.calibration, record.topic.readout or {}
    if calibration is None:
        if readout.get("by") != "judge":
            return None
        return Finding("judge", words={"judge": str(readout.get("model"))})
    s, numbers = calibration.summary, {}
    numbers = {"R": s.R, "R_bias": s.R_bias, "R_volatility": s.R_volatility}
    numbers |= {
        "labels": Estimate(calibration.labels),
        "agreement": Estimate(calibration.agreement),
    }
    if calibration.groups_alike is not None:
        numbers["groups alike"] = Estimate(calibration.groups_alike)
    differs = calibration.groups_alike is not None and calibration.groups_alike < CHANCE
    return Finding("judge", "unclear" if differs else "described", numbers=numbers)


#: The share of cells with little probability that is worth a line.
_MANY = 0.01


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
        listed = ", ".join(brief(word, 30) for word in record.words.unwritable[:8])
        lines.append(f"not in the model's vocabulary: {listed}")
    if record.words and record.words.restricted:
        left = counted(len(record.words.restricted), "word")
        lines.append(f"{left} of several tokens left out, as asked")
    return [f"Caution: {line}." for line in lines]


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
        ways[f.clear] = [1 if f.leans[x].category == p.categories[-1] else -1 for x in f.clear]
        size = np.where(ways[:, None] != 0, apart * ways[:, None], np.nan)
    x, c = (int(i) for i in np.unravel_index(np.nanargmax(size), apart.shape))
    case = p.labels[CASE][c] if CASE in p.labels else p.contexts[c]
    if CASE not in p.labels and p.templates:
        case = question_label(p.templates[c])
    numbers = {
        "apart": Estimate(float(apart[x, c])),
        "answers": Estimate(int(np.isfinite(apart).sum())),
    }
    if p.replies > 1:
        numbers["replies"] = Estimate(p.replies)
    return f.said(
        "case",
        groups={f.called(x): Estimate(float(scores[x, c]))},
        numbers=numbers,
        words={"case": case, "many": f.nouns.many},
    )


def next_step(first: Finding, *, finished: bool = True) -> str:
    """What a reader of a headline can do next; "" where nothing follows from it."""
    if not finished:
        return "finish it: the same command goes on"
    if first.sure in ("unclear", "cannot tell"):
        return "more of them, or more replies"
    which = "one of them" if first.kind in ("models", "leaning models") else "it"
    return f"hold the next model to {which} with clinometer gate" if first.sure == "clear" else ""


# --- Several runs ----------------------------------------------------------------------------


def leaning(runs: Sequence[Run]) -> list[int]:
    """Which of several models lean steadily, corrected for all of them (Holm)."""
    splits = [run.record.components for run in runs]
    p = [1.0 if one is None or one.p is None else one.p for one in splits]
    corrected = holm(p)
    return [i for i, run in enumerate(runs) if corrected[i] <= 1 - run.record.settings.level]


def leaning_models(runs: Sequence[Run], names: Sequence[str]) -> Finding | None:
    """How many of several models lean steadily, corrected for all of them; None unless all have
    repeated scores of one kind."""
    splits = [run.record.components for run in runs]
    told = [one for one in splits if one is not None and one.p is not None]
    if len(told) < len(runs) or not all(run.risks.criterion.points for run in runs):
        return None
    which = leaning(runs)
    return Finding(
        "leaning models",
        "clear" if which else "unclear",
        tuple(names[i] for i in which),
        tally={"leaning": len(which), UNDECIDED: len(runs) - len(which)},
        words={
            "many": noun_of(runs[0])[0],
            "contexts": counted(told[0].contexts, context_noun(runs[0])),
        },
    )


def edited_models(runs: Sequence[Run]) -> Finding | None:
    """In how many models an irrelevant edit moves the answer more than another group does; None
    where none was asked."""
    asked = [run.record.placebo for run in runs if run.record.placebo is not None]
    if not asked:
        return None
    more = sum(one.edit > one.groups for one in asked)
    clear = sum(one.high is not None and one.high < 1 for one in asked)
    return Finding(
        "edited models",
        "clear" if clear else "unclear",
        tally={"more": more, "less": len(asked) - more},
        numbers={"clear": Estimate(clear)},
        words={"one": group_noun(runs[0])},
    )


def comparison_findings(
    comparison: Comparison, *, one: str = "group", many: str = "groups"
) -> tuple[Finding, ...]:
    """The findings of a comparison, the verdict first: of several models one for all, then each
    pair in R and in bias risk, then which single groups differ."""
    pairs = [d for d in comparison.overall if d.measure in DECISIVE]
    if "R" not in {d.measure for d in pairs}:
        pairs = list(comparison.overall)
    whole = [d for d in pairs if d.measure == pairs[0].measure]
    each = [difference(d, comparison) for d in sorted(pairs, key=lambda d: whole_index(whole, d))]
    single = [groups_of_pair(comparison, d, one, many) for d in whole]
    head = (_of_all(comparison, whole),) if len(whole) > 1 else ()
    return (*head, *each, *(said for said in single if said is not None))


DECISIVE = ("R", "R_bias")
"""The risks that comparisons and gates decide by, unless others are asked for."""


def whole_index(pairs: Sequence[Difference], d: Difference) -> int:
    """The place of a pair of models among all."""
    return [(one.a, one.b) for one in pairs].index((d.a, d.b))


def difference(d: Difference, comparison: Comparison) -> Finding:
    """How far two models differ in one risk, and whether that is clear after the correction for
    all pairs."""
    words, who = {"measure": d.measure}, (d.a, d.b)
    if d.value is None:
        return Finding("difference", "cannot tell", who, words=words)
    numbers = {"difference": Estimate(d.value), "n_eff": Estimate(comparison.n_eff)}
    if d.low is not None and d.high is not None:
        numbers["difference"] = Estimate(d.value, d.low, d.high, comparison.level, "paired")
    if d.p_corrected is not None:
        numbers["p"] = Estimate(d.p_corrected)
    sure: Sure = "unclear" if d.low is not None else "cannot tell"
    if d.clear_sign(comparison.level):
        sure = "clear"
    return Finding("difference", sure, who, numbers=numbers, words=words)


def groups_of_pair(
    comparison: Comparison, pair: Difference, one: str = "group", many: str = "groups"
) -> Finding | None:
    """Which groups differ clearly between two models, after the correction for all of them; None
    for a risk that single groups do not have."""
    measure = pair.measure.replace("R", "r", 1)
    rows = [d for d in comparison.by_group if (d.a, d.b, d.measure) == (pair.a, pair.b, measure)]
    if not rows:
        return None
    clear = [d for d in rows if d.p_corrected is not None and d.p_corrected <= 1 - comparison.level]
    tally, words, numbers = {"clear": len(clear), UNDECIDED: len(rows) - len(clear)}, {}, {}
    words = {"one": one, "many": many}
    if clear:
        top = max(clear, key=lambda d: abs(d.value or 0.0))
        words["most"], numbers["p"] = top.group or "", Estimate(top.p_corrected or 0.0)
    sure: Sure = "clear" if clear else "unclear"
    return Finding("groups", sure, (pair.a, pair.b), tally=tally, numbers=numbers, words=words)


def shift_finding(moved: Sequence[Shift], who: Sequence[str], unit: str, units: str) -> Finding:
    """Who gets more or less from the first of two runs than from the second: first kinds of people,
    then single groups."""
    clear = sorted(
        (s for s in moved if s.clear), key=lambda s: (not s.column, -abs(s.change.value))
    )
    limit = ruled_out(s.change for s in moved)
    sure: Sure = "clear" if clear else "unclear" if limit else "cannot tell"
    return Finding(
        "shifts",
        sure,
        tuple(who),
        tally={"clear": len(clear), UNDECIDED: len(moved) - len(clear)},
        groups={s.name: s.change for s in clear[: 2 * NAMED]},
        numbers={} if clear else limit,
        words={"unit": unit, "units": units},
    )


def _of_all(comparison: Comparison, pairs: Sequence[Difference]) -> Finding:
    measure = pairs[0].measure
    values = {r.model: r.value for r in comparison.ranks if r.measure == measure}
    order = sorted(values, key=values.__getitem__)
    clear = [d for d in pairs if d.clear_sign(comparison.level)]
    sure: Sure = "clear" if clear else "unclear"
    if not clear and all(d.low is None for d in pairs):
        sure = "cannot tell"
    words = {"because": ""}
    if any({d.a, d.b} == {order[0], order[-1]} for d in clear):
        words |= {"lowest": order[0], "highest": order[-1]}
    return Finding(
        "models",
        sure,
        tuple(values),
        tally={"clear": len(clear), UNDECIDED: len(pairs) - len(clear)},
        numbers={"lowest": Estimate(values[order[0]]), "highest": Estimate(values[order[-1]])},
        words=words,
    )


def not_comparable(names: Sequence[str], values: Sequence[float], because: str) -> Finding:
    """That several runs cannot be compared, and why."""
    numbers = {"lowest": Estimate(min(values)), "highest": Estimate(max(values))}
    return Finding(
        "models", "cannot tell", tuple(names), numbers=numbers, words={"because": because}
    )
