"""How an error ends a command: one line on stderr, an exit status, and a log of what is a bug."""

from __future__ import annotations

import errno
import os
import platform
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clinometer import __version__
from clinometer.cli.printing import say
from clinometer.display.text import visible, without_keys
from clinometer.errors import ClinometerError, InputError

UNEXPECTED = 70
"""A bug: EX_SOFTWARE of sysexits.h."""

NOT_READ = 141
"""The reader of our output has closed it: the status that a shell reports for SIGPIPE."""

INTERRUPTED = 130
TERMINATED = 143

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
"""Every exit status, as the documentation lists them; errors.py says which error has which."""

_OF_PATHS = (errno.ENAMETOOLONG, errno.ELOOP)
"""What is wrong with a path itself, wherever it is first used: a name of 300 characters, say."""

_OF_DISKS = (errno.ENOSPC, errno.EDQUOT)
"""What is wrong with the place that is written to, such as one that stdout leads to."""

_OF_TORCH = "OutOfMemoryError"
"""The class of a GPU's memory that ran out; torch is not imported for it."""

MOST_LOGS = 20
"""Number of logs of unexpected errors to keep."""

_LONGEST_NAME = 80
"""Characters of a file's name that an error shows."""

_SOURCE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Failure:
    """What a user is told of an error, and the exit status."""

    line: str
    status: int


def report_failure(error: BaseException, *, debug: bool) -> int:
    """Print the error on stderr; return the exit status."""
    if debug:
        text = without_keys("".join(traceback.format_exception(error)))
        sys.stderr.write(visible(text))
    if isinstance(error, BrokenPipeError):
        _discard_output()
        return NOT_READ
    failure = _failure(error)
    if _is_of_output(error):
        _discard_output()
    with suppress(OSError):  # stderr may be on the same full disk
        say(failure.line)
    return failure.status


def unwritten(problem: str) -> Failure:
    """Return what a user is told of results that cannot be printed."""
    line = (
        f"the output cannot be written: {problem}; rerun the same command and send its output "
        "elsewhere"
    )
    return Failure(line, 3)


def _is_of_output(error: BaseException) -> bool:
    """Return whether results could not be printed: an error with a name is about that file."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    return error.errno in _OF_DISKS


def _discard_output() -> None:
    """Discard the rest of stdout: Python would otherwise complain on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failure(error: BaseException) -> Failure:
    if isinstance(error, KeyboardInterrupt):
        line = "interrupted; rerun the same command to resume"
        return Failure(line, INTERRUPTED)
    if isinstance(error, ClinometerError):
        return Failure(str(error), error.exit_status)
    if isinstance(error, MemoryError) or type(error).__name__ == _OF_TORCH:
        line = "memory ran out; free some and rerun the same command to resume"
        return Failure(line, 3)
    if isinstance(error, OSError) and error.errno in _OF_PATHS and error.filename:
        name = str(error.filename)
        if len(name) > _LONGEST_NAME:
            name = f"{name[: _LONGEST_NAME - 1]}…"
        line = f"{name}: cannot be used: {error.strerror}"
        return Failure(line, InputError.exit_status)
    if isinstance(error, OSError) and error.errno and _is_of_output(error):
        return unwritten(os.strerror(error.errno))
    return Failure(_unexpected(error), UNEXPECTED)


def _unexpected(error: BaseException) -> str:
    """Return what happened and where the log is.

    It never has the error's own text, which may quote a prompt or an address that contains a key.
    """
    kind = type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        kind += f" ({error.strerror})"
    log = _write_log(error)
    where = (
        "rerun with --debug for a traceback" if log is None else f"traceback in {log}"
    )
    return f"unexpected {kind} in {_place(error)}, a bug in clinometer: {where}"


def _place(error: BaseException) -> str:
    """Return file and line of the last step in our own code."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if file.is_relative_to(_SOURCE):
            return f"{file.relative_to(_SOURCE).as_posix()}:{frame.lineno}"
    return "a library"


def _steps(error: BaseException) -> str:
    """Return where an error, and those that it came of, were raised, and their kinds."""
    cause = error.__cause__
    if cause is None and not error.__suppress_context__:
        cause = error.__context__
    before = "" if cause is None else f"{_steps(cause)}\nwhich led to\n\n"
    steps = "".join(traceback.format_tb(error.__traceback__))
    kind = type(error).__name__
    return f"{before}Traceback (most recent call last):\n{steps}{kind}\n"


def _write_log(error: BaseException) -> Path | None:
    """Write the steps that led to an error to a file for its owner alone; return None if it fails.

    The errors' texts are left out: they quote replies and prompts, and logs are sent to others.
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
        with replacing(log) as unfinished:
            unfinished.touch(mode=0o600)
            unfinished.write_text(text, encoding="utf-8")
        for old_log in sorted(folder.glob("*.log"))[:-MOST_LOGS]:
            old_log.unlink(missing_ok=True)
    except (OSError, ClinometerError):
        return None
    return log
