"""The first screen: headline, what R means here, chips, pictures and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from clinometer.display.numbers import between, counted, percent, risk
from clinometer.report.derived import Reading
from clinometer.report.figure import Figure
from clinometer.report.summary.decisions import asks, favourable
from clinometer.report.summary.examples import Example, likeliest_word, pick_examples
from clinometer.report.summary.headline import facts, headline, swing_share
from clinometer.report.summary.leans import Leans, find_leans
from clinometer.report.summary.pictures import groups_picture
from clinometer.report.summary.several_models import (
    headline_of_several,
    ranking_picture,
    spread_picture,
)
from clinometer.runs import Run
from clinometer.runs.answers import asked_sentences
from clinometer.runs.calibration import judge_sentence
from clinometer.runs.folder.recover import LoadedRun
from clinometer.runs.group_sentences import reference_in_words, split_sentence

#: Fewer effective contexts, or an interval wider than this share of R, are thin evidence.
_THIN_N, _THIN_WIDTH = 30, 0.5
_GOOD_N, _GOOD_WIDTH = 100, 0.25


@dataclass(frozen=True)
class Chip:
    """A number of the first screen: its name, value and interval."""

    name: str
    value: str
    interval: str = ""
    kind: str = ""
    about: str = ""


@dataclass(frozen=True, eq=False)
class Screen:
    """The content above the fold."""

    title: str
    lede: tuple[str, ...] = ()
    chips: tuple[Chip, ...] = ()
    pictures: tuple[Figure, ...] = ()
    examples: tuple[Example, ...] = ()
    categories: tuple[str, ...] = ()
    contexts: str = "sentences"


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A run with what its first screen and sections both need, each computed once."""

    opened: LoadedRun
    run: Run
    reading: Reading
    leans: Leans
    examples: tuple[Example, ...] = field(default=())

    @classmethod
    def of(cls, opened: LoadedRun, run: Run) -> RunSummary:
        reading = Reading(run)
        leans = find_leans(reading)
        return cls(opened, run, reading, leans, tuple(pick_examples(reading, leans)))

    @property
    def title(self) -> str:
        """The headline."""
        words = {}
        for y, _ in self.leans.counts[:2]:
            x = self.leans.strongest(y)
            if x is not None:
                words[y] = (self.run.risks.groups[x], likeliest_word(self.reading, x, y))
        finished = self.opened.state == "finished"
        return headline(facts(self.opened.name, self.leans, words, finished=finished))


def first_screen(summaries: Sequence[RunSummary]) -> Screen:
    """The first screen of one run, or of several."""
    if len(summaries) == 1:
        one = summaries[0]
        return Screen(
            one.title,
            lede(one.run),
            chips(one.run),
            (groups_picture(one.leans),),
            one.examples,
            one.run.preferences.categories,
            f"{context_noun(one.run)}s",
        )
    names, runs = [t.opened.name for t in summaries], [t.run for t in summaries]
    top = max(summaries, key=lambda t: t.run.risks.R.value)
    apart = spread_picture([t.leans for t in summaries], names)
    return Screen(
        headline_of_several(names, runs),
        (
            "R is how far an average answer is from the reference (0) towards always the same "
            "answer (1). Bias risk is the steady part of it, volatility risk the part that swings "
            "with the wording.",
        ),
        (),
        (ranking_picture(runs, names), *([apart] if apart else [])),
        top.examples if apart is None else (),
        top.run.preferences.categories,
        f"{context_noun(top.run)}s",
    )


def lede(run: Run) -> tuple[str, ...]:
    """What R means on this scale, and how much of it is steady."""
    report, R = run.risks, run.risks.R
    even = reference_in_words(run)
    most = (
        "always the same category (1)"
        if not isinstance(run.preferences.reference, str)
        else "certain answers that split the groups evenly (1)"
    )
    scale = (
        f"On average an answer is {risk(R.value)} of the way from {even} (0) to {most}"
        if report.normalized
        else f"On average an answer is {risk(R.value)} from {even} (raw equations)"
    )
    sure = f"; {100 * R.level:g} % interval {between(R.low, R.high)}" if R.level else ""
    split = split_sentence(report, run.record.floor)
    whole = f"{split[0].upper()}{split[1:]}." if split else ""
    judged = judge_sentence(run.record)
    asked = asked_sentences(run, rates=favourable(run) is None)
    said = (f"{scale}{sure}.", judged, share_sentence(run), whole, *asked)
    return tuple(line for line in said if line)


