"""How a failure ends the program: one line on stderr, and an exit status for its kind.

Status 1 is reserved for a measured condition that failed (--fail-above); errors never use it.
"""

from __future__ import annotations

import errno
import os
import platform
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from clinometer import __version__
from clinometer.cli.printing import say
from clinometer.display.visible import visible
from clinometer.errors import ClinometerError, InputError
from clinometer.storage.atomic import replacing
from clinometer.storage.cache_location import cache_folder

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
