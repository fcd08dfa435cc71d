"""The command `clinometer`: its commands, and how errors reach the user."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from clinometer import __version__
from clinometer.cli.failure import report_failure
from clinometer.cli.lazy import ALL, LazyGroup
from clinometer.cli.option import opt


class _Escaped(Exception):
    """Carries an error past typer, which would exit with status 1."""


class _Commands(LazyGroup):
    """typer takes the end of a file for an abort by the user, as it does Ctrl-C, and silences a
    closed pipe; all with status 1, which means here that a threshold failed."""

    table = ALL.commands

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
    help=ALL.about,
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
    debug: Annotated[bool, opt("Show the traceback of an error.", "--debug")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options of every command."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status.

    `failure.STATUSES` lists the statuses. An error is one line on stderr; its traceback shows with
    --debug.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    # Accept --debug anywhere: people append it to the command that has just failed.
    debug = "--debug" in arguments
    rest = [a for a in arguments if a != "--debug"]
    try:
        app(rest, standalone_mode=True)
    except Exception as error:
        cause = error.__cause__ if isinstance(error, _Escaped) else error
        raise SystemExit(report_failure(cause or error, debug=debug)) from None
    except KeyboardInterrupt as error:
        raise SystemExit(report_failure(error, debug=debug)) from None
