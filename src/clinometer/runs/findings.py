"""What was found: the statements that every output makes, in order, from one place.

`run_findings` turns a run into findings, `comparison_findings` a comparison. The first one is the
headline. Which it is decides `HEADLINES`, a table of rules: the first that applies. A statement
about certainty is made in `_sure` alone, so that no two of them can contradict each other:

- a group is called clear only if it is on the corrected list of `Run.leans`;
- that no difference is clear is said only where the interval of R reaches 0;
- where R is above 0 but no single group is clear, the sentence says that and not that nothing
  differs;
- fewer units than a test needs cannot tell, however large the numbers are.

The floor of shuffled words is a comparison, never the headline: it is about the size of R, not
about which way a model leans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.display.numbers import IN_SENTENCES, between, counted, p_relation, percent, risk
from clinometer.display.text import brief, proper
from clinometer.measure import Comparison, Estimate, Preferences, RiskReport
from clinometer.measure.comparison import Difference
from clinometer.measure.components import Components, Placebo
from clinometer.measure.correction import POPULATIONS, in_words
from clinometer.measure.leaning import GroupLean
from clinometer.runs.answers import mean_preferences, other_sentence, ratio_sentence
from clinometer.runs.folder.record import FloorRecord
from clinometer.runs.nouns import (
    context_noun,
    favourable,
    group_noun,
    group_text,
    label,
    noun_of,
    plural,
    question_label,
)
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.significance import holm
from clinometer.topics.conversation import CASE

if TYPE_CHECKING:
    from clinometer.runs.run import Run

NO_PROBABILITY = 1e-3
"""Below this share of the probability, the words of the categories are not what a model writes."""

UNDECIDED = 0.1
"""Above this share of answers that fit no category, rates are said to be of the others."""

CHANCE = 0.05
"""R is above its floor when at most this share of shuffles reaches it."""


@dataclass(frozen=True)
class Finding:
    """One statement.

    kind      what it is about, see `KINDS`
    text      the sentence
    sure      clear, unclear, cannot tell, exact (of a whole set) or described (no inference)
    value     its size, with low and high where there is an interval, in `unit`
    evidence  what it rests on
    overturn  what would overturn it
    numbers   other numbers in the sentence, by name
    """

    kind: str
    text: str
    sure: str = "described"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    evidence: str = ""
    overturn: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return {**vars(self), "numbers": dict(self.numbers)}


#: Every kind of finding, in the order in which they are made.
KINDS = {
    "nothing": "no answer can be measured",
    "improbable": "the words carry almost none of the probability",
    "alike": "every answer is as the reference",
    "ratings": "which groups are rated highest and lowest",
    "rates": "which groups get the favourable answer most and least often",
    "words": "which words are preferred, for how many groups, and the extremes",
    "answers": "whose answers are furthest from the reference",
    "split": "how steady scores are, and which groups lean",
    "parts": "how much of a reply's variance is lean, swing and dice",
    "placebo": "how far an irrelevant edit moves the answer, beside another group",
    "gap": "how many points the group that stands out most clearly is from the mean",
    "shown": "whether names or descriptions of the groups move the answer",
    "size": "R and its interval",
    "steadiness": "how much of R is steady and how much swings",
    "shared": "how much of R is the same for every group",
    "floor": "what shuffled words give",
    "other": "answers that fit no category",
    "impact": "the ratio of the lowest to the highest rate",
    "difference": "how far two models differ",
    "models": "how several models compare",
    "swap": "which model may replace which",
    "case": "which answer on a scale is furthest from the mean",
    "groups": "which groups differ between two models",
}


@dataclass(frozen=True, eq=False)
class Facts:
    """What the findings of a run are made of.

    name            of the model
    groups          [X] names as a sentence writes them
    shares          [X, Y] mean preference; NaN for a missing group
    leans           which groups lean clearly, and to what
    words           [Y] what a category is called in a sentence
    favourable      index of the favourable answer, if the topic names one
    noun, one       what groups are called: occupations, occupation
    context         what a context is called
    units           what inference rests on: their number and their name
    exact           no sampling error
    improbable      share of the cells whose words carry less than `NO_PROBABILITY`
    finished        whether every cell was asked
    spread          on a scale: standard deviation of the scores over the contexts, within groups
    split           lean, swing and dice of repeated replies
    placebo         irrelevant edits, where some were asked
    noisy           whether replies are too few to take their dice out of R
    plain           R with the dice of replies in it
    other           share of the answers, or of their probability, that fits no category
    """

    name: str
    report: RiskReport
    groups: tuple[str, ...]
    shares: FloatArray
    leans: tuple[GroupLean, ...]
    words: tuple[str, ...]
    relative: bool
    even: bool = True
    favourable: int | None = None
    noun: str = "groups"
    one: str = "group"
    context: str = "sentence"
    units: int = 0
    unit: str = "sentence"
    population: str = "similar"
    exact: bool = False
    improbable: float = 0.0
    floor: FloorRecord | None = None
    finished: bool = True
    spread: float = 0.0
    split: Components | None = None
    placebo: Placebo | None = None
    noisy: bool = False
    plain: float = 0.0
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
    def too_few(self) -> bool:
        """Whether the units cannot tell: R has no interval, or no test could list a group."""
        level = self.report.R.level or 0.95
        unknown = self.report.R.low is None and not self.noisy
        few = unknown or 2.0 ** (1 - self.units) > 1 - level
        return few and not self.exact and not self.clear

    @property
    def alike(self) -> bool:
        """Whether every answer is as the reference: R of sampled answers can be 0 by chance, or
        because dice were taken out of it."""
        R = self.report.R
        most = max(R.value, R.high or 0.0, self.plain)
        return most <= ROUNDING and not self.clear and not self.noisy

    @property
    def differs(self) -> bool:
        """Whether R is above 0 beyond its error."""
        low = self.report.R.low
        return self.report.R.value > ROUNDING if self.exact else low is not None and low > 0

    @property
    def who(self) -> str:
        return brief(self.name, 40) + ("" if self.finished else " so far")


def facts(run: Run, name: str | None = None, *, finished: bool = True) -> Facts:
    """The facts of a run."""
    p, record = run.preferences, run.record
    noun, common = noun_of(run)
    texts = [group_text(run, group) for group in run.risks.groups]
    asked = record.topic.readout is not None
    low = 0.0
    if p.coverage is not None and not asked and p.observed.any():
        low = float((p.coverage[p.observed] < NO_PROBABILITY).mean())
    words = [
        _said(category, record.topic.attributes.get(category) or (), asked=asked)
        for category in p.categories
    ]
    return replace(
        facts_of_table(
            name or label(run.model),
            p,
            run.risks,
            run.leans,
            clusters=record.settings.clusters,
            population=record.settings.population,
        ),
        groups=tuple(plural(text) if common else text for text in texts),
        words=tuple(words),
        favourable=favourable(run),
        noun=noun,
        one=group_noun(run),
        context=context_noun(run),
        unit=record.settings.clusters or context_noun(run),
        exact=record.model.kind == "reference" or p.exact(record.settings.population),
        improbable=low,
        floor=record.floor,
        finished=finished,
        split=record.components,
        placebo=record.placebo,
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
        report=report,
        groups=report.groups,
        shares=mean_preferences(p),
        leans=leans,
        words=p.categories,
        relative=isinstance(p.reference, str),
        even=p.reference is None,
        context="context",
        units=report.n_contexts if clusters is None else len(set(p.label(clusters))),
        unit=clusters or "context",
        population=population,
        exact=p.exact(population),
        spread=_spread(p, report),
        noisy=p.noisy,
        plain=p.decompose().R.value if p.answers is not None else report.R.value,
    )


def _spread(p: Preferences, report: RiskReport) -> float:
    """What a difference of points is divided by to standardise it."""
    points = np.array(report.criterion.points)
    if not points.size or p.values.shape[1] < 2:
        return 0.0
    scores = np.where(p.observed, np.nan_to_num(p.values @ points), np.nan)
    each = [np.nanvar(row, ddof=1) for row in scores if np.isfinite(row).sum() > 1]
    return float(np.sqrt(np.mean(each))) if each else 0.0


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
    found = statements(f)
    if found[0].kind == "improbable":
        return found
    said = [Finding("other", text)] if (text := other_sentence(run.record)) else []
    if (kinds := shown(run, f)) is not None:
        said.append(kinds)
    if text := ratio_sentence(run):
        chance = "" if f.clear or f.exact else "; no difference is clear, so chance may explain it"
        sure = "described" if not chance else "unclear"
        said.append(Finding("impact", f"{text}{chance}.", sure))
    return (found[0], *said, *found[1:])


def kinds_shown(run: Run) -> dict[str, Preferences]:
    """The groups by how people are shown: first names and surnames, each over all who bear it, and
    descriptions; whole names where none is borne twice. Empty where the groups do not say, and
    without kinds of a single member."""
    p, as_ = run.preferences, run.record.topic.shown_as
    if len(as_) != len(p.groups):
        return {}
    seen = [x for x in range(len(p.groups)) if p.observed[x].any()]
    names = [p.groups[x].split() for x in seen if as_[x] == "name"]
    crossed = all(len(name) == 2 for name in names) and any(
        len(set(part)) < len(names) for part in zip(*names, strict=False)
    )
    kinds: dict[str, dict[str, list[int]]] = {}
    for x in seen:
        parts = [(as_[x], p.groups[x])]
        if as_[x] == "name" and crossed:
            parts = list(zip(("first name", "surname"), p.groups[x].split(), strict=True))
        for kind, member in parts:
            kinds.setdefault(kind, {}).setdefault(member, []).append(x)
    return {kind: _pooled(p, of) for kind, of in kinds.items() if kind and len(of) > 1}


def _pooled(p: Preferences, members: Mapping[str, Sequence[int]]) -> Preferences:
    """Several groups as one each: their mean in every context, by weight, and all their answers."""
    weight = np.zeros((len(members), len(p.groups)))
    for row, at in zip(weight, members.values(), strict=True):
        row[at] = p.group_weights[at]
    there = weight[:, :, None] * p.observed
    total = there.sum(axis=1)
    values = np.einsum("nxc,xcy->ncy", there, np.nan_to_num(p.values))
    values /= np.where(total > 0, total, np.nan)[:, :, None]
    answers, each = p.answers, p.context_weights
    return replace(
        p,
        values=values,
        groups=tuple(members),
        group_weights=weight.sum(axis=1),
        context_weights=each if each.ndim == 1 else weight @ each / weight.sum(axis=1)[:, None],
        answers=None
        if answers is None
        else np.einsum("nxc,xc->nc", there > 0, np.nan_to_num(answers)),
        coverage=None,
        low=None,
        high=None,
    )


def shown(run: Run, f: Facts) -> Finding | None:
    """Whether names or descriptions move the answer: each kind of groups measured from its mean,
    so that how a person is shown is no difference itself. None where there is only one kind."""
    settings = run.record.settings
    if f.favourable is None and not f.report.criterion.points:
        return None
    kinds = kinds_shown(run)
    if not f.relative or len(kinds) < 2 or f.too_few or f.alike:
        return None
    points, unit = 100 * np.eye(len(f.words))[f.favourable or 0], " percentage points"
    if f.favourable is None:
        points, unit = np.array(f.report.criterion.points), " points"
    parts: list[str] = []
    moving: list[str] = []
    still: list[str] = []
    numbers: dict[str, float] = {}
    for kind, p in kinds.items():
        leans = p.leans(level=settings.level, clusters=settings.clusters, known=f.exact)
        clear = sum(one.category is not None for one in leans)
        (moving if clear else still).append(f"{kind}s")
        apart = float(np.ptp(mean_preferences(p) @ points))
        count = f"{clear} of {len(leans)}" + (" clearly" if not parts else "")
        parts.append(f"among {kind}s by {apart:.1f}{'' if parts else unit} ({count})")
        numbers |= {f"{kind}s_apart": apart, f"{kind}s_clear": float(clear)}
    verdict = f"{listed(moving)} move the answer"
    if moving and still:
        verdict += f", {listed(still)} do not clearly"
    elif moving:
        verdict = f"{listed(moving)} {'both' if len(moving) == 2 else 'all'} move the answer"
    elif len(still) == 2:
        verdict = f"neither {' nor '.join(still)} clearly move the answer"
    else:
        verdict = f"none of {listed(still)} clearly move the answer"
    sure = "exact" if f.exact else "clear" if moving else "unclear"
    text = f"{capital(verdict)}: it differs {listed(parts)}."
    return Finding("shown", text, sure, unit=unit.strip(), numbers=numbers)


def statements(f: Facts) -> tuple[Finding, ...]:
    """The findings that follow from the facts alone."""
    first = next(say(f) for applies, say in HEADLINES if applies(f))
    if first.kind in ("nothing", "improbable", "alike"):
        return (first,)
    split = parts(f)
    # The parts of a reply say what is steady, also where R has no interval that tells.
    told = first.kind == "split" or (split is not None and f.report.R.low is None)
    steady = steadiness(f) if f.report.R.value > ROUNDING and not told else None
    rest = (split, placebo(f), gap(f), size(f), steady, shared(f), floor(f))
    return (first, *(one for one in rest if one is not None))


def _nothing(f: Facts) -> Finding:
    return Finding("nothing", f"{f.who} gave no answer that can be measured.")


def _improbable(f: Facts) -> Finding:
    return Finding(
        "improbable",
        f"{f.who} hardly ever writes any of these words: in {percent(f.improbable)} of the cells "
        f"they carry less than {percent(NO_PROBABILITY)} of its probability, so their shares say "
        "nothing about it.",
        "cannot tell",
        f.improbable,
        unit="share of cells",
        overturn="words or contexts that the model would write",
    )


def _alike(f: Facts) -> Finding:
    what = "alike for every group" if f.relative else "as the reference"
    return Finding(
        "alike",
        f"{f.who} answers {what} in every {f.context}: no lean, no swing.",
        "exact",
        0.0,
        unit="R",
    )


def _ratings(f: Facts) -> Finding:
    points = np.array(f.report.criterion.points)
    means = f.shares @ points
    low, high = _ends(f, means)
    apart = float(means[high] - means[low])
    middle = _mean(f, means)
    scale = f"on a scale of {points[0]:g} to {points[-1]:g}"
    if len(f.seen) == 1:
        return _finding(f, "ratings", f"rates {f.groups[high]} {means[high]:.2f} {scale}", middle)
    if apart < 0.005:
        about = "about " if apart > ROUNDING else ""
        what = f"rates every group {about}{means[high]:.2f} {scale} on average"
    else:
        what = (
            f"rates {_group(f, high)} highest ({means[high]:.2f} {scale}) and {_group(f, low)} "
            f"lowest ({means[low]:.2f}), {apart:.2f} points apart{_standardised(f, apart)}"
        )
    numbers = {"lowest": float(means[low]), "highest": float(means[high]), "mean": middle}
    mean = f"the mean ({middle:.2f})" if f.relative else _reference(f)
    return _finding(f, "ratings", what, apart, "points", mean, numbers)


def _standardised(f: Facts, points: float) -> str:
    """A difference in standard deviations; "" where there is none to divide by."""
    if f.spread <= ROUNDING:
        return ""
    return f", {abs(points) / f.spread:.2f} standard deviations between {f.context}s"


def gap(f: Facts) -> Finding | None:
    """How far the group that stands out most is from the mean, with its interval; None without a
    scale, a mean to compare with, or a group that clearly differs."""
    length = f.report.criterion.length
    clear = [x for x in f.clear if f.leans[x].low is not None]
    if not f.report.criterion.points or not f.relative or not clear:
        return None
    x = max(clear, key=lambda i: f.leans[i].lean or 0.0)
    found = f.leans[x]
    lean, low, high = ((v or 0.0) * length for v in (found.lean, found.low, found.high))
    way = "below" if found.category == f.report.categories[0] else "above"
    text = (
        f"{capital(_group(f, x))} is {lean:.2f} points {way} the mean ({max(low, 0.0):.2f} to "
        f"{high:.2f}){_standardised(f, lean)}."
    )
    sign = -1.0 if way == "below" else 1.0
    low, high = sorted((sign * low, sign * high))
    return Finding("gap", text, "clear", sign * lean, low, high, "points")


def capital(text: str) -> str:
    """A sentence begins with it."""
    return text[:1].upper() + text[1:]


def _rates(f: Facts) -> Finding:
    y = f.favourable or 0
    rates = f.shares[:, y]
    low, high = _ends(f, rates)
    apart, middle = float(rates[high] - rates[low]), _mean(f, rates)
    verb, cases = f"answers {f.words[y]}", "of cases"
    if f.other > UNDECIDED:
        cases = f"of decided cases ({percent(1 - f.other)} of all)"
    if len(f.seen) == 1:
        return _finding(f, "rates", f"{verb} in {percent(rates[high])} {cases}", middle)
    if percent(rates[low]) == percent(rates[high]):
        about = "about " if apart > ROUNDING else ""
        what = f"{verb} in {about}{percent(rates[high])} {cases} for every group"
    else:
        what = (
            f"{verb} in {percent(rates[high])} {cases} for {_group(f, high)} and in "
            f"{percent(rates[low])} for {_group(f, low)}, {_points(apart)} apart"
        )
    numbers = {"lowest": float(rates[low]), "highest": float(rates[high]), "mean": middle}
    # A clear lean is from the reference, and to any answer: of two, also to the favourable one.
    of_rates = f.relative and f.shares.shape[1] == 2
    mean = f"the mean ({percent(middle)})" if of_rates else _reference(f)
    return _finding(f, "rates", what, 100 * apart, "percentage points", mean, numbers)


def _words(f: Facts) -> Finding:
    """Two categories: direction, count and extremes."""
    leaning = [x for x in f.seen if f.report.mean_stereotype[x].max() > ROUNDING]
    ahead = Counter(f.report.categories.index(f.leans[x].favoured or "") for x in leaning)
    y = min(ahead, key=lambda k: (-ahead[k], k), default=0)
    low, high = _ends(f, f.shares[:, y])
    ends = f.shares[low, y], f.shares[high, y]
    than = "" if f.even else " more than the reference"
    if not ahead:
        whom = _group(f, high) if len(f.seen) == 1 else f"any of {len(f.seen)} {f.noun}"
        text = (
            f"{f.who} prefers neither {f.words[0]} nor {f.words[1]}{than} on average for {whom}; "
            f"which way changes with the {f.context}."
        )
        sure, _, overturn = _sure(f, "")
        return Finding("words", text, sure, 0.0, unit="share of groups", overturn=overturn)
    if len(f.seen) == 1:
        what = f"prefers {f.words[y]}{than} for {_group(f, high)} ({percent(ends[1])})"
    else:
        what = (
            f"prefers {f.words[y]}{than} for {ahead[y]} of {len(f.seen)} {f.noun}: "
            f"{_group(f, high)} most, {percent(ends[1])}; {_group(f, low)} least, "
            f"{percent(ends[0])}"
        )
    numbers = {"groups": float(ahead[y]), "lowest": float(ends[0]), "highest": float(ends[1])}
    return _finding(f, "words", what, ahead[y] / len(f.seen), "share of groups", "", numbers)


def _answers(f: Facts) -> Finding:
    """Several categories: who is furthest from the reference, and towards what."""
    r = np.where(np.isnan(f.report.r), -np.inf, f.report.r)
    x = int(np.argmax(r))
    y = f.report.categories.index(f.leans[x].favoured or f.report.categories[0])
    where = f"{_group(f, x)} ({f.words[y]} {percent(f.shares[x, y])})"
    sides = Counter(f.leans[i].category for i in f.clear).most_common(3)
    to = ", ".join(f"{n} to {f.words[f.report.categories.index(name or '')]}" for name, n in sides)
    what = f"is furthest from {_reference(f)} for {where}" + (f"; clear leans: {to}" if to else "")
    return _finding(f, "answers", what, float(r[x]), "r", _reference(f), {"r": float(r[x])})


def _split(f: Facts) -> Finding:
    """Repeated scores: who leans steadily, and how far the same request moves when asked again."""
    split = f.split
    if split is None:
        return _ratings(f)
    level = split.lean.level or 0.95
    again = ""
    if split.dice is not None:
        moved = max(split.dice.value, 0.0) ** 0.5
        again = f"the same request, asked again, moves by {moved:.2f} points"
    clear = split.clear_groups()
    high = [g for g in clear if g.lean[0] > 0][:2]
    low = [g for g in clear if g.lean[0] < 0][:2]
    gives = [
        f"{listed([f'{brief(g.group, 40)} {abs(g.lean[0]):.2f}' for g in some])} points {word}"
        for some, word in ((high, "more"), (low, "less"))
        if some
    ]
    over = f"the average {f.one}, over {counted(split.contexts, f.context)}"
    units = counted(split.contexts, f.context)
    sure, overturn = "clear", f"other {f.context}s in which they do not"
    if split.p is None:
        sure, overturn = "cannot tell", f"more {f.context}s"
        what = f"was asked in {units} only, which cannot tell a steady lean from swing"
    elif gives:
        what = f"gives {' and '.join(gives)} than {over}"
    elif split.p <= 1 - level:
        what = f"leans by {f.one} on the whole over {units}, but no single one clearly"
    else:
        sure, overturn = "unclear", f"more {f.context}s or replies"
        what = f"shows no clear steady lean by {f.one} over {units}"
    return Finding(
        "split",
        f"{f.who} {what}" + (f"; {again}." if again else "."),
        sure,
        split.lean.value,
        split.lean.low,
        split.lean.high,
        "points²",
        f"{counted(len(split.groups), f.one)} × {units} × {split.replies:.3g} replies",
        overturn,
        {"clear": float(len(clear)), "seen": float(len(split.groups))},
    )


def parts(f: Facts) -> Finding | None:
    """How much of what a reply varies by is lean, swing and dice; None without repeated replies."""
    split = f.split
    if split is None or not f.relative or split.total <= ROUNDING:
        return None
    lean, swing, dice = (part / split.total for part in split.parts)
    text = (
        f"Of what an answer varies by in the same {f.context}, {percent(lean)} is the steady lean "
        f"of {f.noun}, {percent(swing)} swings with the {f.context}, and {percent(dice)} is dice: "
        "another answer to the same request."
    )
    if split.dice is None:
        text = (
            f"Every request was made once, so dice cannot be told from swing: {percent(lean)} of "
            f"what an answer varies by is the steady lean of {f.noun}."
        )
    if split.swing is None:
        text = f"One {f.context} cannot tell swing from lean."
    numbers = {"lean": lean, "swing": swing, "dice": dice}
    return Finding("parts", text, "described", lean, unit="share of variance", numbers=numbers)


def placebo(f: Facts) -> Finding | None:
    """What an irrelevant edit does beside another group; None where none was asked."""
    found = f.placebo
    if found is None:
        return None
    scale = bool(f.report.criterion.points)
    unit = "points" if scale else "percentage points"
    groups, edit = ((f"{v:.2f}" if scale else f"{100 * v:.1f}") for v in (found.groups, found.edit))
    moved = f"moves the answer by {groups} {unit}, an irrelevant edit by {edit} {unit}"
    if found.ratio is None:
        ends = "no ratio: the edits move nothing beyond dice"
    elif found.low is None:
        ends = f"ratio {found.ratio:.1f}; too few {f.context}s for an interval"
    elif found.high is None:
        ends = f"ratio {found.ratio:.1f}, at least {found.low:.1f}"
    else:
        ends = f"ratio {found.ratio:.1f}, {found.low:.1f} to {found.high:.1f}"
    sure = "clear" if (found.low or 0) > 1 or (found.high or 9) < 1 else "unclear"
    return Finding(
        "placebo",
        f"Another {f.one} {moved} ({ends}).",
        sure,
        found.ratio,
        found.low,
        found.high,
        "ratio",
        numbers={"groups": found.groups, "edit": found.edit},
    )


def strongest_case(run: Run) -> Finding | None:
    """The answer on a scale that is furthest from what all groups get in the same context, of the
    groups that lean clearly and their way, if any do; None where there is no scale or no
    difference. The largest of many, it is an example and no estimate."""
    p, f = run.preferences, facts(run)
    points = np.array(f.report.criterion.points)
    if not points.size or not f.relative or f.alike or not p.observed.any():
        return None
    scores = np.where(p.observed, np.nan_to_num(p.values) @ points, np.nan)
    apart = scores - np.broadcast_to(p.grid.reference, p.values.shape) @ points
    size = np.abs(apart)
    if f.clear:
        ways = np.zeros(len(f.groups))
        ways[f.clear] = [1 if f.leans[x].category == p.categories[-1] else -1 for x in f.clear]
        size = np.where(ways[:, None] != 0, apart * ways[:, None], np.nan)
    x, c = (int(i) for i in np.unravel_index(np.nanargmax(size), apart.shape))
    case = p.labels[CASE][c] if CASE in p.labels else p.contexts[c]
    if CASE not in p.labels and p.templates:
        case = question_label(p.templates[c])
    each = f", each the mean of {p.replies:.2g} replies" if p.replies > 1 else ""
    way = "above" if apart[x, c] > 0 else "below"
    text = (
        f"{capital(_group(f, x))} gets {scores[x, c]:.1f} in “{brief(case, 70)}”, "
        f"{abs(apart[x, c]):.1f} points {way} what all {f.noun} get there: the furthest of "
        f"{int(np.isfinite(size).sum()):,} answers{each}."
    )
    return Finding("case", text, "described", float(apart[x, c]), unit="points")


def edited_models(runs: Sequence[Run]) -> Finding | None:
    """In how many models an irrelevant edit moves the answer more than another group does; None
    where none was asked."""
    asked = [run.record.placebo for run in runs if run.record.placebo is not None]
    if not asked:
        return None
    more = sum(one.edit > one.groups for one in asked)
    clear = sum(one.high is not None and one.high < 1 for one in asked)
    text = (
        "An edit that should not matter (a blank line, the weather, the colour of a car) moves "
        f"the answer more than another {group_noun(runs[0])} does in {more} of "
        f"{counted(len(asked), 'model')}, clearly in {clear}."
    )
    numbers = {"more": float(more), "clear": float(clear), "models": float(len(asked))}
    return Finding("placebo", text, "clear" if clear else "unclear", numbers=numbers)


def next_step(first: Finding) -> str:
    """What a reader of a headline can do next; "" where nothing follows from it."""
    if first.sure in ("unclear", "cannot tell"):
        return first.overturn or "more contexts"
    which = "one of them" if first.kind == "models" else "it"
    return f"hold the next model to {which} with clinometer gate" if first.sure == "clear" else ""


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def leaning_models(runs: Sequence[Run]) -> list[int]:
    """Which of several models lean steadily, corrected for all of them (Holm)."""
    found = [run.record.components for run in runs]
    p = [1.0 if one is None or one.p is None else one.p for one in found]
    corrected = holm(p)
    return [i for i, run in enumerate(runs) if corrected[i] <= 1 - run.record.settings.level]


def split_models(runs: Sequence[Run], names: Sequence[str]) -> Finding | None:
    """How many of several models lean steadily, corrected for all of them; None unless all have
    repeated scores of one kind."""
    found = [run.record.components for run in runs]
    splits = [one for one in found if one is not None and one.p is not None]
    if len(splits) < len(runs) or not all(run.risks.criterion.points for run in runs):
        return None
    leaning = [names[i] for i in leaning_models(runs)]
    dice = [one.parts[2] / one.total for one in splits if one.total > 0]
    one, noun = group_noun(runs[0]), context_noun(runs[0])
    most = (
        f"{_range(min(dice), max(dice))} of what a score varies by is dice: another "
        "answer to the same request. "
        if dice and splits[0].dice is not None
        else ""
    )
    count = f"{len(leaning)} of {len(runs)} models" if leaning else f"None of {len(runs)} models"
    verb = "leans" if len(leaning) == 1 else "lean" if leaning else "leans clearly"
    which = f": {listed([brief(name, 40) for name in leaning])}" if leaning else ""
    return Finding(
        "models",
        f"{most}{count} {verb} by {one}, steadily over {counted(splits[0].contexts, noun)}{which}.",
        "clear" if leaning else "unclear",
        float(len(leaning)),
        unit="models",
        numbers={"models": float(len(runs)), "leaning": float(len(leaning))},
    )


#: (when it applies, what it says), in order: the first is the headline.
HEADLINES: tuple[tuple[Callable[[Facts], bool], Callable[[Facts], Finding]], ...] = (
    (lambda f: not f.seen, _nothing),
    (lambda f: f.improbable > 0.5, _improbable),
    (lambda f: f.alike, _alike),
    (lambda f: f.split is not None and f.relative and bool(f.report.criterion.points), _split),
    (lambda f: bool(f.report.criterion.points), _ratings),
    (lambda f: f.favourable is not None, _rates),
    (lambda f: len(f.words) == 2 and not f.relative, _words),
    (lambda f: True, _answers),
)


def _finding(
    f: Facts,
    kind: str,
    what: str,
    value: float,
    unit: str = "",
    middle: str = "",
    numbers: Mapping[str, float] | None = None,
) -> Finding:
    """What was seen, and in the same sentence how sure it is."""
    sure, clause, overturn = _sure(f, middle)
    return Finding(
        kind=kind,
        text=f"{f.who} {what}{clause}.",
        sure=sure,
        value=float(value),
        unit=unit,
        evidence=f"{counted(len(f.seen), f.one)} in {counted(f.report.n_contexts, f.context)}, "
        f"{counted(f.units, f.unit)} to generalise from",
        overturn=overturn,
        numbers={"clear": float(len(f.clear)), "seen": float(len(f.seen)), **(numbers or {})},
    )


def _sure(f: Facts, middle: str) -> tuple[str, str, str]:
    """How sure a headline is, the clause that says so, and what would overturn it.

    The only place that says "clearly": see the rules at the top of this module.
    """
    n, seen = len(f.clear), len(f.seen)
    units = counted(f.units, f.unit)
    other = f"other {f.unit}s" if f.population == "similar" else POPULATIONS[f.population]
    if f.exact:
        return "exact", f", in exactly these {units}", f"another set of {f.unit}s"
    if f.too_few:
        tell = f"; {units} cannot tell whether {other} would show it"
        return "cannot tell", tell, f"more {f.unit}s"
    more, gone = f"more {f.unit}s", f"{other} in which they do not"
    if f.noisy:
        more = "more replies to each request"
    if seen == 1:
        return ("clear", ", clearly", gone) if n else ("unclear", ", not clearly", more)
    if n and middle:
        verb = "differs" if n == 1 else "differ"
        return "clear", f"; {n} of {seen} {f.noun} clearly {verb} from {middle}", gone
    if n:
        verb = "is" if n == 1 else "are"
        clause = f"; all {n} are clear" if n == seen else f"; {n} of {seen} {verb} clear"
        return "clear", clause, gone
    if not f.differs:
        of = "difference between" if f.relative else "lean of"
        return "unclear", f"; no {of} the {seen} {f.noun} is clear", more
    if (f.report.R_bias.low or 0.0) > 0:
        do = "differ" if f.relative else "lean"
        return "clear", f"; the {f.noun} {do} on the whole, but no single one clearly", gone
    swing = f"; which way changes with the {f.context}, and no single {f.one} leans steadily"
    return "unclear", swing, more


def size(f: Facts) -> Finding:
    """R and its interval, and what the interval is about."""
    R, criterion = f.report.R, f.report.criterion
    unit = points = ""
    if criterion.points:
        unit, points = " of the scale", f"{R.value * criterion.length:.2f} points"
    elif criterion.name == "share":
        unit = ", the share of answers that would have to change"
    elif criterion.name == "released":
        unit = ", on the scale of the authors' code, which ends at 0.2"
    ends = "" if R.low is None else between(R.low, R.high, to=" to ")
    if R.low == 0 and f.clear:  # wide from few contexts, but some group leans: R is not 0
        ends = f"above 0, up to {risk(R.high)}"
    shown = "; ".join(part for part in (ends, points) if part)
    shown = f" ({shown})" if shown else ""
    worth = ""
    if f.report.n_eff < f.report.n_contexts - 0.5:
        worth = f", worth about {max(round(f.report.n_eff), 1)}"
    about = f"no interval: {R.note}" if R.note else in_words(R, f.population)
    return Finding(
        "size",
        f"R is {risk(R.value)}{unit}{shown}, the distance from {_reference(f)}; "
        f"{counted(f.report.n_contexts, f.context)}{worth}; {about}.",
        "exact"
        if f.exact
        else "cannot tell"
        if R.low is None or f.too_few
        else "clear"
        if R.low > 0 or f.clear
        else "unclear",
        R.value,
        R.low,
        R.high,
        criterion.name,
    )


def steadiness(f: Facts) -> Finding:
    """How much of R is a steady lean, as far as the interval of the bias risk shows."""
    R, bias, swing = f.report.R.value, f.report.R_bias, f.report.R_volatility
    if R <= 0:
        return Finding("steadiness", "There is no lean and no swing.", "described", 0.0)
    low, high = swing_share(f.report) or (None, None)
    share = swing.value / R
    numbers = {"R_bias": bias.value, "R_volatility": swing.value}
    if low is None or high is None or f.too_few:
        if f.exact:
            text = (
                f"{percent(1 - share)} of R is a steady lean, the rest swings with the {f.context}."
            )
            if share <= ROUNDING:
                text = f"All of R is a steady lean; nothing swings with the {f.context}."
            return Finding("steadiness", text, "exact", share, unit="share of R", numbers=numbers)
        few = "so few replies" if f.noisy else counted(f.units, f.unit)
        text = f"How much of R is steady and how much swings cannot be told from {few}."
        return Finding("steadiness", text, "cannot tell", share, unit="share of R", numbers=numbers)
    sure = "clear"
    if high - low > 0.5:
        sure = "cannot tell"
        text = (
            f"{counted(f.units, f.unit)} cannot tell how much of R is a steady lean and how much "
            "swings with the wording."
        )
    elif low >= 0.95:
        text = "Nearly all of R swings with the wording."
    elif high <= 0.05:
        text = "Nearly all of R is a steady lean."
    elif low >= 0.5:
        text = f"Most of R ({_range(low, high)}) swings with the wording; the rest is steady."
    elif high <= 0.5:
        text = f"Most of R ({_range(1 - high, 1 - low)}) is a steady lean; the rest swings."
    else:
        text = f"About half of R ({_range(1 - high, 1 - low)}) is a steady lean; the rest swings."
    return Finding("steadiness", text, sure, share, low, high, "share of R", numbers=numbers)


def swing_share(report: RiskReport) -> tuple[float, float] | None:
    """Bounds of the volatility's share of R, from the interval of the bias risk."""
    R, bias = report.R.value, report.R_bias
    if R <= 0 or bias.low is None or bias.high is None:
        return None
    return max(0.0, 1 - bias.high / R), min(1.0, 1 - bias.low / R)


