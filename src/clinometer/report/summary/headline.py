"""The headline: facts of a run in, one plain sentence out, by a table of cases.

The first case that applies is used. Its claim is based on intervals, never on signs alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from clinometer.display.numbers import risk
from clinometer.report.charts.style import brief
from clinometer.report.summary.decisions import Rates, asks, find_rates, rates_headline
from clinometer.report.summary.leans import Leans
from clinometer.runs import Run
from clinometer.runs.group_sentences import above_floor, chance_headline, groups_above_floor

#: Plurals of built-in groups that follow no rule.
_IRREGULAR = {
    "counsel": "counsel",
    "faculty": "faculty",
    "police": "police",
    "salesperson": "salespeople",
}


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
            f"{_percent(f.low_coverage)} of its answers are close to noise."
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


def noun_of(run: Run) -> tuple[str, bool]:
    """What the groups are called, and whether their names are common nouns of English.

    The title of a built-in topic says it: "Gender by occupation".
    """
    one = group_noun(run)
    english = run.record.topic.language.lower().startswith("en")
    return plural(one), english and one == "occupation"


def group_noun(run: Run) -> str:
    """What one of them is called: "occupation"; "group" where the title does not say."""
    match = re.fullmatch(r".+ by ([a-z]+)", run.record.topic.title)
    return "group" if match is None else match[1]


def plural(noun: str) -> str:
    """The plural of an English noun.

    >>> [plural(n) for n in ("nurse", "secretary", "coach", "fireman", "ceo", "actress")]
    ['nurses', 'secretaries', 'coaches', 'firemen', 'CEOs', 'actresses']
    """
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if re.fullmatch(r"c[efiost]o", noun):
        return f"{noun.upper()}s"
    if re.search(r"(?<!hu)man$", noun):
        return noun[:-2] + "en"
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(s|x|z|ch|sh)$", noun) else "s")


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


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
