"""Conditions that end a command with status 1: a risk above a limit, too little coverage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import typer

from clinometer import settings as ranges
from clinometer.cli.printing import say
from clinometer.display.numbers import percent, show
from clinometer.errors import SettingsError
from clinometer.measure import Estimate, RiskReport
from clinometer.measure.risks import RISKS
from clinometer.settings import option

if TYPE_CHECKING:
    from clinometer.runs import Run

OTHER = "other"
"""The share of the replies, or of their probability, that is no category."""

LIMITED = (*RISKS, OTHER)
"""Numbers that can have a limit, as they are typed and as they are written in JSON."""

ENDS = ("low", "high", "point")

FAIL_ABOVE = option(
    None,
    help=f"Exit with status 1 if a number is higher: R=0.4, {'=…, '.join([*RISKS][1:])}=…; "
    "other=0.5: the share of the replies, or of their probability, that is no category. May be "
    "repeated.",
)
FAIL_ON = option(
    "low",
    help="What --fail-above compares: low (surely above: the lower end of the interval), high (not "
    "surely below: the upper end) or point (the value alone).",
    advanced=True,
)
MIN_COVERAGE = option(
    None,
    help="Exit with status 1 if a smaller share of the cells rests on enough probability "
    "(--coverage-threshold).",
    allowed=ranges.SHARE,
    advanced=True,
)


def parse_limits(
    limits: list[str] | None, fail_on: str = "low"
) -> list[tuple[str, float]]:
    """--fail-above R=0.4 as (name, limit)."""
    if fail_on not in ENDS:
        raise SettingsError(f"--fail-on: expected {', '.join(ENDS)}; found {fail_on!r}")
    found = []
    for text in limits or []:
        name, equals, value = text.partition("=")
        try:
            limit = float(value)
        except ValueError:
            limit = math.nan
        if not equals or name not in LIMITED or math.isnan(limit):
            raise SettingsError(
                f"--fail-above: expected {'=…, '.join(LIMITED)}=… with a number; found "
                f"{text!r}"
            )
        found.append((name, limit))
    return found


def check_measured(
    limits: list[tuple[str, float]], *, relative: bool, sampled: bool
) -> None:
    """Raise for a limit on a number that the audit will not give, before anything is paid."""
    known = [
        name
        for name, risk in RISKS.items()
        if risk.is_known(sampled=sampled, relative=relative)
    ]
    known.append(OTHER)
    for name, _ in limits:
        if name in known:
            continue
        why = "groups are compared with their mean"
        if sampled:
            why = "replies are sampled"
        raise SettingsError(
            f"--fail-above: expected {', '.join(known[:-1])} or {known[-1]}, found {name}, which "
            f"is not known where {why}"
        )


def exceeded(
    label: str, report: RiskReport, limits: list[tuple[str, float]], fail_on: str
) -> list[str]:
    """One line for each limit that the report is above, saying what was compared."""
    lines = []
    for name, limit in limits:
        if name not in report.summary:
            groups = "two groups and " if RISKS[name].needs_groups else ""
            raise SettingsError(
                f"--fail-above: {name} of {label} is not measured: it needs {groups}a model that "
                "is neither a reference model nor sampled"
            )
        value, what = decisive(report.summary[name], fail_on)
        if value > limit:
            lines.append(
                f"{label}: {name}: {what} {value:.4f} is above {limit:g} (--fail-on)"
            )
    return lines


def decisive(estimate: Estimate, end: str) -> tuple[float, str]:
    """The number that is held against a limit, and what it is.

    >>> decisive(Estimate(0.4, 0.3, 0.5, 0.95), "low")
    (0.3, 'the lower end of its 95 % interval')
    >>> decisive(Estimate(0.4), "low")
    (0.4, 'its value (no interval)')
    """
    if end == "point":
        return estimate.value, "its value"
    if estimate.low is None or estimate.high is None or estimate.level is None:
        return estimate.value, "its value (no interval)"
    value, name = (estimate.low, "lower") if end == "low" else (estimate.high, "upper")
    return value, f"the {name} end of its {100 * estimate.level:g} % interval"


def uncovered(label: str, counts: dict[str, int], least: float | None) -> list[str]:
    """A line where too few cells rest on enough probability."""
    if least is None or not counts.get("cells"):
        return []
    poor = counts.get("cells_low_coverage", 0) + counts.get("cells_missing", 0)
    share = 1 - poor / counts["cells"]
    line = (
        f"{label}: {show(share, 'share')} of the cells rest on enough probability, expected at "
        f"least {show(least, 'share')} (--min-coverage)"
    )
    return [line] if share < least else []


def run_failures(
    run: Run, limits: list[tuple[str, float]], fail_on: str, min_coverage: float | None
) -> list[str]:
    """One line for each condition that a run does not meet."""
    name, other = run.model, run.record.other
    share = 0.0 if other is None else other.share
    return [
        *exceeded(
            name, run.risks, [limit for limit in limits if limit[0] != OTHER], fail_on
        ),
        *(
            f"{name}: {percent(share)} of the replies are other, expected at most "
            f"{percent(most)} (--fail-above other)"
            for of, most in limits
            if of == OTHER and share > most
        ),
        *uncovered(name, run.record.counts, min_coverage),
    ]


def fail(lines: list[str]) -> None:
    """Name what failed and end with status 1, if anything did."""
    for line in lines:
        say(line)
    if lines:
        raise typer.Exit(1)