def share_sentence(run: Run) -> str:
    """How much of R is a steady lean, as far as the interval of the bias risk shows."""
    report = run.risks
    if report.R.value <= 0:
        return "There is no lean and no swing."
    found = swing_share(run)
    if found is None:
        return "How much of it is a steady lean is unknown without an interval."
    low, high = found
    if high - low > 0.5:
        return (
            f"{contexts_worth(run)} cannot tell how much of it is a steady lean and how much "
            f"swings with the wording; {more_contexts(run)}."
        )
    if low >= 0.95:
        return "Nearly all of it swings with the wording."
    if high <= 0.05:
        return "Nearly all of it is a steady lean."
    if low >= 0.5:
        return f"Most of it ({_range(low, high)}) swings with the wording; the rest is steady."
    if high <= 0.5:
        return f"Most of it ({_range(1 - high, 1 - low)}) is a steady lean; the rest swings."
    return f"About half of it ({_range(1 - high, 1 - low)}) is a steady lean; the rest swings."


def chips(run: Run) -> tuple[Chip, ...]:
    """R, its two components and the evidence."""
    report = run.risks
    named = (
        (
            "R",
            report.R,
            "",
            "How far an average answer is from the reference.",
        ),
        (
            "steady lean",
            report.R_bias,
            "b",
            f"Bias risk: what remains when {context_noun(run)}s are averaged.",
        ),
        ("swing", report.R_volatility, "v", "Volatility risk: what changes with the wording."),
    )
    found = [
        Chip(name, risk(e.value), between(e.low, e.high), kind, about)
        for name, e, kind, about in named
    ]
    if report.R_between is not None:
        e = report.R_between
        about = f"How far groups differ from each other in the same {context_noun(run)}."
        found.append(Chip("between groups", risk(e.value), between(e.low, e.high), "", about))
    if run.record.floor is not None:
        e = run.record.floor.R
        about = "R of shuffled words: what the lists give by chance."
        found.append(Chip("shuffled words", risk(e.value), between(e.low, e.high), "", about))
    level, why = evidence(run)
    return (*found, Chip("evidence", level, why, "evidence", "How far the numbers can be trusted."))


def evidence(run: Run) -> tuple[str, str]:
    """How strong the evidence is (thin, fair, good), and what it rests on."""
    report, R = run.risks, run.risks.R
    worth = contexts_worth(run, brackets=True)
    n = min(report.n_eff, float(report.n_contexts))
    if R.low is None or R.high is None or R.value <= 0:
        known = run.record.model.kind == "reference"
        return ("exact", "a reference model") if known else ("thin", worth)
    width = (R.high - R.low) / R.value
    if n < _THIN_N or width > _THIN_WIDTH:
        return "thin", worth
    return ("good" if n >= _GOOD_N and width <= _GOOD_WIDTH else "fair"), worth


def contexts_worth(run: Run, *, brackets: bool = False) -> str:
    """10 sentences, worth about 4: never worth more than there are."""
    report = run.risks
    n, worth = report.n_contexts, min(round(report.n_eff), report.n_contexts)
    count = counted(n, context_noun(run))
    if worth >= n:
        return count
    return f"{count} ≈ {worth}" if brackets else f"{count}, worth about {worth},"


def context_noun(run: Run) -> str:
    """What a context is: a sentence with a gap, or a question."""
    return "question" if asks(run) else "sentence"


def more_contexts(run: Run) -> str:
    if not run.record.finished:
        return "the rest of the run may tell"
    return "ask 200" if run.risks.n_contexts < 200 else "more contexts would tell"


def _range(low: float, high: float) -> str:
    a, b = percent(low), percent(high)
    return a if a == b else f"{a.removesuffix(' %')}–{b}"
