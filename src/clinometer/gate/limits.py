"""Limits of a run: numbers that must not be higher, and the share of cells that must be covered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.display.numbers import percent, show
from clinometer.errors import SettingsError
from clinometer.measure import Estimate, RiskReport
from clinometer.measure.risks import RISKS

if TYPE_CHECKING:
    from clinometer.runs import Run

OTHER = "other"
"""The share of the replies, or of their probability, that is no category."""

LIMITED = (*RISKS, OTHER)
"""Numbers that can have a limit, as they are typed and as they are written in JSON."""

ENDS = ("low", "high", "point")
"""What of an interval a limit is compared with."""


@dataclass(frozen=True)
class Limit:
    """The highest value that a number may have."""

    name: str
    value: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read R=0.4."""
        name, equals, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not equals or name not in LIMITED or math.isnan(value):
            raise SettingsError(
                f"--fail-above: expected {'=…, '.join(LIMITED)}=… with a number; found "
                f"{text!r}"
            )
        return cls(name, value)

    def __str__(self) -> str:
        return f"{self.name}={self.value:g}"


@dataclass(frozen=True)
class Limits:
    """Limits, and the end of an interval that is compared with them."""

    limits: tuple[Limit, ...]
    end: str = "low"

    @classmethod
    def parse(cls, texts: Sequence[str] | None, end: str = "low") -> Limits:
        """Read what --fail-above and --fail-on say.

        >>> Limits.parse(["R=0.4"])
        Limits(limits=(Limit(name='R', value=0.4),), end='low')
        """
        if end not in ENDS:
            raise SettingsError(f"--fail-on: expected {', '.join(ENDS)}; found {end!r}")
        return cls(tuple(Limit.parse(text) for text in texts or ()), end)

    @classmethod
    def of_run(cls, run: Run, texts: Sequence[str] | None, end: str) -> Limits:
        """Return the limits as typed, or as the protocol of the run plans.

        A limit chosen after a plan decides nothing, so it is refused.
        """
        plan = run.record.protocol
        if plan is None or not plan.fail_above:
            return cls.parse(texts, end)
        if texts is not None and texts != plan.fail_above:
            raise SettingsError(
                f"--fail-above: expected {', '.join(plan.fail_above)}, as the protocol plans, "
                f"found {', '.join(texts)}; leave it out"
            )
        return cls.parse(plan.fail_above, plan.fail_on)

    def check_measured(self, *, relative: bool, sampled: bool) -> None:
        """Raise for a limit on a number that the audit will not give, before anything is paid."""
        measured = [
            name
            for name, risk in RISKS.items()
            if risk.is_known(sampled=sampled, relative=relative)
        ]
        measured.append(OTHER)
        for limit in self.limits:
            if limit.name in measured:
                continue
            why = "groups are compared with their mean"
            if sampled:
                why = "replies are sampled"
            raise SettingsError(
                f"--fail-above: expected {', '.join(measured[:-1])} or {measured[-1]}, found "
                f"{limit.name}, which is not known where {why}"
            )

    def exceeded(self, label: str, report: RiskReport) -> list[str]:
        """Return one line for each limit that a risk is above, saying what was compared."""
        lines = []
        for limit in self.limits:
            if limit.name not in report.summary:
                raise SettingsError(
                    f"--fail-above: {limit.name} of {label} is not measured: it needs "
                    f"{_needs(limit.name)}"
                )
            compared = decisive(report.summary[limit.name], self.end)
            if compared.value > limit.value:
                lines.append(
                    f"{label}: {limit.name}: {compared.text} {compared.value:.4f} is above "
                    f"{limit.value:g} (--fail-on)"
                )
        return lines

    def unmet(self, run: Run, *, min_coverage: float | None) -> list[str]:
        """Return one line for each condition that a run does not meet."""
        risks = [limit for limit in self.limits if limit.name != OTHER]
        lines = Limits(tuple(risks), self.end).exceeded(run.model, run.risks)
        other = run.record.other
        share = 0.0 if other is None else other.share
        for limit in self.limits:
            if limit.name == OTHER and share > limit.value:
                lines.append(
                    f"{run.model}: {percent(share)} of the replies are other, expected at most "
                    f"{percent(limit.value)} (--fail-above other)"
                )
        if min_coverage is not None:
            lines += uncovered(run.model, run.record.counts, min_coverage)
        return lines


def _needs(name: str) -> str:
    """Return what it takes to measure a number."""
    if name == OTHER:
        return "a model whose answers are read"
    groups = "two groups and " if RISKS[name].needs_groups else ""
    return f"{groups}a model that is neither a reference model nor sampled"


@dataclass(frozen=True)
class ComparedNumber:
    """A number that is held against a limit, and what it is."""

    value: float
    text: str


def decisive(estimate: Estimate, end: str) -> ComparedNumber:
    """Return the number that is held against a limit.

    >>> decisive(Estimate(0.4, 0.3, 0.5, 0.95), "low").text
    'the lower end of its 95 % interval'
    >>> decisive(Estimate(0.4), "low").text
    'its value (no interval)'
    """
    if end == "point":
        return ComparedNumber(estimate.value, "its value")
    if estimate.low is None or estimate.high is None or estimate.level is None:
        return ComparedNumber(estimate.value, "its value (no interval)")
    interval = f"its {100 * estimate.level:g} % interval"
    if end == "low":
        return ComparedNumber(estimate.low, f"the lower end of {interval}")
    return ComparedNumber(estimate.high, f"the upper end of {interval}")


def uncovered(label: str, counts: Mapping[str, int], least: float) -> list[str]:
    """Return a line where a smaller share of the cells than `least` rests on enough probability."""
    if not counts.get("cells"):
        return []
    poor = counts.get("cells_low_coverage", 0) + counts.get("cells_missing", 0)
    share = 1 - poor / counts["cells"]
    if share >= least:
        return []
    return [
        f"{label}: {show(share, 'share')} of the cells rest on enough probability, expected at "
        f"least {show(least, 'share')} (--min-coverage)"
    ]
