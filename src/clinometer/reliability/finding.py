"""A finding of a reliability run or of a comparison with people, and a sentence for each kind.

A finding is data; the terminal, pages and JSON read the same objects, and nothing but the templates
below makes English of them. COBIAS is as printed: higher is more reliable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clinometer.display.numbers import between, counted, percent, risk, show
from clinometer.display.text import Plain, brief
from clinometer.statistics.estimate import Estimate

Sure = Literal["clear", "unclear", "cannot tell", "described"]


@dataclass(frozen=True)
class ReliabilityFinding(Plain):
    """One statement about a run or a comparison."""

    kind: str
    """What it is about: a key of `TEMPLATES`."""

    sure: Sure = "described"
    """Whether it is clear; "described" where nothing is inferred."""

    who: tuple[str, ...] = ()
    """The models that it is about."""

    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    """The numbers with their intervals, by name."""

    words: Mapping[str, str] = field(default_factory=dict)
    """What the sentence calls things."""

    @property
    def text(self) -> str:
        """The sentence."""
        return TEMPLATES[self.kind](self)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the sentence as plain values, ready for JSON."""
        return super().to_dict() | {"text": self.text}


def side(estimate: Estimate) -> int:
    """Return 1 or -1 where the interval lies on one side of 0, else 0."""
    if estimate.low is None or estimate.high is None:
        return 0
    return int(estimate.low > 0) - int(estimate.high < 0)


def _cobias(finding: ReliabilityFinding) -> str:
    """0.712 (0.690 to 0.733)"""
    estimate = finding.numbers["cobias"]
    ends = between(estimate.low, estimate.high, to=" to ")
    if not ends:
        return risk(estimate.value)
    return f"{risk(estimate.value)} ({ends})"


def _rho(finding: ReliabilityFinding) -> str:
    """rho = +0.712 (+0.690 to +0.733)"""
    estimate = finding.numbers["rho"]
    text = f"rho = {show(estimate.value, 'signed points')}"
    if estimate.low is None:
        return text
    low = show(estimate.low, "signed points")
    high = show(estimate.high, "signed points")
    return f"{text} ({low} to {high})"


def _mean(finding: ReliabilityFinding) -> str:
    n = int(finding.numbers["scored"].value)
    text = f"“{brief(finding.words['lowest'], 70)}”"
    if n == 1:
        return f"COBIAS of {text} is {_cobias(finding)}."
    return (
        f"Mean COBIAS of {n:,} statements: {_cobias(finding)}; lowest, so least "
        f"reliable: {text} ({risk(finding.numbers['lowest'].value)})."
    )


def _length(finding: ReliabilityFinding) -> str:
    rho = _rho(finding)
    if finding.sure != "clear":
        return (
            f"No sign that the ranking follows length: {rho} with the number of words."
        )
    is_higher = finding.numbers["rho"].value > 0
    return (
        f"Longer statements score {'higher' if is_higher else 'lower'}: COBIAS follows the number "
        f"of words with {rho}. "
        "Compare statements of like length, or by their rank at equal length."
    )


def _no_target(finding: ReliabilityFinding) -> str:
    without = int(finding.numbers["without"].value)
    total = int(finding.numbers["statements"].value)
    subject = f"{without:,} of {total:,} statements have no target term"
    if without == total:
        subject = "No statement has a target term"
    return (
        f"{subject}, so all their words count as context, as COBIAS treats Winogender and "
        "RedditBias. If they are about a group, name it in a column target_term and rerun."
    )


def _with_people(finding: ReliabilityFinding) -> str:
    sign = finding.numbers["sign"].value
    verb = "does not clearly follow"
    if sign > 0:
        verb = "follows"
    elif sign < 0:
        verb = "runs against"
    people = counted(int(finding.numbers["people"].value), "annotator")
    n = finding.numbers["statements"].value
    return (
        f"{finding.words['score']} {verb} the judgements of {people} on {n:.0f} statements: "
        f"{_rho(finding)}, {finding.words['given']}; above 0, what people find specified enough "
        "scores higher."
    )


def _two_models(finding: ReliabilityFinding) -> str:
    a, b = finding.who
    rho = finding.numbers["rho"].value
    return (
        f"{a} and {b} rank the statements alike to rho = {rho:.2f}: read a rank as that of these "
        "models."
    )


def _ranks(finding: ReliabilityFinding) -> str:
    places = finding.numbers["places"].value
    ranked = finding.numbers["ranked"].value
    return (
        "With other versions of the statements the median statement's rank would be the same to "
        f"within {places:.0f} of {ranked:.0f} places."
    )


def _too_close(finding: ReliabilityFinding) -> str:
    width = finding.numbers["width"].value
    spread = finding.numbers["spread"].value
    return (
        f"Most statements cannot be told apart: the median interval is {width:.3f} wide, the "
        f"scores have a standard deviation of {spread:.3f}."
    )


def _counts(finding: ReliabilityFinding) -> str:
    counts = [f"{name} {n.value:.0f}" for name, n in finding.numbers.items()]
    return f"Counted: {', '.join(counts)}."


def _no_correlation(finding: ReliabilityFinding) -> str:
    score = finding.words["score"]
    return (
        f"{score} cannot be compared with the judgements: one of the two does not vary."
    )


def _low_level(finding: ReliabilityFinding) -> str:
    level = percent(finding.numbers["level"].value)
    return f"No verdict: it takes intervals of {level} or more."


TEMPLATES: dict[str, Callable[[ReliabilityFinding], str]] = {
    "nothing": lambda _: "No statement has a score.",
    "mean": _mean,
    "length": _length,
    "no target": _no_target,
    "not validated": lambda _: (
        "Not validated by itself: whether these models with these versions agree with people, "
        "'clinometer reliability validate' tests (small models agree little)."
    ),
    "two models": _two_models,
    "one model": lambda _: (
        "One scoring model: another may rank these statements in another order (--model twice "
        "shows how far)."
    ),
    "ranks": _ranks,
    "too close": _too_close,
    "counts": _counts,
    "agreement with people": _with_people,
    "no correlation": _no_correlation,
    "no control": lambda _: "No verdict: the score was not compared with random words.",
    "low level": _low_level,
    "passed": lambda _: (
        "The first score passes: it follows the judgements beyond length, and more than random "
        "words do."
    ),
    "not passed": lambda _: (
        "The first score does not pass: its correlation given length is not above 0, or not above "
        "that of random words."
    ),
}
"""The sentence of each kind of finding."""
