"""What the numbers of a run mean in plain words, how sure they are, and what they do not mean."""

from __future__ import annotations

from collections.abc import Sequence

from clinometer.display.numbers import between, counted, percent, risk
from clinometer.measure import Estimate
from clinometer.runs import Run
from clinometer.runs.findings import HEADLINES, cautions
from clinometer.runs.nouns import asks, context_noun
from clinometer.runs.protocol import protocol_sentences

#: Fewer effective contexts, or an interval wider than this share of R, are thin evidence.
_THIN_N, _THIN_WIDTH = 30, 0.5
_GOOD_N, _GOOD_WIDTH = 100, 0.25

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

#: Of questions, and of replies that were counted.
NOT_SAID_ASKED = (
    NOT_SAID[0],
    "They describe answers to the questions that were asked, not what a product built on the "
    "model decides about people.",
    *NOT_SAID[2:],
)
SAID_ASKED = (
    "Each model was asked the same questions about every group, and its answers were read: the "
    "probability of each option, or the options that sampled replies choose. What is none of "
    "them is other.",
    "R, the discrimination risk, is how far its answers are from the reference on average: the "
    "share of answers that would have to change, or of the rating scale by which they would have "
    "to move. Where the reference is the mean of the groups, 0 means that all groups get the same "
    "answers.",
    "Bias risk is the part that stays when questions are averaged: a steady lean. Volatility risk "
    "is the rest: a group gets more than its share in one question and less in the next.",
)


def limits(runs: Sequence[Run]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the numbers of a page say, and what they do not."""
    if runs and all(asks(run) or run.preferences.answers is not None for run in runs):
        return SAID_ASKED, NOT_SAID_ASKED
    return SAID, NOT_SAID


def lede(run: Run) -> tuple[str, ...]:
    """What follows the headline: how much of R is steady, and what else moves the answer. The strip
    below it has R and what it is measured from, the badge the number of contexts."""
    said = {one.kind: one.text for one in run.findings[1:]}
    kinds = (
        "judge",
        *HEADLINES,
        "shown",
        "placebo",
        "parts",
        "steady",
        "shared",
        "other",
    )
    return tuple(said[kind] for kind in (*kinds, "shuffled") if kind in said)


def sentences(run: Run) -> list[str]:
    """A run in a few sentences: its findings, its risks, and what a reader must know first."""
    report = run.risks
    said = [
        *(one.text for one in run.findings),
        f"R is {estimate(report.R)}, bias risk {estimate(report.R_bias)}, volatility risk "
        f"{estimate(report.R_volatility)}.",
    ]
    return [*said, *protocol_sentences(run.record.protocol), *cautions(run)]


def factor_sentences(run: Run) -> tuple[str, ...]:
    """Which factors the swing goes with, where the contexts have any."""
    return tuple(one.text for one in run.findings if one.kind == "factors")


def estimate(e: Estimate) -> str:
    """0.253 (95 % interval 0.192 to 0.346)."""
    if e.low is None or e.high is None or e.level is None:
        return risk(e.value)
    return f"{risk(e.value)} ({100 * e.level:g} % interval {between(e.low, e.high, to=' to ')})"


def evidence(run: Run) -> tuple[str, str]:
    """How strong the evidence is (thin, fair, good), and what it rests on."""
    report, R = run.risks, run.risks.R
    worth = contexts_worth(run)
    n = min(report.n_eff, float(report.n_contexts))
    if R.low is None or R.high is None or R.value <= 0:
        exact = run.record.model.kind == "reference"
        return ("exact", "a reference model") if exact else ("thin", worth)
    other = run.record.other
    if other is not None and other.share > 0.5:
        return "thin", f"{percent(1 - other.share)} of the answers of {worth} are decided"
    width = (R.high - R.low) / R.value
    if n < _THIN_N or width > _THIN_WIDTH:
        return "thin", worth
    return ("good" if n >= _GOOD_N and width <= _GOOD_WIDTH else "fair"), worth


def contexts_worth(run: Run) -> str:
    """10 sentences that count like 4: never like more than there are."""
    report = run.risks
    n, worth = report.n_contexts, min(round(report.n_eff), report.n_contexts)
    count = counted(n, context_noun(run))
    return count if worth >= n else f"{count} that count like {worth}"
