"""The headline of a report: facts in, one plain sentence out.

Of one run by a table of cases, the first that applies; its claim is based on intervals, never on
signs alone. With the mean of the groups as reference, a group that leans to "no" may still get
"yes" most of the time, so there the sentence compares rates and never says that a model writes
"no" for a group. Of several runs by their order, if it is clear; else by what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clinometer.display.numbers import percent, risk
from clinometer.errors import ClinometerError
from clinometer.report.cell_statistics import Leans
from clinometer.report.charts.style import brief
from clinometer.report.nouns import asks, favourable, group_text, noun_of, plural
from clinometer.runs import Run, compare
from clinometer.runs.answers import answer_columns
from clinometer.runs.group_sentences import above_floor, chance_headline, groups_above_floor

_MOSTLY = 0.5
"""Where fewer replies are one of the answers, the headline says so."""


@dataclass(frozen=True)
class Rates:
    """How often groups get the favourable of two answers.

    answer        that answer, as the model would write it
    above, below  (group, rate) furthest from the mean among the clear ones on either side
    mean          over the groups, by weight
    low, high     the lowest and the highest rate
    clear, under  groups that clearly differ from the mean, and those of them below it
    answered      share of the replies that are one of the answers
    """

    answer: str
    mean: float
    low: float
    high: float
    above: tuple[str, float] | None = None
    below: tuple[str, float] | None = None
    clear: int = 0
    under: int = 0
    answered: float = 1.0


@dataclass(frozen=True)
class Side:
    """A category that some groups clearly lean to: their number, the foremost, its word."""

    category: str
    count: int
    group: str = ""
    word: str = ""


@dataclass(frozen=True)
class Facts:
    """What a headline may say about a run.

    groups, seen   groups of the topic, and those with an answer
    finished       whether every cell was scored
    noun           what the groups are ("occupations")
    common         whether names of groups are common nouns, which can be put in the plural
    sides          categories with clear leans, most groups first
    low_coverage   share of the answers whose words carry hardly any probability
    intervals      whether the contexts allow one
    chance         the sentence for an R that is not above shuffled words; else ""
    contrast       the same, where groups nevertheless differ more than with shuffled words
    swing          (low, high): bounds of the volatility's share of R; None if unknown
    asked          whether the contexts are questions
    rates          how often groups get the favourable answer, where all should get the same
    """

    name: str
    groups: int
    seen: int
    R: float
    contexts: int
    noun: str = "groups"
    common: bool = False
    finished: bool = True
    sides: tuple[Side, ...] = ()
    low_coverage: float = 0.0
    intervals: bool = True
    chance: str = ""
    contrast: str = ""
    swing: tuple[float, float] | None = None
    asked: bool = False
    rates: Rates | None = None

    @property
    def clear(self) -> int:
        return sum(side.count for side in self.sides)


Case = tuple[str, Callable[[Facts], bool], Callable[[Facts], str]]

#: (case, when it applies, what it says), in order.
CASES: tuple[Case, ...] = (
    (
        "no answers",
        lambda f: f.seen == 0,
        lambda f: f"{f.name} gave no answer that can be measured.",
    ),
    (
        "as the reference",
        lambda f: f.R <= 1e-12,
        lambda f: f"{f.name} answers as the reference in every {_context(f)}: no lean, no swing.",
    ),
    (
        "groups differ, R not above shuffled words",
        lambda f: bool(f.contrast) and len(f.sides) > 1,
        lambda f: (
            f"{f.name} {_writes(f, f.sides[0])} and {_writes(f, f.sides[1], again=True)}; "
            f"{f.contrast}."
        ),
    ),
    (
        "not above shuffled words",
        lambda f: bool(f.chance),
        lambda f: f"{f.name}: {f.chance}.",
    ),
    (
        "words hardly occur",
        lambda f: f.low_coverage >= 0.5,
        lambda f: (
            f"{f.name} hardly ever {'gives' if f.asked else 'writes'} any of the "
            f"{'answers' if f.asked else 'words'}: "
            f"{_whole_percent(f.low_coverage)} of its answers are close to noise."
        ),
    ),
    (
        "one context",
        lambda f: not f.intervals and f.clear == 0,
        lambda f: (
            f"{f.name}: {_count(f.contexts, _context(f))} cannot tell a steady lean from chance "
            f"(R {risk(f.R)})."
        ),
    ),
    (
        "rates",
        lambda f: f.rates is not None,
        lambda f: (
            rates_headline(f.name, f.rates, f"{f.seen} {f.noun}{_asked(f)}", f.R) if f.rates else ""
        ),
    ),
    (
        "all one way",
        lambda f: len(f.sides) == 1 and f.clear == f.seen > 1,
        lambda f: f"{f.name} {_writes(f, f.sides[0], of='')}for all {f.seen} {f.noun}{_asked(f)}.",
    ),
    (
        "a single group",
        lambda f: f.clear == f.seen == 1,
        lambda f: f"{f.name} {_writes(f, f.sides[0])}{_asked(f)}.",
    ),
    (
        "some one way",
        lambda f: len(f.sides) == 1,
        lambda f: f"{f.name} {_writes(f, f.sides[0])}: {_lean(f)}{_to(f)}.",
    ),
    (
        "both ways",
        lambda f: len(f.sides) > 1,
        lambda f: (
            f"{f.name} {_writes(f, f.sides[0])} and {_writes(f, f.sides[1], again=True)}: "
            f"{_lean(f)}, {_most(f)}."
        ),
    ),
    (
        "swing alone",
        lambda f: f.swing is not None and f.swing[0] >= 0.5,
        lambda f: (
            f"{f.name} swings with the wording: {_none(f)}, and most of R {risk(f.R)} is swing."
        ),
    ),
    (
        "nothing clear",
        lambda f: True,
        lambda f: f"{f.name}: {_none(f)} in {_count(f.contexts, _context(f))} (R {risk(f.R)}).",
    ),
)


def facts(name: str, leans: Leans, words: dict[int, tuple[str, str]], *, finished: bool) -> Facts:
    """The facts of a run; `words`: category -> (foremost group, word written for it)."""
    run, report = leans.run, leans.run.risks
    noun, common = noun_of(run)
    cells = int(run.preferences.observed.sum())
    low = int(run.preferences.low_coverage.sum())
    return Facts(
        name=brief(name, 40),
        groups=len(report.groups),
        seen=len(leans.seen),
        R=report.R.value,
        contexts=report.n_contexts,
        noun=noun,
        common=common,
        finished=finished,
        sides=tuple(
            Side(run.preferences.categories[y], n, *words.get(y, ("", ""))) for y, n in leans.counts
        ),
        low_coverage=low / cells if cells else 0.0,
        intervals=report.R.low is not None,
        swing=swing_share(run),
        chance=_chance(run),
        contrast=_contrast(run),
        asked=asks(run),
        rates=find_rates(leans),
    )


def _chance(run: Run) -> str:
    """For an R not above its floor: that fact, and how much of R is the same for every group."""
    if run.record.floor is None or above_floor(run):
        return ""
    return chance_headline(run.risks, run.record.floor)


def _contrast(run: Run) -> str:
    """For an R not above its floor, of groups that differ more than their words when shuffled."""
    floor = run.record.floor
    if floor is None or above_floor(run) or not groups_above_floor(floor):
        return ""
    R = run.risks.R.value
    return f"R {R:.2f} overall is not above what shuffled words give ({floor.R.value:.2f})"


def headline(f: Facts) -> str:
    """The sentence of the first case that applies."""
    if not f.finished and f.seen == f.groups:  # every group, but not every context
        f = replace(f, name=f"{f.name} so far")
    return next(say(f) for _, applies, say in CASES if applies(f))


def swing_share(run: Run) -> tuple[float, float] | None:
    """Bounds of the volatility's share of R, from the interval of the bias risk."""
    R, bias = run.risks.R.value, run.risks.R_bias
    if R <= 0 or bias.low is None or bias.high is None:
        return None
    return max(0.0, 1 - bias.high / R), min(1.0, 1 - bias.low / R)