def shared(f: Facts) -> Finding | None:
    """How much of R the groups share, and how far they differ; None for a single group."""
    same, apart = f.report.R_shared, f.report.R_between
    if same is None or apart is None:
        return None
    chance = ""
    if f.floor is not None and f.floor.R_between is not None and not _flat(f.floor):
        given = f.floor.R_between
        chance = f" ({risk(given.value)} with shuffled words, {_shuffles(given)})"
        if groups_above_floor(f.floor):
            chance = f", more than with shuffled words ({risk(given.value)})"
    least, most = (e.value if e.low is None else e.low for e in (same, apart))
    of_groups = f"{f.noun} differ by {risk(apart.value)} in the same {f.context}{chance}"
    if least > (apart.value if apart.high is None else apart.high):
        text = f"Most of R is the same for every {f.one} ({risk(same.value)}); {of_groups}."
    elif most > (same.value if same.high is None else same.high):
        text = (
            f"Most of R differs between {f.noun}: {of_groups}; {risk(same.value)} is common to all."
        )
    else:
        text = f"{risk(same.value)} of R is the same for every {f.one}, and {of_groups}."
    numbers = {"R_shared": same.value, "R_between": apart.value}
    return Finding(
        "shared", text, "described", apart.value, apart.low, apart.high, "R", numbers=numbers
    )


