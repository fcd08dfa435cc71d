"""The command `clinometer`: its commands, and how errors reach the user."""

from __future__ import annotations

import errno
import os
import platform
import sys
import tomllib
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Self

import typer
from typer.core import TyperCommand, TyperGroup

from clinometer import __version__
from clinometer.cli.options import opt
from clinometer.cli.printing import say
from clinometer.display.text import visible
from clinometer.errors import ClinometerError, InputError
from clinometer.storage.atomic import replacing
from clinometer.storage.cache import cache_folder

# --- How a failure ends the program: one line on stderr, and an exit status for its kind ---------


#: A bug: EX_SOFTWARE of sysexits.h.
UNEXPECTED = 70
#: The reader of our output has closed it: the status that a shell reports for SIGPIPE.
NOT_READ = 141
INTERRUPTED = 130
#: Every exit status, as the documentation lists them; errors.py says which error has which.
STATUSES = {
    0: "done",
    1: "a measured condition failed: `--fail-above`, `--fail-below`, `gate`: worse; never an error",
    2: "wrong input: an option, a file, a name; or a package that is not installed",
    3: "a model, a server or a cluster failed, or memory ran out; rerun the same command to resume "
    "an audit. Of `gate`, which asks no model: cannot tell",
    UNEXPECTED: "a bug in clinometer; the line on stderr names the log with the traceback",
    INTERRUPTED: "interrupted (Ctrl+C); rerun the same command to resume",
    NOT_READ: "the reader of the output has closed it, as `head` does",
}
#: What is wrong with a path itself, wherever it is first used: a name of 300 characters, say.
_OF_PATHS = (errno.ENAMETOOLONG, errno.ELOOP)
#: The class of a GPU's memory that ran out; torch is not imported for it.
_OF_TORCH = "OutOfMemoryError"
#: Number of logs of unexpected errors to keep.
KEPT_LOGS = 20

_SOURCE = Path(__file__).resolve().parent.parent


def report_failure(error: BaseException, *, debug: bool) -> int:
    """Print the error on stderr; returns the exit status."""
    if debug:
        sys.stderr.write(visible("".join(traceback.format_exception(error))))
    if isinstance(error, BrokenPipeError):
        _drop_output()
        return NOT_READ
    if isinstance(error, KeyboardInterrupt):
        line, status = "interrupted; rerun the same command to resume", INTERRUPTED
    elif isinstance(error, ClinometerError):
        line, status = str(error), error.exit_status
    elif isinstance(error, MemoryError) or type(error).__name__ == _OF_TORCH:
        line, status = "memory ran out; free some and rerun the same command to resume", 3
    elif isinstance(error, OSError) and error.errno in _OF_PATHS and error.filename:
        name = str(error.filename)
        shown = name if len(name) <= 80 else f"{name[:79]}…"
        line, status = f"{shown}: cannot be used: {error.strerror}", InputError.exit_status
    else:
        line, status = _unexpected(error), UNEXPECTED
    say(line)
    return status


def _drop_output() -> None:
    """Discard the rest of stdout: Python would otherwise complain on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unexpected(error: BaseException) -> str:
    """What happened and where the log is; never the error's own text, which may quote a prompt or
    an address that contains a key."""
    what = type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        what += f" ({error.strerror})"
    log = _write_log(error)
    where = "rerun with --debug for a traceback" if log is None else f"traceback in {log}"
    return f"unexpected {what} in {_place(error)}, a bug in clinometer: {where}"


def _place(error: BaseException) -> str:
    """File and line of the last step in our own code."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if file.is_relative_to(_SOURCE):
            return f"{file.relative_to(_SOURCE).as_posix()}:{frame.lineno}"
    return "a library"


def _write_log(error: BaseException) -> Path | None:
    """Write the traceback to a file that only its owner can read; None if that fails."""
    now = datetime.now(UTC)
    folder = cache_folder() / "errors"
    log = folder / f"{now:%Y%m%dT%H%M%S}-{token_hex(2)}.log"
    about = f"clinometer {__version__}, Python {platform.python_version()}, {platform.platform()}"
    text = f"{now.isoformat(timespec='seconds')} {about}\n"
    text += visible("".join(traceback.format_exception(error)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(log) as beside:
            beside.touch(mode=0o600)
            beside.write_text(text, encoding="utf-8")
        for old in sorted(folder.glob("*.log"))[:-KEPT_LOGS]:
            old.unlink(missing_ok=True)
    except (OSError, ClinometerError):
        return None
    return log


# --- Commands that are imported when they are called, so that listing them takes no time ---------


@dataclass(frozen=True)
class Command:
    """A command: `module:function` below `clinometer.cli`, and its line in the list."""

    place: str
    about: str

    def load(self, name: str) -> Any:
        module, function = self.place.split(":")
        alone = typer.Typer(add_completion=False)
        alone.command(name)(getattr(import_module(f"clinometer.cli.{module}"), function))
        return typer.main.get_command(alone)

    def listed(self, name: str) -> TyperCommand:
        return TyperCommand(name, help=self.about)


@dataclass(frozen=True)
class CommandGroup:
    """Commands under one name."""

    about: str
    commands: Mapping[str, Command | CommandGroup]

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Self:
        """A group and those in it, as `commands.toml` writes them."""
        found: dict[str, Command | CommandGroup] = {}
        found |= {name: Command(*line) for name, line in table["commands"].items()}
        found |= {name: cls.read(inner) for name, inner in table.get("groups", {}).items()}
        return cls(table["about"], found)

    def load(self, name: str) -> LazyGroup:
        return LazyGroup(name=name, help=self.about, no_args_is_help=True, table=self.commands)

    listed = load


class _Loaded(Mapping[str, Any]):
    """Commands by name, each imported when it is first taken."""

    def __init__(self, table: Mapping[str, Command | CommandGroup]) -> None:
        self._table = table
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._table[name].load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class LazyGroup(TyperGroup):
    """A group of the commands in `table`; its help imports none of them."""

    table: Mapping[str, Command | CommandGroup] = {}

    def __init__(
        self, *, table: Mapping[str, Command | CommandGroup] | None = None, **settings: Any
    ):
        super().__init__(**settings)
        self.table = type(self).table if table is None else table
        self.commands = _Loaded(self.table)  # type: ignore[assignment]  # nothing is added

    def format_help(self, ctx: Any, formatter: Any) -> None:
        listed: dict[str, Any] = {name: one.listed(name) for name, one in self.table.items()}
        loaded, self.commands = self.commands, listed
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = loaded


ALL = CommandGroup.read(tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8")))


# --- The command `clinometer`: its commands, and how errors reach the user -----------------------


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
