"""The numbers of a run for its first screen: in a line of chips, and the risk on its axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinometer.display.numbers import between, risk
from clinometer.measure.risks import CONTEXT_RISKS, MEASURES, RISKS
from clinometer.report.evidence import evidence
from clinometer.report.figures.parts import PARTS, parts_rows
from clinometer.runs import Run
from clinometer.runs.names import context_noun, group_noun
from clinometer.statistics.estimate import Estimate

_AXIS_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5)
"""Ends of an axis of risks that do not reach the end of their scale."""


@dataclass(frozen=True)
class Chip:
    """A number of the first screen: its name, value and interval."""

    name: str

    value: str

    interval: str = ""

    kind: str = ""
    """The class of its style."""

    about: str = ""
    """What the number is."""


@dataclass(frozen=True)
class Strip:
    """The risk on an axis that begins at 0: steady lean and swing end to end, the interval of R,
    and the range of shuffled words."""

    parts: tuple[float, float]
    """The ends of the steady lean and of the swing, as shares of the axis."""

    interval: tuple[float, float] | None
    """The interval of R, as shares of the axis; None without one."""

    chance: tuple[float, float] | None
    """The same of shuffled words; None where there are none."""

    ends: tuple[str, str]
    """What the ends of the axis mean."""

    key: tuple[Chip, ...]
    """What its marks stand for, with their numbers."""

    @property
    def alt(self) -> str:
        """Return the text alternative."""
        texts = []
        for chip in self.key:
            interval = f" ({chip.interval})" if chip.interval else ""
            texts.append(f"{chip.name} {chip.value}{interval}")
        return f"{'; '.join(texts)}. Axis from {self.ends[0]} to {self.ends[1]}."


def strip(run: Run) -> Strip | None:
    """Return the risk on its axis; None where there is none to speak of."""
    if run.findings[0].kind in ("nothing", "improbable", "alike"):
        return None
    report = run.risks
    largest = _upper_end(report.R)
    floor = None
    if run.record.floor is not None:
        floor = run.record.floor.R
        largest = max(largest, _upper_end(floor))
    end = _axis_end(largest, report.criterion.top)
    bias = report.R_bias.value
    zero = run.outcome.reference.zero.format(one=group_noun(run))
    return Strip(
        parts=(bias / end, (bias + report.R_volatility.value) / end),
        interval=span(report.R, end),
        chance=None if floor is None else span(floor, end),
        ends=(zero, run.outcome.risk_end(end)),
        key=tuple(_risk_chips(run)),
    )


def _upper_end(estimate: Estimate) -> float:
    """Return the larger of a number and the upper end of its interval."""
    if estimate.high is None:
        return estimate.value
    return max(estimate.value, estimate.high)


def _axis_end(largest: float, top: float) -> float:
    """Return where the axis of a risk ends that has room for `largest`, on a scale up to `top`."""
    for end in _AXIS_ENDS:
        if end < top and largest <= 0.9 * end:
            return end
    return 1.1 * largest if np.isinf(top) else top


def span(estimate: Estimate, end: float = 1.0) -> tuple[float, float] | None:
    """Return the interval of a number as shares of an axis that ends at `end`; None without one."""
    if estimate.low is None or estimate.high is None:
        return None
    return estimate.low / end, min(estimate.high / end, 1.0)


def chips(run: Run) -> tuple[Chip, ...]:
    """Return the numbers of a run and their evidence, for the line above the explorer: lean, swing
    and dice of replies, R and its two components of words."""
    outcome = run.outcome
    line = _parts_chips(run) or _risk_chips(run)
    for context_risk in CONTEXT_RISKS:
        estimate = run.risks.summary.get(context_risk.name)
        has_words = context_risk.meaning and not outcome.reference.is_mean
        if estimate is not None and has_words:
            about = context_risk.meaning.format(context=context_noun(run))
            interval = between(estimate.low, estimate.high)
            value = risk(estimate.value)
            line.append(Chip(context_risk.label, value, interval, "", about))
    placebo = run.record.placebo
    if placebo is not None:
        scale = outcome.unit.factor
        about = "How far an edit that should not matter moves the answer, beside another group."
        beside = f"another {group_noun(run)} {scale * placebo.groups:.2g}"
        value = f"{scale * placebo.edit:.2g} {outcome.unit.name}"
        line.append(Chip("irrelevant edit", value, beside, "", about))
    level, why = evidence(run)
    about = "How far the numbers can be trusted."
    return (*line, Chip("evidence", level, why, "evidence", about))


def _parts_chips(run: Run) -> list[Chip]:
    """Return lean, swing and dice; none unless the replies are measured from their mean."""
    if not run.outcome.reference.is_mean:
        return []
    unit = run.outcome.unit
    group = group_noun(run)
    noun = context_noun(run)
    about = (
        f"A standard deviation between {group}s, the same in every {noun}.",
        f"A standard deviation between {group}s, another in another {noun}.",
        "The standard deviation of the same request, asked again.",
    )
    kinds = ("b", "v", "")
    line = []
    for row in parts_rows([run], [run.model]):
        for part, words, kind in zip(PARTS, about, kinds, strict=True):
            if row[part.key] is None:
                continue
            low = row[f"{part.key}_low"]
            high = row[f"{part.key}_high"]
            interval = ""
            if low is not None:
                interval = f"{low:.{unit.digits}f}–{high:.{unit.digits}f}"
            value = f"{row[part.key]:.{unit.digits}f} {unit.name}"
            line.append(Chip(part.title.lower(), value, interval, kind, words))
    return line


def _risk_chips(run: Run) -> list[Chip]:
    """Return R and its two parts, in points of a scale if there is one, and what shuffled words
    give."""
    line = []
    for measure, kind in zip(MEASURES, ("r", "b", "v"), strict=True):
        part = RISKS[measure]
        about = part.meaning.format(context=context_noun(run))
        line.append(
            _risk_chip(run, part.label, run.risks.summary[measure], kind, about)
        )
    if run.record.floor is not None:
        about = "R of the same words, shuffled between the categories: what the lists alone give."
        floor = run.record.floor.R
        line.append(_risk_chip(run, "shuffled words", floor, "c", about))
    return line


def _risk_chip(run: Run, name: str, estimate: Estimate, kind: str, about: str) -> Chip:
    """Return a risk as a chip, in points of the scale of a run if it has one."""
    length = run.risks.criterion.length
    low = None if estimate.low is None else length * estimate.low
    high = None if estimate.high is None else length * estimate.high
    value = risk(estimate.value)
    if length != 1:
        value = f"{length * estimate.value:.2f} points"
    return Chip(name, value, between(low, high), kind, about)