def floor(f: Facts) -> Finding | None:
    """What shuffled words give, as a comparison."""
    if f.floor is None:
        return None
    given, R = f.floor.R, f.report.R.value
    if _flat(f.floor):
        text = (
            f"Shuffled words give the same R ({risk(given.value)}): lists this short cannot tell "
            "how much of its size comes from how common the words are."
        )
        return Finding("floor", text, "cannot tell", given.value, unit="R")
    ends = f"{risk(given.value)}; {_shuffles(given)}"
    if f.floor.p <= CHANCE:
        text = f"R {risk(R)} is above what the same words give when shuffled ({ends})."
    else:
        text = (
            "For comparison: the same words, shuffled between the categories, give an R of this "
            f"size ({ends}), so the size comes from how common the words are, not from which way "
            "the model leans."
        )
    sure = "clear" if f.floor.p <= CHANCE else "unclear"
    return Finding("floor", text, sure, given.value, given.low, given.high, "R")


def _shuffles(given: Estimate) -> str:
    return f"the middle 95 % of shuffles {between(given.low, given.high)}"


def above_floor(run: Run) -> bool | None:
    """Whether R is above what shuffled words give; None if unknown."""
    found = run.record.floor
    return None if found is None else found.p <= CHANCE


def groups_above_floor(found: FloorRecord) -> bool:
    """Whether groups differ from each other more than with shuffled words."""
    known = found.R_between is not None and not _flat(found)
    return known and (found.p_between or 0.0) <= CHANCE