def _writes(f: Facts, side: Side, *, again: bool = False, of: str | None = None) -> str:
    """writes “she” for nurses; leans to female for Emily."""
    group = plural(side.group) if f.common else side.group
    whom = f" for {brief(group, 40)}" if of is None and side.group else of or ""
    if side.word:
        return f"{'' if again else 'writes '}“{brief(side.word, 24)}”{whom}" + (
            " " if of == "" else ""
        )
    return f"{'' if again else 'leans '}to {brief(side.category, 30)}{whom}" + (
        " " if of == "" else ""
    )


def _lean(f: Facts) -> str:
    total = f"{f.clear} of {f.seen} {f.noun}{_asked(f)}"
    return f"{total} {'leans' if f.clear == 1 else 'lean'} clearly"


def _asked(f: Facts) -> str:
    return "" if f.finished or f.seen == f.groups else f" scored so far (of {f.groups})"


def _to(f: Facts) -> str:
    side = f.sides[0]
    return f", {'all ' if f.clear > 1 else ''}to {brief(side.category, 30)}"


def _most(f: Facts) -> str:
    first = f.sides[0]
    if len(f.sides) == 2:
        return f"{first.count} of them to {brief(first.category, 30)}"
    listed = [f"{s.count} to {brief(s.category, 24)}" for s in f.sides[:3]]
    rest = f.clear - sum(s.count for s in f.sides[:3])
    return ", ".join(listed) + (f", {rest} elsewhere" if rest else "")


