"""What a reliability run or a comparison with people says: findings, and a sentence for each kind.

A finding is data; the terminal, pages and JSON read the same objects, and nothing but the templates
below makes English of them. COBIAS is as printed: higher is more reliable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from clinometer.display.numbers import between, counted, percent, risk, show
from clinometer.display.text import Plain, brief
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.reliability.record import ReliabilityRecord

Sure = Literal["clear", "unclear", "cannot tell", "described"]


@dataclass(frozen=True)
class ReliabilityFinding(Plain):
    """One statement.

    kind     what it is about: a key of `TEMPLATES`
    sure     clear, unclear, cannot tell, or described (no inference)
    who      the models that it is about
    numbers  with their intervals, by name
    words    what the sentence calls things
    """

    kind: str
    sure: Sure = "described"
    who: tuple[str, ...] = ()
    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence."""
        return TEMPLATES[self.kind](self)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The fields and the sentence as plain values, ready for JSON."""
        return super().to_dict() | {"text": self.text}


def run_findings(
    record: ReliabilityRecord, statements: pd.DataFrame
) -> tuple[ReliabilityFinding, ...]:
    """What a run says, the headline first."""
    scored = statements[statements["cobias"].notna()]
    who = tuple(m.id for m in record.models)
    mean, stability = record.summary.get("cobias"), record.summary.get("stability")
    if mean is None or stability is None or scored.empty:
        return (ReliabilityFinding("nothing", "cannot tell", who), *_counts(record))
    lowest = scored.sort_values("cobias", kind="stable").iloc[0]
    numbers = {
        "cobias": mean,
        "stability": stability,
        "scored": Estimate(len(scored)),
        "lowest": Estimate(float(lowest["cobias"])),
    }
    words = {"lowest": str(lowest["text"])}
    findings = [ReliabilityFinding("mean", "described", who, numbers, words)]
    length = record.length
    if length is not None and length.rho is not None:
        sure: Sure = "clear" if side(length.rho) else "unclear"
        findings.append(ReliabilityFinding("length", sure, who, {"rho": length.rho}))
    without = record.counts.overall.get("statements_without_target", 0)
    if without:
        total = Estimate(len(statements))
        numbers = {"without": Estimate(without), "statements": total}
        findings.append(ReliabilityFinding("no target", numbers=numbers))
    findings.append(
        ReliabilityFinding("not validated", "cannot tell")
    )  # people were not asked
    findings += [
        ReliabilityFinding(
            "two models", "described", (pair.a, pair.b), {"rho": pair.rho}
        )
        for pair in record.agreement
        if pair.rho is not None
    ]
    if len(who) == 1:
        findings.append(ReliabilityFinding("one model", "cannot tell", who))
    return (*findings, *_precision(record), *_counts(record))


def _precision(record: ReliabilityRecord) -> list[ReliabilityFinding]:
    """How sure the ranks are, and whether single statements can be told apart."""
    sure = record.sureness
    if sure is None or sure.ranked <= 2:
        return []
    findings = []
    if sure.rank_interval is not None:
        numbers = {
            "places": Estimate(sure.rank_interval),
            "ranked": Estimate(sure.ranked),
        }
        findings.append(ReliabilityFinding("ranks", numbers=numbers))
    width, spread = sure.interval_width, sure.spread
    if width is not None and spread is not None and width > 2 * spread:
        numbers = {"width": Estimate(width), "spread": Estimate(spread)}
        findings.append(ReliabilityFinding("too close", "unclear", numbers=numbers))
    return findings


def _counts(record: ReliabilityRecord) -> list[ReliabilityFinding]:
    """Everything that was counted, by its name and, of a model, its model."""
    regular = {"statements", "versions", "flag_", "statements_without_target"}
    counts = {k: n for k, n in record.counts.overall.items() if n and k not in regular}
    for model, by_model in record.counts.by_model.items():
        counts |= {f"{model}: {k}": n for k, n in by_model.items() if n}
    numbers = {name.replace("_", " "): Estimate(n) for name, n in counts.items()}
    return [ReliabilityFinding("counts", numbers=numbers)] if numbers else []


def side(found: Estimate) -> int:
    """1 or -1 where the interval lies on one side of 0, else 0."""
    if found.low is None or found.high is None:
        return 0
    return int(found.low > 0) - int(found.high < 0)


# --- One template a kind --------------------------------------------------------------------------


def _shown(number: Estimate, write: Callable[[float], str] = risk) -> str:
    """0.712 (0.690 to 0.733)"""
    ends = between(number.low, number.high, to=" to ")
    return f"{write(number.value)} ({ends})" if ends else write(number.value)


def _rho(number: Estimate) -> str:
    shown = [
        show(value, "signed points")
        for value in (number.value, number.low, number.high)
    ]
    ends = "" if number.low is None else f" ({shown[1]} to {shown[2]})"
    return f"rho = {shown[0]}{ends}"


def _mean(f: ReliabilityFinding) -> str:
    n = int(f.numbers["scored"].value)
    text = f"“{brief(f.words['lowest'], 70)}”"
    if n == 1:
        return f"COBIAS of {text} is {_shown(f.numbers['cobias'])}."
    return (
        f"Mean COBIAS of {n:,} statements: {_shown(f.numbers['cobias'])}; lowest, so least "
        f"reliable: {text} ({risk(f.numbers['lowest'].value)})."
    )


def _length(f: ReliabilityFinding) -> str:
    rho = f.numbers["rho"]
    if f.sure != "clear":
        return f"No sign that the ranking follows length: {_rho(rho)} with the number of words."
    longer = "higher" if rho.value > 0 else "lower"
    return (
        f"Longer statements score {longer}: COBIAS follows the number of words with {_rho(rho)}. "
        "Compare statements of like length, or by their rank at equal length."
    )


def _no_target(f: ReliabilityFinding) -> str:
    n, every = int(f.numbers["without"].value), int(f.numbers["statements"].value)
    which = (
        "No statement has" if n == every else f"{n:,} of {every:,} statements have no"
    )
    term = " a target term" if n == every else " target term"
    return (
        f"{which}{term}, so all their words count as context, as COBIAS treats Winogender and "
        "RedditBias. If they are about a group, name it in a column target_term and rerun."
    )


def _with_people(f: ReliabilityFinding) -> str:
    rho = f.numbers["rho"]
    sign = f.numbers["sign"].value
    does = (
        "follows"
        if sign > 0
        else "runs against"
        if sign < 0
        else "does not clearly follow"
    )
    people = counted(int(f.numbers["people"].value), "annotator")
    return (
        f"{f.words['score']} {does} the judgements of {people} on "
        f"{f.numbers['statements'].value:.0f} statements: {_rho(rho)}, {f.words['given']}; above "
        "0, what people find specified enough scores higher."
    )


TEMPLATES: dict[str, Callable[[ReliabilityFinding], str]] = {
    "nothing": lambda f: "No statement has a score.",
    "mean": _mean,
    "length": _length,
    "no target": _no_target,
    "not validated": lambda f: (
        "Not validated by itself: whether these models with these versions agree with people, "
        "'clinometer reliability validate' tests (small models agree little)."
    ),
    "two models": lambda f: (
        f"{f.who[0]} and {f.who[1]} rank the statements alike to rho = "
        f"{f.numbers['rho'].value:.2f}: read a rank as that of these models."
    ),
    "one model": lambda f: (
        "One scoring model: another may rank these statements in another order (--model twice "
        "shows how far)."
    ),
    "ranks": lambda f: (
        f"With other versions of the statements the median statement's rank would be the same to "
        f"within {f.numbers['places'].value:.0f} of {f.numbers['ranked'].value:.0f} places."
    ),
    "too close": lambda f: (
        f"Most statements cannot be told apart: the median interval is "
        f"{f.numbers['width'].value:.3f} wide, the scores have a standard deviation of "
        f"{f.numbers['spread'].value:.3f}."
    ),
    "counts": lambda f: (
        "Counted: "
        + ", ".join(f"{name} {n.value:.0f}" for name, n in f.numbers.items())
        + "."
    ),
    "agreement with people": _with_people,
    "no correlation": lambda f: (
        f"{f.words['score']} cannot be compared with the judgements: one of the two does not vary."
    ),
    "no control": lambda f: "No verdict: the score was not compared with random words.",
    "low level": lambda f: (
        f"No verdict: it takes intervals of {percent(f.numbers['level'].value)} or more."
    ),
    "passed": lambda f: (
        "The first score passes: it follows the judgements beyond length, and more than random "
        "words do."
    ),
    "not passed": lambda f: (
        "The first score does not pass: its correlation given length is not above 0, or not above "
        "that of random words."
    ),
}