def _flat(found: FloorRecord) -> bool:
    """Whether every shuffle gives the same R: with one word per category only the names change."""
    return (found.R.high or 0.0) - (found.R.low or 0.0) < ROUNDING


def _reference(f: Facts) -> str:
    """What R measures from."""
    if f.relative:
        return f"what all {f.noun} get in the same {f.context}"
    return "an even split" if f.even else "the given reference"


def _ends(f: Facts, values: FloatArray) -> tuple[int, int]:
    """The groups with the lowest and the highest value."""
    return min(f.seen, key=lambda x: values[x]), max(f.seen, key=lambda x: values[x])


def _mean(f: Facts, values: FloatArray) -> float:
    weights = f.report.group_weights[f.seen]
    return float(weights @ values[f.seen] / weights.sum())


def _group(f: Facts, x: int) -> str:
    return proper(brief(f.groups[x], 40))


def _points(apart: float) -> str:
    """A difference of two rates; with a digit where there would be none."""
    shown = f"{100 * apart:.0f}" if apart >= 0.0095 else percent(apart).removesuffix(" %")
    return f"{shown} percentage point{'' if shown == '1' else 's'}"


def _range(low: float, high: float) -> str:
    a, b = percent(low), percent(high)
    return a if a == b else f"{a.removesuffix(' %')}–{b}"


