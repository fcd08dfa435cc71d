"""Options of conditions that end a command with status 1, a risk above a limit among them."""

from __future__ import annotations

import typer

from clinometer import settings as ranges
from clinometer.cli.printing import say
from clinometer.measure.risks import RISKS
from clinometer.settings import option

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


def fail(lines: list[str]) -> None:
    """Name what failed and end with status 1, if anything did."""
    for line in lines:
        say(line)
    if lines:
        raise typer.Exit(1)
