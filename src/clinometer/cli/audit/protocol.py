"""clinometer protocol: write down what an audit will ask, measure and decide, before it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.gates import FAIL_ABOVE, FAIL_ON, parse_limits
from clinometer.cli.parameters import GROUPS, grouped, topic_of
from clinometer.contexts.load import default_contexts, load_contexts
from clinometer.runs import AuditSettings
from clinometer.runs.protocol import PLANNED, Protocol


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
        "target",
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
    """Write a protocol file: models, topic and contexts (with sha256), measures, target, limits.

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