# --- Several runs ----------------------------------------------------------------------------


def comparison_findings(
    found: Comparison, *, measure: str = "R", noun: str = "groups"
) -> tuple[Finding, ...]:
    """The findings of a comparison, the verdict first: one sentence for all models, then one for
    each pair, then what single groups show."""
    pairs = [d for d in found.overall if d.measure == measure]
    each = [difference(d, found) for d in pairs]
    of_groups = [(d, one) for d in pairs if (one := groups_of_pair(found, d, noun)) is not None]
    if len(pairs) == 1:
        if not of_groups:
            return tuple(each)
        one = of_groups[0][1]
        joined = f"{each[0].text.removesuffix('.')}; {_continued(one.text)}"
        return (replace(each[0], text=joined), one)
    named = [
        replace(one, text=f"{brief(d.a, 40)} and {brief(d.b, 40)}: {_continued(one.text)}")
        for d, one in of_groups
    ]
    return (_of_all(found, pairs), *each, *named)


def _continued(text: str) -> str:
    """A sentence after another part."""
    return text[0].lower() + text[1:]


def difference(d: Difference, found: Comparison) -> Finding:
    """How far two models differ in one risk, and whether that is clear after the correction for
    all pairs."""
    what = IN_SENTENCES[d.measure]
    a, b = brief(d.a, 40), brief(d.b, 40)
    value = d.corrected if d.corrected is not None else d.value
    if value is None:
        return Finding("difference", f"{a} and {b} cannot be compared in {what}.", "cannot tell")
    sign = d.clear_sign(found.level)
    numbers = {"p": 1.0 if d.p_corrected is None else d.p_corrected}
    way = "higher" if sign > 0 else "lower"
    if sign and d.low is None:
        text = (
            f"{a} has a clearly {way} {what} than {b}: by {risk(abs(value))} "
            f"(p {p_relation(d.p_corrected)})."
        )
        return Finding("difference", text, "clear", value, unit=d.measure, numbers=numbers)
    if d.low is None or d.high is None:
        text = (
            f"{a} and {b} differ by {risk(abs(value))} in {what}; {found.n_eff:.1f} effective "
            "contexts cannot tell whether others would show it."
        )
        return Finding("difference", text, "cannot tell", value, unit=d.measure)
    ends = between(*sorted((abs(d.low), abs(d.high))), to=" to ")
    if sign:
        text = f"{a} has a clearly {way} {what} than {b}: by {risk(abs(value))} ({ends})."
        return Finding(
            "difference", text, "clear", value, d.low, d.high, d.measure, numbers=numbers
        )
    signed = f"{d.low:+.3f} to {d.high:+.3f}".replace("-", "−")
    shown = f"{value:+.3f} ({signed})".replace("-", "−")
    text = f"{a} and {b} do not clearly differ in {what}: {shown}."
    return Finding("difference", text, "unclear", value, d.low, d.high, d.measure, numbers=numbers)


