"""The command `clinometer`: its groups, and how errors reach the user."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from clinometer import __version__
from clinometer.cli.commands import COMMANDS, CommandTable
from clinometer.cli.failures import TERMINATED, report_failure, unwritten
from clinometer.cli.help import ListedCommand, listed
from clinometer.cli.printing import say

HELP = "--help"
HELP_ALL = "--help-all"


@cache
def load_command(name: str, place: str) -> Any:
    """Return the command of a `module:function`."""
    from clinometer.cli.options import grouped

    module, function = place.split(":")
    alone = typer.Typer(add_completion=False)
    command = getattr(import_module(f"clinometer.cli.{module}"), function)
    alone.command(name, cls=ListedCommand)(grouped(command))
    return typer.main.get_command(alone)


class LazyGroup(TyperGroup):
    """A group of the commands in `table`; its help imports none of them."""

    def __init__(self, *, table: CommandTable = COMMANDS, **settings: Any) -> None:
        super().__init__(**settings)
        self.table = table
        self.commands = {
            name: TyperCommand(name, help=line) for name, (_, line) in table.items()
        }

    def get_command(self, ctx: Any, name: str) -> Any:
        if name not in self.table:
            return None
        place, line = self.table[name]
        if isinstance(place, str):
            return load_command(name, place)
        return LazyGroup(name=name, help=line, no_args_is_help=True, table=place)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        parameters = listed(self.get_params(ctx), everything=bool(ctx.obj))
        TyperGroup(
            name=self.name,
            help=self.help,
            commands=dict(self.commands),
            params=parameters,
            add_help_option=False,
        ).format_help(ctx, formatter)


class _Escaped(Exception):
    """Carries an error past typer, which would exit with status 1."""


class _Commands(LazyGroup):
    """typer takes the end of a file for an abort by the user, as it does Ctrl-C, and silences a
    closed pipe; all with status 1, which means here that a threshold failed."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # detect a closed pipe here, not when Python exits
        except (EOFError, OSError, KeyboardInterrupt) as error:
            raise _Escaped from error
        return result


app = typer.Typer(
    name="clinometer",
    cls=_Commands,
    help="How far does a language model lean, and how much does its lean swing with context?",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clinometer {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            callback=_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Options of every command."""


def _terminated(*_: object) -> None:
    """SIGTERM ends a command as Ctrl+C does: what was scored and what it cost is stored first."""
    raise SystemExit(TERMINATED)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status.

    `STATUSES` lists the statuses. An error is one line on stderr; its traceback shows with --debug.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    # Importing PyTorch makes many objects and little garbage: 700, the default, looks for it so
    # often that an audit of a small model takes 7 % longer.
    gc.set_threshold(20_000)
    if sys.stderr is None:  # Python's word for a descriptor that is closed
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        failure = unwritten("it is closed")
        say(failure.line)
        raise SystemExit(failure.status)
    arguments = sys.argv[1:] if arguments is None else arguments
    # Accept --debug anywhere: people append it to the command that has just failed.
    debug = "--debug" in arguments
    rest = [HELP if a == HELP_ALL else a for a in arguments if a != "--debug"]
    try:
        app(rest, standalone_mode=True, obj=HELP_ALL in arguments)
    except Exception as error:
        cause = error.__cause__ if isinstance(error, _Escaped) else error
        raise SystemExit(report_failure(cause or error, debug=debug)) from None
    except KeyboardInterrupt as error:
        raise SystemExit(report_failure(error, debug=debug)) from None