def _none(f: Facts) -> str:
    if f.seen == 1:
        return f"its only group{_asked(f)} does not lean clearly"
    return f"none of {f.seen} {f.noun}{_asked(f)} leans clearly"


def _context(f: Facts) -> str:
    return "question" if f.asked else "sentence"


def _count(n: int, noun: str) -> str:
    return f"{'one' if n == 1 else f'{n:,}'} {noun}{'' if n == 1 else 's'}"


def _whole_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def find_rates(leans: Leans) -> Rates | None:
    """The rates of a run with two answers, one of them favourable, measured from their mean."""
    run, y = leans.run, favourable(leans.run)
    names = run.preferences.categories
    if y is None or len(names) != 2 or not isinstance(run.preferences.reference, str):
        return None
    rate = answer_columns(run)["rate"]
    seen = np.isfinite(rate)
    if not seen.any():
        return None
    weights = np.where(seen, run.risks.group_weights, 0.0)
    texts = run.record.topic.attributes.get(names[y]) or [names[y]]

    def furthest(side: np.ndarray, sign: float) -> tuple[str, float] | None:
        if not side.any():
            return None
        x = int(np.where(side, sign * rate, -np.inf).argmax())
        return group_text(run, run.risks.groups[x]), float(rate[x])

    over, under = (leans.clear & seen & (leans.favoured == k) for k in (y, 1 - y))
    return Rates(
        answer=texts[0],
        mean=float(weights @ np.nan_to_num(rate) / weights.sum()),
        low=float(np.nanmin(rate)),
        high=float(np.nanmax(rate)),
        above=furthest(over, 1.0),
        below=furthest(under, -1.0),
        clear=int((over | under).sum()),
        under=int(under.sum()),
        answered=1.0 if run.record.other is None else 1.0 - run.record.other.share,
    )


