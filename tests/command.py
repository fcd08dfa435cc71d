"""The command line as tests see it: what `clinometer("risk", "t.csv")` gives, and its commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import click
import typer

from clinometer.cli.app import app


class Result(NamedTuple):
    status: int
    out: str
    err: str


class Clinometer(Protocol):
    def __call__(self, *arguments: object) -> Result: ...


def top_commands() -> dict[str, click.Command]:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return group.commands


def every_command() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each command that does something, by its path: ("study", "size")."""
    waiting = [((name,), command) for name, command in top_commands().items()]
    for path, command in waiting:
        if isinstance(command, typer.core.TyperGroup):
            waiting += [((*path, name), inner) for name, inner in command.commands.items()]
        else:
            yield path, command
