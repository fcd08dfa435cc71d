"""The command line as tests see it: what `clinometer("risk", "t.csv")` gives, and its commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import typer
from typer.core import TyperCommand, TyperGroup

from clinometer.cli.app import app

Command = TyperCommand | TyperGroup


class Result(NamedTuple):
    status: int
    out: str
    err: str


class Clinometer(Protocol):
    def __call__(self, *arguments: object) -> Result: ...


def top_commands() -> dict[str, Command]:
    return commands_of(typer.main.get_command(app))


def commands_of(group: object) -> dict[str, Command]:
    assert isinstance(group, TyperGroup)
    found: dict[str, Command] = {}
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand | TyperGroup)
        found[name] = command
    return found


def every_command() -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    """Each command that does something, by its path: ("study", "size")."""
    waiting: list[tuple[tuple[str, ...], Command]]
    waiting = [((name,), command) for name, command in top_commands().items()]
    for path, command in waiting:
        if isinstance(command, TyperCommand):
            yield path, command
        else:
            waiting += [((*path, name), inner) for name, inner in commands_of(command).items()]