def rates_headline(name: str, rates: Rates, groups: str, R: float) -> str:
    """The main result in one sentence; `groups`: "24 applicants".

    >>> rates = Rates("Yes", 0.56, 0.39, 0.71, ("Ann", 0.71), ("Bob", 0.39), clear=6, under=4)
    >>> rates_headline("M", rates, "24 applicants", 0.129)
    'M answers “Yes” more often for Ann (71 %) than for Bob (39 %): 6 of 24 applicants clearly \
differ from the mean (56 %), 4 below it.'
    """
    if rates.answered < _MOSTLY:
        name = f"{name}, where it answers at all ({percent(rates.answered)}),"
    verb = f"{name} answers “{brief(rates.answer, 24)}”"
    mean = percent(rates.mean)
    count = f"{rates.clear} of {groups} clearly {'differs' if rates.clear == 1 else 'differ'}"
    if rates.above and rates.below:
        return (
            f"{verb} more often for {_rate(rates.above)} than for {_rate(rates.below)}: {count} "
            f"from the mean ({mean}), {rates.under} below it."
        )
    if rates.above:
        return f"{verb} more often for {_rate(rates.above)} than on average ({mean}): {count}."
    if rates.below:
        return f"{verb} less often for {_rate(rates.below)} than on average ({mean}): {count}."
    low, high = percent(rates.low), percent(rates.high)
    ends = high if low == high else f"{low} to {high}"
    none = f"none of {groups} clearly differs from the mean"
    return f"{verb} in {ends} of cases: {none} (R {risk(R)})."


def _rate(rate: tuple[str, float]) -> str:
    return f"{brief(rate[0], 40)} ({percent(rate[1])})"


def headline_of_several(names: Sequence[str], runs: Sequence[Run]) -> str:
    """The main result for several models: their order, if it is clear; else what differs."""
    chance = sum(above_floor(run) is False for run in runs)
    below = f"{chance} of them {'is' if chance == 1 else 'are'} not"
    if chance == len(runs):
        below = "None of them is"
    alike = f" {below} above what shuffled words give." if chance else ""
    order = sorted(range(len(runs)), key=lambda i: runs[i].risks.R.value)
    low, high = order[0], order[-1]
    span = f"R {risk(runs[low].risks.R.value)} to {risk(runs[high].risks.R.value)}"
    if len({run.record.topic.sha256 for run in runs}) > 1:
        return f"{len(runs)} runs on different topics: {span}; their risks are not comparable."
    if apart(runs[low], runs[high], pairs=len(runs) * (len(runs) - 1) // 2):
        return (
            f"Of {len(runs)} models, {brief(names[high], 40)} is furthest from the reference "
            f"(R {risk(runs[high].risks.R.value)}) and {brief(names[low], 40)} nearest "
            f"(R {risk(runs[low].risks.R.value)}).{alike}"
        )
    shares = [_swing_value(run) for run in runs]
    top = max(range(len(runs)), key=shares.__getitem__)
    rest = [share for i, share in enumerate(shares) if i != top]
    if shares[top] >= 0.5 and max(rest) < shares[top] - 0.25:
        others = (
            f"the other {_whole_percent(rest[0])}"
            if len(rest) == 1
            else f"the others {_whole_percent(min(rest))} to {_whole_percent(max(rest))}"
        )
        return (
            f"{len(runs)} models are about equally far from the reference ({span}), but "
            f"{brief(names[top], 40)} swings: {_whole_percent(shares[top])} of its risk, "
            f"{others}.{alike}"
        )
    return (
        f"{len(runs)} models cannot be told apart in how far they are from the reference: "
        f"{span}.{alike}"
    )


def apart(low: Run, high: Run, *, pairs: int) -> bool:
    """Whether the lowest and the highest of several risks differ clearly; `pairs`: of how many
    pairs of models these two are the furthest apart.

    Models that answered the same questions are compared in pairs of answers: their intervals may
    overlap although one is above the other in nearly every context. Of other runs the intervals
    must not overlap; without intervals the risks must differ by 0.01.
    """
    a, b = low.risks.R, high.risks.R
    if a.high is None or b.low is None:
        return b.value - a.value >= 0.01
    try:
        p = compare(low, high, level=high.record.settings.level).overall[0].p
    except ClinometerError:  # other contexts or groups
        return a.high < b.low
    return p is not None and p * pairs <= 1 - high.record.settings.level


def _swing_value(run: Run) -> float:
    R = run.risks.R.value
    return run.risks.R_volatility.value / R if R > 0 else 0.0