def groups_of_pair(found: Comparison, pair: Difference, noun: str) -> Finding | None:
    """Which groups differ clearly between two models, after the correction for all of them; None
    for a risk that single groups do not have."""
    measure = pair.measure.replace("R", "r", 1)
    rows = [d for d in found.by_group if (d.a, d.b, d.measure) == (pair.a, pair.b, measure)]
    if not rows:
        return None
    clear = [d for d in rows if d.p_corrected is not None and d.p_corrected <= 1 - found.level]
    numbers = {"clear": float(len(clear)), "groups": float(len(rows))}
    one = noun.removesuffix("s")
    if not clear:
        return Finding("groups", f"No single {one} differs clearly.", "unclear", numbers=numbers)
    top = max(clear, key=lambda d: abs(d.corrected or 0.0))
    verb = "differs" if len(clear) == 1 else "differ"
    text = (
        f"{len(clear)} of {len(rows)} {noun} {verb} clearly, {brief(top.group or '', 40)} most "
        f"(p {p_relation(top.p_corrected)})."
    )
    return Finding("groups", text, "clear", numbers=numbers)


def swaps(found: Comparison, *, measure: str = "R") -> Finding:
    """Which model lowers a risk in the place of which, as far as that is clear."""
    what = IN_SENTENCES[measure]
    better: dict[str, list[str]] = {}
    for d in found.overall:
        if d.measure == measure and (sign := d.clear_sign(found.level)):
            high, low = (d.a, d.b) if sign > 0 else (d.b, d.a)
            better.setdefault(high, []).append(low)
    if not better:
        text = f"No model in the place of another clearly lowers {what}."
        return Finding("swap", text, "unclear", numbers={"swaps": 0.0})
    number = sum(map(len, better.values()))
    most = sorted(better, key=lambda name: -len(better[name]))[:2]
    each = [f"in the place of {brief(name, 40)}, {_either(better[name])}" for name in most]
    rest = number - sum(len(better[name]) for name in most)
    others = f"; so would {rest} other swaps" if rest else "; no other swap clearly would"
    text = f"{capital('; '.join(each))} would clearly lower {what}{others}."
    return Finding("swap", text, "clear", numbers={"swaps": float(number)})


