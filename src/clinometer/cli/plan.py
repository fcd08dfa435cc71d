"""clinometer plan: how many contexts a precision or a comparison needs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer import settings as ranges
from clinometer.cli.help import JSON, opt
from clinometer.cli.limits import FAIL_ABOVE, FAIL_ON, parse_limits
from clinometer.cli.options import GROUPS, LEVEL, grouped, topic_of
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import duration
from clinometer.contexts.load import default_contexts, load_contexts
from clinometer.display.numbers import counted
from clinometer.errors import SettingsError
from clinometer.measure.planning import (
    POWER,
    SPREAD,
    Spread,
    contexts_for_precision,
    contexts_to_detect,
    detectable,
    half_width,
)
from clinometer.runs import AuditSettings, Run, compare
from clinometer.runs.protocol import PLANNED, Protocol

# --- clinometer plan: how many contexts a precision or a comparison needs ------------------------


def plan_command(
    pilots: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN [RUN]]",
            help="A finished run to learn the spread from, or two in the same contexts for "
            "--detect.",
        ),
    ] = None,
    precision: Annotated[
        float | None,
        opt("Plan for intervals within ± this.", allowed=ranges.POSITIVE),
    ] = None,
    detect: Annotated[
        float | None,
        opt("Plan to detect a difference of this size between models.", allowed=ranges.POSITIVE),
    ] = None,
    contexts: Annotated[
        int | None,
        opt("Show what this many effective contexts can tell.", allowed=ranges.COUNT),
    ] = None,
    topic: Annotated[str, typer.Option(help="A built-in topic or a .toml file.")] = "gender",
    spread: Annotated[
        float,
        opt("Standard deviation between contexts, without a pilot.", allowed=ranges.POSITIVE),
    ] = SPREAD,
    power: Annotated[
        float, opt("Share of tests that should find the difference.", allowed=ranges.LEVEL)
    ] = POWER,
    level: LEVEL = AuditSettings.level,
    rate: Annotated[
        float | None,
        opt("Cells scored per second, for an estimate of the time.", allowed=ranges.POSITIVE),
    ] = None,
    price: Annotated[
        float | None,
        opt("Price of a million tokens, if the pilot used a server.", allowed=ranges.POSITIVE),
    ] = None,
    models: Annotated[
        list[str] | None,
        opt(
            "NAME=RATE: a model and the cells it scores per second, as its audit shows; repeat for "
            "each.",
            "--model",
        ),
    ] = None,
    workers: Annotated[
        int, opt("Machines or GPUs that score --model side by side.", allowed=ranges.COUNT)
    ] = 1,
    hourly: Annotated[
        float | None, opt("Price of one of them for an hour.", allowed=ranges.POSITIVE)
    ] = None,
    json_output: JSON = False,
) -> None:
    """Plan an audit: contexts needed for a precision, or to detect a difference; time and cost.

    From a pilot run, or from a guess at the spread between contexts.
    """
    rates = _rates(models or [])
    if precision is None and detect is None and contexts is None:
        raise SettingsError("plan: expected --precision, --detect or --contexts, found none")
    loaded = [Run.load(path) for path in pilots or []]
    if len(loaded) > 2:
        raise SettingsError(f"plan: expected at most two pilot runs, found {len(loaded)}")
    one = Spread(spread, "a guess, --spread")
    if loaded:  # the plan is for further contexts, regardless of the pilot's population
        settings = replace(loaded[0].record.settings, population="similar", level=level)
        one = Spread.of_report(loaded[0].preferences.estimate(**settings.inference()))
    pair = Spread.of_comparison(compare(*loaded)) if len(loaded) == 2 else one.unpaired()
    wanted: dict[str, int] = {}
    if precision is not None:
        wanted["precision"] = contexts_for_precision(one, precision, level=level)
    if detect is not None:
        wanted["detect"] = contexts_to_detect(pair, detect, level=level, power=power)
    if contexts is not None:
        wanted["contexts"] = contexts
    n = max(wanted.values())
    groups = len(loaded[0].preferences.groups) if loaded else len(topic_of(topic, None))
    per_effective = _contexts_per_effective(loaded)
    total = math.ceil(n * per_effective)
    found: dict[str, Any] = {
        "effective_contexts": n,
        "contexts": total,
        "cells": total * groups,
        "for": wanted,
        "spread": {"value": one.sd, "from": one.source},
        "spread_of_differences": {"value": pair.sd, "from": pair.source},
        "half_width": half_width(one, n, level=level),
        "detectable": detectable(pair, n, level=level, power=power),
        "power": power,
        "level": level,
        "seconds": None if rate is None else total * groups / rate,
        **_usage(loaded, total * groups, price),
        **_time(rates, total * groups, workers, hourly),
    }
    if json_output:
        print_json(found)
        return
    out = console()
    for line in _lines(found, groups):
        out.print(line, markup=False, soft_wrap=True)


def _lines(found: dict[str, Any], groups: int) -> list[str]:
    level = f"{100 * found['level']:g} %"
    one, pair = found["spread"], found["spread_of_differences"]
    lines = [
        f"{found['effective_contexts']:,} effective contexts ({found['contexts']:,} contexts, "
        f"{found['cells']:,} cells of {groups} groups).",
        f"They give {level} intervals within ±{found['half_width']:.3f}, and find a difference of "
        f"{found['detectable']:.3f} between two models in {found['power']:.0%} of comparisons.",
        f"Spread between contexts: {one['value']:.3f} ({one['from']}); of differences: "
        f"{pair['value']:.3f} ({pair['from']}).",
    ]
    if found["seconds"] is not None:
        lines.append(f"Time: about {found['seconds'] / 60:,.0f} minutes per model.")
    if found["tokens"] is not None:
        cost = "" if found["cost"] is None else f", {found['cost']:,.2f} in the currency of --price"
        lines.append(f"Server: about {found['tokens']:,} tokens per model{cost}.")
    for model in found["models"]:
        cost = model["cost"]
        price = "" if cost is None else f", {cost:,.2f} in the currency of --hourly"
        lines.append(f"{model['model']}: {duration(model['seconds'])} on one machine{price}.")
    if len(found["models"]) > 1:
        cost = found["models_cost"]
        price = "" if cost is None else f", {cost:,.2f}"
        machines = counted(found["workers"], "machine")
        lines.append(
            f"All {len(found['models'])} models on {machines}: at least "
            f"{duration(found['models_seconds'])}{price}."
        )
    lines.append("Near parity R^b and R^v need about a quarter more.")
    return lines


def _rates(given: list[str]) -> dict[str, float]:
    """Cells per second of each model."""
    found: dict[str, float] = {}
    for text in given:
        name, _, rate = text.rpartition("=")
        try:
            found[name] = float(rate)
        except ValueError:
            found[name] = 0.0
        if not name or not 0 < found[name] < math.inf:
            raise SettingsError(
                f"--model: expected NAME=RATE, a number of cells per second above 0, found {text!r}"
            )
    return found


def _time(
    rates: dict[str, float], cells: int, workers: int, hourly: float | None
) -> dict[str, Any]:
    """Time and cost of each model, and of all on several machines. A model's blocks may be spread
    over all of them, so what limits the total is the work."""
    models = [
        {
            "model": name,
            "seconds": cells / rate,
            "cost": None if hourly is None else cells / rate / 3600 * hourly,
        }
        for name, rate in rates.items()
    ]
    seconds = sum(cells / rate for rate in rates.values())
    return {
        "models": models,
        "workers": workers,
        "models_seconds": seconds / workers if models else None,
        "models_cost": None if hourly is None or not models else seconds / 3600 * hourly,
    }


def _contexts_per_effective(pilots: list[Run]) -> float:
    """Contexts of a set that bring one effective context: 1 for equal weights."""
    if not pilots:
        return 1.0
    report = pilots[0].risks
    return max(1.0, report.n_contexts / max(report.n_eff, 1.0))


def _usage(pilots: list[Run], cells: int, price: float | None) -> dict[str, Any]:
    """Tokens and cost, from what a pilot on a server used for its cells."""
    usage = pilots[0].record.usage if pilots else {}
    done = pilots[0].record.counts.get("cells", 0) if pilots else 0
    if not usage.get("tokens") or not done:
        return {"tokens": None, "cost": None}
    tokens = round(usage["tokens"] / done * cells)
    return {"tokens": tokens, "cost": None if price is None else tokens / 1e6 * price}


# --- clinometer protocol: write down what an audit will ask, measure and decide, before it does


@grouped
def new_command(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Models that will be audited.")
    ],
    topic: Annotated[str, typer.Option(help="A built-in topic or a .toml file.")] = "gender",
    contexts: Annotated[
        str | None,
        typer.Option(
            help="A source, a built-in context set or a .csv file.", show_default="paper-TOPIC"
        ),
    ] = None,
    groups: GROUPS = None,
    *,
    settings: Annotated[
        AuditSettings,
        "population",
        "level",
        "max_contexts",
        "precision",
        "seed",
        "norm",
        "normalize",
        "clusters",
    ],
    fail_above: FAIL_ABOVE = None,
    fail_on: FAIL_ON = "low",
    test: Annotated[
        list[str] | None,
        typer.Option(help="A further test that is planned, in words; may be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "protocol.toml"
    ),
) -> None:
    """Write a protocol file: models, topic and contexts (with sha256), measures and limits.

    clinometer audit --protocol FILE follows it; the run and its report say what was not as planned.
    """
    parse_limits(fail_above, fail_on)
    chosen = topic_of(topic, groups)
    asked = default_contexts(chosen) if contexts is None else load_contexts(contexts, topic=chosen)
    plan = Protocol.new(
        models,
        (topic, chosen),
        (contexts, asked),
        settings,
        groups=groups,
        fail_above=fail_above or [],
        fail_on=fail_on,
        tests=test or [],
    )
    plan.write(out)
    typer.echo(f"Written to {out}. Next: clinometer audit --protocol {out}")


def followed(protocol: Protocol, settings: AuditSettings) -> AuditSettings:
    """The settings of an audit, planned ones in place of those left at their default."""
    default = AuditSettings()
    changes = {
        name: getattr(protocol, name)
        for name in PLANNED
        if getattr(settings, name) == getattr(default, name)
    }
    return replace(settings, **changes)
