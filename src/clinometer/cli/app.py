"""The command `clinometer`: its commands, and how errors reach the user."""

from __future__ import annotations

import errno
import gc
import os
import platform
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from clinometer import __version__
from clinometer.cli.printing import say
from clinometer.display.text import visible, without_keys
from clinometer.errors import ClinometerError, InputError

#: A bug: EX_SOFTWARE of sysexits.h.
UNEXPECTED = 70
#: The reader of our output has closed it: the status that a shell reports for SIGPIPE.
NOT_READ = 141
INTERRUPTED = 130
TERMINATED = 143
#: Every exit status, as the documentation lists them; errors.py says which error has which.
STATUSES = {
    0: "done",
    1: "a measured condition failed: `--fail-above`, `gate`: worse; never an error",
    2: "wrong input: an option, a file, a name; or a package that is not installed",
    3: "a model or a server failed, or memory ran out; rerun the same command to resume "
    "an audit. Or there is nothing to measure: almost no answer of a model fits a category. Of "
    "`gate`, which asks no model: cannot tell",
    UNEXPECTED: "a bug in clinometer; the line on stderr names the log with the traceback",
    INTERRUPTED: "interrupted (Ctrl+C); rerun the same command to resume",
    TERMINATED: "ended by SIGTERM; rerun the same command to resume",
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
        told = without_keys("".join(traceback.format_exception(error)))
        sys.stderr.write(visible(told))
    if isinstance(error, BrokenPipeError):
        # Discard the rest of stdout: Python would otherwise complain on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_READ
    if isinstance(error, KeyboardInterrupt):
        line, status = "interrupted; rerun the same command to resume", INTERRUPTED
    elif isinstance(error, ClinometerError):
        line, status = str(error), error.exit_status
    elif isinstance(error, MemoryError) or type(error).__name__ == _OF_TORCH:
        line, status = (
            "memory ran out; free some and rerun the same command to resume",
            3,
        )
    elif isinstance(error, OSError) and error.errno in _OF_PATHS and error.filename:
        name = str(error.filename)
        shown = name if len(name) <= 80 else f"{name[:79]}…"
        line, status = (
            f"{shown}: cannot be used: {error.strerror}",
            InputError.exit_status,
        )
    else:
        line, status = _unexpected(error), UNEXPECTED
    say(line)
    return status


def _steps(error: BaseException) -> str:
    """Where an error, and those that it came of, were raised, and of which kinds they are."""
    above = error.__cause__ or (
        None if error.__suppress_context__ else error.__context__
    )
    before = "" if above is None else f"{_steps(above)}\nwhich led to\n\n"
    steps = "".join(traceback.format_tb(error.__traceback__))
    return (
        f"{before}Traceback (most recent call last):\n{steps}{type(error).__name__}\n"
    )


def _unexpected(error: BaseException) -> str:
    """What happened and where the log is; never the error's own text, which may quote a prompt or
    an address that contains a key."""
    what = type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        what += f" ({error.strerror})"
    log = _write_log(error)
    where = (
        "rerun with --debug for a traceback" if log is None else f"traceback in {log}"
    )
    return f"unexpected {what} in {_place(error)}, a bug in clinometer: {where}"


def _place(error: BaseException) -> str:
    """File and line of the last step in our own code."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if file.is_relative_to(_SOURCE):
            return f"{file.relative_to(_SOURCE).as_posix()}:{frame.lineno}"
    return "a library"


def _write_log(error: BaseException) -> Path | None:
    """Write the steps that led to an error to a file that only its owner can read; None if that
    fails. Without the errors' texts: they quote replies and prompts, and logs are sent to others.
    """
    from clinometer.storage.atomic import cache_folder, replacing

    now = datetime.now(UTC)
    folder = cache_folder() / "errors"
    log = folder / f"{now:%Y%m%dT%H%M%S}-{os.urandom(2).hex()}.log"
    about = f"clinometer {__version__}, Python {platform.python_version()}, {platform.platform()}"
    text = f"{now.isoformat(timespec='seconds')} {about}\n"
    text += visible(_steps(error))
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


HELP, HELP_ALL = "--help", "--help-all"
#: By name: `module:function` below clinometer.cli, or the commands of a group; then the line in
#: the list, which must not import the command.
CommandTable = Mapping[str, tuple["str | CommandTable", str]]

COMMANDS: CommandTable = {
    "audit": (
        "audit:audit_command",
        "Score models in every context, and measure their risks",
    ),
    "report": (
        "report:report_command",
        "Write a page about runs, its tables or its charts",
    ),
    "view": ("report:view_command", "Explore runs in a browser, down to single words"),
    "compare": (
        "compare:compare_command",
        "Compare runs group by group, context by context",
    ),
    "gate": (
        "gate:gate_command",
        "Decide whether a run passes its limits and baseline",
    ),
    "plan": (
        "plan:plan_command",
        "Plan an audit: contexts, time and cost; write a protocol",
    ),
    "import": (
        {
            "table": (
                "imports:table_command",
                "Any table of preferences; no model is needed",
            ),
            "lm-eval": ("imports:lm_eval_command", "Samples of lm-evaluation-harness"),
            "inspect": (
                "imports:inspect_command",
                "A log of Inspect: epochs are replies",
            ),
            "replies": (
                "imports:replies_command",
                "Any table of replies: lean, swing and dice",
            ),
            "decisions": (
                "imports:decisions_command",
                "Decisions about people: rates by group",
            ),
            "labels": (
                "labels:labels_command",
                "People's labels, to correct a run's judge",
            ),
        },
        "Measure what others produced: tables, answers, logs, labels",
    ),
    "export": (
        {
            "hugging-face": (
                "hugging_face:hugging_face_command",
                "Risks in a model card",
            ),
            "labels": (
                "labels:export_labels_command",
                "Replies of a run, for people to label",
            ),
        },
        "Write runs for other tools and for people",
    ),
    "mine": ("mine:mine_command", "Mine contexts from a corpus, weighted by frequency"),
    "reliability": (
        {
            "audit": (
                "reliability:audit_command",
                "From a benchmark's files to scores and a report",
            ),
            "annotate": (
                "annotate:annotate_command",
                "Let people judge statements in a browser",
            ),
            "validate": (
                "validate:validate_command",
                "Do people agree, and a score with them?",
            ),
        },
        "How reliable are the statements of a bias benchmark? (COBIAS)",
    ),
    "study": (
        {
            "table": (
                "study:table_command",
                "Risks of models, as in Table 1, 2, 3 or 5",
            ),
            "sources": (
                "study:sources_command",
                "Contexts from several sources (Table 4)",
            ),
            "figures": (
                "study:figures_command",
                "Leaning, spread, answers (Figures 5, 10, 11)",
            ),
            "toxicity": (
                "study:toxicity_command",
                "Fine-tuning on toxic text (Figure 6, D.4)",
            ),
            "size": (
                "study:size_command",
                "Trend of the risks with model size (Figure 7)",
            ),
            "alignment": (
                "study:alignment_command",
                "A base model and aligned ones (Figure 8)",
            ),
            "fixes": (
                "study:fixes_command",
                "Did a fix remove the lean, or move it? With controls",
            ),
            "factors": (
                "study:factors_command",
                "Risk against pay, education, share of women",
            ),
            "sensitivity": (
                "study:sensitivity_command",
                "Every defensible analysis choice",
            ),
            "knowledge": (
                "study:knowledge_command",
                "Facts instead of stereotypes (E.1, E.2)",
            ),
            "versions": (
                "study:versions_command",
                "How many, at what temperature (COBIAS, D)",
            ),
        },
        "The papers' experiments on models of your choice",
    ),
    "list": (
        "lists:list_command",
        "List topics, context sets, models and sample files",
    ),
    "doctor": (
        "doctor:doctor_command",
        "Show what is installed, what is missing, how to get it",
    ),
}


#: The most options that are listed without headings.
_FEW = 20
#: typer's own options, which only --help-all lists.
_COMPLETION = {"install_completion", "show_completion"}


def listed(parameters: Sequence[Any], *, everything: bool) -> list[Any]:
    """Arguments and options as help shows them: without types, with the default in the sentence.

    A heading over a single option, or in a short list, is dropped.
    """
    hidden = {p.name for p in parameters if getattr(p, "hidden", False)} | _COMPLETION
    shown = [copy(p) for p in parameters if everything or p.name not in hidden]
    left_out = len(parameters) - len(shown)
    panels = Counter(p.rich_help_panel for p in shown)
    for p in shown:
        p.hidden = False
        p.display_type_rich = lambda ctx: None
        if default := default_text(p):
            p.help = f"{p.help} [dim]\\[default: {escape(default)}][/dim]"
        p.show_default = False
        if p.param_type_name == "option":
            if everything:
                p.help = "\n\n".join([p.help, *(_key_line(*key) for key in keys_of(p))])
            names = ", ".join(sorted(p.opts, key=len))
            p.opts, p.secondary_opts = ["/".join([names, *p.secondary_opts])], []
            if p.required:
                p.help, p.required = f"{p.help} [dim red]\\[required][/]", False
        if len(shown) <= _FEW or panels[p.rich_help_panel] == 1:
            p.rich_help_panel = None
        if p.name == "help" and left_out:
            options = "option" if left_out == 1 else "options"
            p.help = f"Show this message; --help-all shows {left_out} more {options}."
    return shown


def keys_of(parameter: Any) -> list[tuple[str, str, str]]:
    """The keys of an option KEY=VALUE: name, help and default."""
    keys = getattr(parameter.callback, "keys", {})
    return [(name, help, default) for name, (help, default) in keys.items()]


def _key_line(name: str, help: str, default: str) -> str:
    shown = f" [dim]\\[default: {escape(default)}][/dim]" if default else ""
    return f"[bold]{name}[/bold] {escape(help)}{shown}"


def paragraphs(text: str | None) -> str:
    """A docstring without the line breaks inside its paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def default_text(parameter: Any) -> str:
    """What happens without an option, as its help and the documentation show it."""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    default = parameter.default
    silent = default is None or default is False or default == "" or parameter.required
    return "" if silent else str(default)


@cache
def load_command(name: str, place: str) -> Any:
    """The command of a `module:function`."""
    from clinometer.cli.options import grouped

    module, function = place.split(":")
    alone = typer.Typer(add_completion=False)
    command = getattr(import_module(f"clinometer.cli.{module}"), function)
    alone.command(name, cls=ListedCommand)(grouped(command))
    return typer.main.get_command(alone)


class ListedCommand(TyperCommand):
    """A command whose help leaves out what few people need, unless --help-all asks for it."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        parameters = listed(self.get_params(ctx), everything=bool(ctx.obj))
        TyperCommand(
            self.name,
            help=paragraphs(self.help),
            params=parameters,
            add_help_option=False,
        ).format_help(ctx, formatter)


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