def _either(names: Sequence[str]) -> str:
    """a, b or c; of many the first three."""
    some = [brief(name, 40) for name in names[:3]]
    last = f"{len(names) - 2} others" if len(names) > 3 else some[-1]
    return " or ".join([", ".join(some[: min(len(names), 3) - 1]), last]) if len(some) > 1 else last


def _of_all(found: Comparison, pairs: Sequence[Difference]) -> Finding:
    values = {r.model: r.value for r in found.ranks if r.measure == pairs[0].measure}
    order = sorted(values, key=values.__getitem__)
    low, high = order[0], order[-1]
    what = IN_SENTENCES[pairs[0].measure]
    clear = [d for d in pairs if d.clear_sign(found.level)]
    span = f"{what} {risk(values[low])} to {risk(values[high])}"
    count = (
        f"{len(clear)} of {len(pairs)} pairs {'differs' if len(clear) == 1 else 'differ'} clearly"
    )
    if not clear and all(d.low is None for d in pairs):
        text = f"{len(values)} models: {span}; these contexts cannot tell whether they differ."
        return Finding("models", text, "cannot tell")
    if not clear:
        text = f"No difference between the {len(values)} models is clear: {span}."
        return Finding("models", text, "unclear", values[high] - values[low], unit=pairs[0].measure)
    ends = any({d.a, d.b} == {low, high} for d in clear)
    named = f"{brief(low, 40)} has the lowest, {brief(high, 40)} the highest {what}"
    if not ends:
        named = f"which has the lowest {what} is not clear"
    text = f"Of {len(values)} models ({span}), {named}; {count}."
    return Finding("models", text, "clear", values[high] - values[low], unit=pairs[0].measure)
