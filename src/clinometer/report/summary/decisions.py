"""What a headline says where all groups should get the same answer: rates beside each other.

With the mean of the groups as reference, a group that leans to "no" may still get "yes" most of the
time, so the sentence compares rates and never says that a model writes "no" for a group.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from clinometer.display.numbers import percent, risk
from clinometer.readouts.choice import OPTIONS
from clinometer.report.charts.style import brief
from clinometer.report.summary.leans import Leans
from clinometer.runs import Run
from clinometer.runs.answers import answer_columns
from clinometer.runs.folder.recover import find_topic

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


def asks(run: Run) -> bool:
    """Whether the contexts are questions."""
    return run.record.topic.readout is not None


def favourable(run: Run) -> int | None:
    """The index of the favourable answer; None where the topic names none."""
    name = (run.record.topic.readout or {}).get("favourable")
    names = run.preferences.categories
    return names.index(name) if name in names else None


def group_text(run: Run, group: str) -> str:
    """A group as a sentence writes it ("a Black man"), as far as that is known."""
    topic = find_topic(run.record)
    if topic is None or group not in topic.group_names:
        return group
    return topic.groups[topic.group_names.index(group)].text or group


def find_rates(leans: Leans) -> Rates | None:
    """The rates of a run with two answers, one of them favourable, measured from their mean."""
    run, y = leans.run, favourable(leans.run)
    names = run.preferences.categories
    if y is None or len(names) != 2 or not _from_mean(run):
        return None
    rate = answer_columns(run)["rate"]
    seen = np.isfinite(rate)
    if not seen.any():
        return None
    weights = np.where(seen, run.risks.group_weights, 0.0)
    texts = run.record.topic.attributes.get(names[y]) or [names[y]]

    def furthest(there: np.ndarray, sign: float) -> tuple[str, float] | None:
        if not there.any():
            return None
        x = int(np.where(there, sign * rate, -np.inf).argmax())
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


def example_reason(run: Run, x: int, y: int, why: str, share: float, reference: float) -> str:
    """Why a question is shown: the group, whose name may be cut off above, its share of the
    favoured answer y beside that of all groups in the same question, and the reason."""
    name = brief(run.preferences.categories[y], 24)
    mean = f", mean {percent(reference)}" if _from_mean(run) else ""
    return f"{brief(run.preferences.groups[x], 40)}: {name} {percent(share)}{mean} · {why}"


def question_of(text: str) -> str:
    """A question without the cue for its answer.

    >>> question_of("Should we meet Ann? Answer: ")
    'Should we meet Ann? '
    """
    return re.sub(r"(?<=\s)\w+:\s*$", "", text)


def from_group(question: str, group: str) -> str:
    """A question from the sentence on that names the group; all of it if none does.

    >>> from_group("You own a firm. Answer Yes or No. We met a man. Hire him?", "a man")
    '… We met a man. Hire him?'
    """
    at = question.lower().find(group.lower())
    ends = [m.end() for m in re.finditer(r"(?:[.?!]|to this:)\s+", question[: max(at, 0)])]
    return f"… {question[ends[-1] :]}" if ends else question


def question_label(template: str) -> str:
    """A question short enough to tell it from the others: the sentence about [X], and the order of
    the options.

    >>> question_label("Answer [options: no, yes]. You own a firm. Hire [X]? Answer: [Y]")
    '… Hire …? (no, yes)'
    """
    order = OPTIONS.search(template)
    text = from_group(OPTIONS.sub("", template), "[X]").removesuffix("Answer: [Y]").strip()
    shown = text.replace("[X]", "…").replace("[Y]", "___")
    return f"{shown} ({order[1].strip()})" if order and order[1] else shown


def _from_mean(run: Run) -> bool:
    """Whether the reference is the mean of the groups."""
    return isinstance(run.preferences.reference, str)


def _rate(found: tuple[str, float]) -> str:
    return f"{brief(found[0], 40)} ({percent(found[1])})"
