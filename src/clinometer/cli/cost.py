"""The cost of an audit before its first request: shown, and confirmed where money is paid."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from clinometer.cli.printing import say
from clinometer.display.numbers import money
from clinometer.errors import SettingsError
from clinometer.models import ModelSpec
from clinometer.models.providers import is_paid
from clinometer.runs.cost import Cost


def confirm_cost(costs: Sequence[tuple[str, Cost | None]], *, yes: bool) -> None:
    """Say what each audit will cost, and ask before anything is paid.

    On a terminal the answer decides; elsewhere --yes must have been given. What runs on this
    machine, or costs nothing, is not asked about.
    """
    paid = [
        (model, cost)
        for model, cost in costs
        if cost is not None
        and cost.replies
        and (cost.money or is_paid(ModelSpec.parse(model).target))
    ]
    for model, cost in paid:
        say(f"{model}: {cost.sentence()}", prefix="")
    if not paid or yes:
        return
    amounts = [cost.money for _, cost in paid if cost.money is not None]
    total = f"up to {money(sum(amounts))}" if len(amounts) == len(paid) else "an unknown amount"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SettingsError(
            f"--yes: expected before {total} is paid where there is no terminal to ask on; add it, "
            "and --budget for a limit"
        )
    if not typer.confirm(f"Pay {total}?", err=True):
        raise typer.Abort
