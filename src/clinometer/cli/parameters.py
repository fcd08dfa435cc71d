"""Options that several commands have, and groups of options as dataclasses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.errors import SettingsError

#: Names of the three numbers as they are typed (--fail-above) and as they are written in JSON.
SUMMARY = ("R", "R_bias", "R_volatility")

JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
GROUPS = Annotated[
    str | None, typer.Option(help="Only these groups of the topic, separated by commas.")
]
SEED = Annotated[int, number_option(ranges.SEED, "Seed of the sample and of the intervals.")]
NORM = Annotated[str, typer.Option(help="k of the criterion J_k: 1, 2, … or inf.")]
RAW = Annotated[
    bool, typer.Option("--raw", help="Risks of the raw equations, not scaled from 0 to 1.")
]
REPLICATES = Annotated[
    int,
    number_option(
        ranges.REPLICATES,
        "Bootstrap replicates behind the intervals, at least 100; 0 computes no intervals.",
    ),
]
LEVEL = Annotated[float, number_option(ranges.LEVEL, "Level of the intervals, between 0 and 1.")]
PORT = Annotated[int, number_option(ranges.PORT, "Port to listen on; 0 takes any free one.")]
CLUSTER = Annotated[
    str | None,
    typer.Option(
        help="Resample whole clusters of contexts: a column of the context set (or table), such as "
        "predicate or source."
    ),
]
TWO_WAY = Annotated[
    bool, typer.Option("--two-way", help="Resample the groups too: they are a sample of others.")
]
FAIL_ABOVE = Annotated[
    list[str] | None,
    typer.Option(help="Exit with 1 when a risk is higher: R=0.4, R_bias=…, R_volatility=…."),
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters may be dataclasses of options (and these of others).

    On the command line their fields stand in their place, in order; the command gets them whole.
    """
    hints = get_type_hints(command, include_extras=True)
    taken = signature(command).parameters
    parameters = [p for name, own in taken.items() for p in _flat(name, hints[name], own.default)]

    @wraps(command)
    def with_fields(**values: Any) -> None:
        command(**{name: _gathered(name, hints[name], values) for name in taken})

    # What typer reads.
    with_fields.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    with_fields.__annotations__ = {p.name: p.annotation for p in parameters}
    return with_fields


def _flat(name: str, hint: Any, default: Any) -> Iterator[Parameter]:
    if not is_dataclass(hint):
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        return
    hints = get_type_hints(hint, include_extras=True)
    for field in fields(hint):
        given = Parameter.empty if field.default is MISSING else field.default
        yield from _flat(field.name, hints[field.name], given)


def _gathered(name: str, hint: Any, values: dict[str, Any]) -> Any:
    if not is_dataclass(hint):
        return values[name]
    hints = get_type_hints(hint, include_extras=True)
    return hint(**{f.name: _gathered(f.name, hints[f.name], values) for f in fields(hint)})  # type: ignore[operator]


def topic_of(name: str, groups: str | None) -> Any:
    """The topic, or only some of its groups."""
    from clinometer.topics import load_topic

    topic = load_topic(name)
    if groups is None:
        return topic
    return topic.select([g.strip() for g in groups.split(",") if g.strip()])


def parse_norm(text: str) -> float:
    """k of the criterion: a number of at least 1, or inf."""
    try:
        norm = float(text)
    except ValueError:
        norm = math.nan
    if not norm >= 1:
        raise SettingsError(f"--norm: expected a number of at least 1, or inf; found {text!r}")
    return norm


def parse_limits(limits: list[str] | None) -> list[tuple[str, float]]:
    """--fail-above R=0.4 as (name, limit)."""
    found = []
    for text in limits or []:
        name, equals, value = text.partition("=")
        try:
            limit = float(value)
        except ValueError:
            limit = math.nan
        if not equals or name not in SUMMARY or math.isnan(limit):
            raise SettingsError(
                f"--fail-above: expected {'=…, '.join(SUMMARY)}=… with a number; found {text!r}"
            )
        found.append((name, limit))
    return found
