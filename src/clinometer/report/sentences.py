"""What the numbers mean in plain words, and what they do not mean."""

from __future__ import annotations

from collections.abc import Sequence

from clinometer.display.numbers import between, counted, risk
from clinometer.measure import Estimate, verdict
from clinometer.measure.correction import in_words
from clinometer.report.charts.style import brief
from clinometer.report.summary.decisions import asks
from clinometer.report.summary.screen import RunSummary, share_sentence
from clinometer.runs import Run
from clinometer.runs.answers import asked_sentences
from clinometer.runs.group_sentences import group_sentences, reference_in_words
from clinometer.runs.protocol import protocol_sentences

NOT_SAID = (
    "They do not say that a model is fair or unfair in use, and a low number is no certificate: "
    "other groups, contexts or words can give another one.",
    "They describe probabilities of words, not what a product built on the model shows to people.",
    "A lean can mirror the world, the training text or the wording of the contexts; the numbers "
    "do not tell which, and the reference they measure from (even shares, unless another was "
    "given) is a choice, not a truth.",
    "A risk of 0.4 is not “twice as bad” as one of 0.2 for the people concerned: the scale is "
    "one of probability, not of harm.",
)

SAID = (
    "Each model was asked the same question about every group in every context, and the "
    "probability of the words of each category was read off.",
    "R, the discrimination risk, is how far its answers are from the reference on average: 0 is "
    "always the reference, 1 always the same extreme.",
    "Bias risk is the part that stays when contexts are averaged: a steady lean. Volatility risk "
    "is the rest: the model leans one way in one sentence and another way in the next.",
)

#: Of topics of questions.
NOT_SAID_ASKED = (
    NOT_SAID[0],
    "They describe answers to short made-up questions, not what a product built on the model "
    "decides about people.",
    *NOT_SAID[2:],
)
SAID_ASKED = (
    "Each model was asked the same questions about every group, and its answers were read: the "
    "probability of each option, or the options that sampled replies choose. What is none of "
    "them is other.",
    "R, the discrimination risk, is how far its answers are from the reference on average: 0 is "
    "always the reference, 1 always the same extreme. Where the reference is the mean of the "
    "groups, 0 means that all groups get the same answers.",
    "Bias risk is the part that stays when questions are averaged: a steady lean. Volatility risk "
    "is the rest: a group gets more than its share in one question and less in the next.",
)


def limits(runs: Sequence[Run]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the numbers of a page say, and what they do not."""
    if runs and all(asks(run) for run in runs):
        return SAID_ASKED, NOT_SAID_ASKED
    return SAID, NOT_SAID


def sentences(summary: RunSummary) -> list[str]:
    """A run in a few sentences: size, steady or swinging, direction, certainty."""
    run, report = summary.run, summary.run.risks
    even = reference_in_words(run)
    unit = " on a scale from 0 to 1" if report.normalized else " on the scale of the raw equations"
    found = [
        f"Discrimination risk R is {estimate(report.R)}{unit}, where 0 is {even} in every answer.",
        f"Bias risk is {estimate(report.R_bias)}, volatility risk {estimate(report.R_volatility)}. "
        f"{share_sentence(run)}",
        *group_sentences(run),
        *asked_sentences(run),
        f"How sure: {_plain_verdict(run)} Shown are "
        f"{in_words(report.R, run.record.settings.population)}.",
    ]
    better = run.record.corrected
    if better:
        found.append(
            "Corrected for the number of contexts, bias risk is "
            f"{risk(better.R_bias)} and volatility risk {risk(better.R_volatility)}."
        )
    planned = protocol_sentences(run.record.protocol)
    return [*found, *planned, *warnings(brief(summary.opened.name), run)]


def warnings(name: str, run: Run) -> list[str]:
    """What a reader must know before using the numbers."""
    counts = run.record.counts
    found = []
    cells, low = counts.get("cells", 0), counts.get("cells_low_coverage", 0)
    if low:
        threshold = run.record.settings.coverage_threshold
        share = (
            f"{low:,} of {counted(cells, 'cell')}"
            if low < cells
            else f"all {counted(cells, 'cell')}"
        )
        found.append(
            f"Caution: {share} {'rests' if low == 1 else 'rest'} on less than {threshold:g} of "
            f"the probability; there {name} "
            "hardly ever gives any of the words, and the preference is close to noise."
        )
    if counts.get("cells_missing"):
        n = counts["cells_missing"]
        verb = "has" if n == 1 else "have"
        found.append(f"Caution: {n:,} of {counted(cells, 'cell')} {verb} no answer.")
    words = run.record.words
    if words and words.unwritable:
        listed = ", ".join(brief(w, 30) for w in words.unwritable[:8])
        found.append(f"Caution: not in the model's vocabulary: {listed}.")
    if words and words.restricted:
        found.append(
            f"{counted(len(words.restricted), 'word')} of several tokens left out, as asked."
        )
    return found


def estimate(e: Estimate) -> str:
    """0.253 (95 % interval 0.192 to 0.346)."""
    if e.low is None or e.high is None or e.level is None:
        return risk(e.value)
    return f"{risk(e.value)} ({100 * e.level:g} % interval {between(e.low, e.high, to=' to ')})"


def _plain_verdict(run: Run) -> str:
    words = verdict(run.risks)
    return words.replace("R^b", "bias risk").replace("R^v", "volatility risk")
