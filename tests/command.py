"""The command line as tests see it: what `clinometer("gate", "a", "-b", "c")` gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from typer.core import TyperCommand

from clinometer.cli.app import load_command
from clinometer.cli.commands import COMMANDS, CommandTable

#: Occupations with labour statistics: enough of them for a regression on each factor.
OCCUPATIONS = (
    "accountant,baker,cashier,chef,dentist,doctor,electrician,engineer,lawyer,librarian,"
    "machinist,nurse,stylist"
)


class Result(NamedTuple):
    status: int
    out: str
    err: str


def refused(result: Result, *said: str) -> None:
    """Wrong input: status 2, and on stderr one line that has these words."""
    assert result.status == 2, result.err
    assert result.err.count("\n") == 1, result.err
    assert [words for words in said if words not in result.err] == [], result.err


class Clinometer(Protocol):
    def __call__(self, *arguments: object) -> Result: ...


def every_command(
    table: CommandTable = COMMANDS,
) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    """Each command that does something, by its path: ("study", "size")."""
    for name, (place, _) in table.items():
        if isinstance(place, str):
            yield (name,), load_command(name, place)
        else:
            yield from (
                ((name, *path), command) for path, command in every_command(place)
            )
