"""Work that survives a kill: begun or resumed by the same command, stored as it comes.

Audits, reliability runs, mining and .jsonl files of statements differ in what they store. What they
share is here: one process writes; work begun with other settings is refused, and the error names
what differs; results reach the disk as they come; the same command resumes after a kill.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from clinometer.errors import InputError, RunError
from clinometer.storage.atomic import only_writer
from clinometer.storage.untrusted import read_json

Result = TypeVar("Result")
#: All that makes it another piece of work, by the names that an error shows.
Identity = Mapping[str, Any]
#: Called with (done, total) as work proceeds.
Progress = Callable[[int, int], None]

#: Seconds between two writes of scores: what a kill may cost beyond those being computed.
FLUSH_S = 1.0
#: A longer value is not shown in an error.
_SHORT = 30


class Resumable(ABC):
    """What a command stores while it works, for what its user knows as `path`."""

    path: Path
    lock_file: Path
    error: ClassVar[type[InputError]] = RunError

    @abstractmethod
    def earlier(self) -> Identity | None:
        """What an earlier attempt was begun with; None if there was none."""

    @abstractmethod
    def begin(self, identity: Identity) -> None:
        """Make room for a first attempt. Results without a record have no owner."""

    @abstractmethod
    def clear(self) -> None:
        """Remove what earlier attempts stored, and nothing else."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process from writing."""
        with only_writer(self.path, self.lock_file, error=self.error):
            yield

    @contextmanager
    def opened(self, identity: Identity, *, fresh: bool = False) -> Iterator[None]:
        """Begin, or resume what was begun with the same identity; `fresh` starts over."""
        with self.locked():
            if fresh:
                self.clear()
            self.resume(identity, self.earlier())
            yield

    def resume(self, identity: Identity, before: Identity | None) -> None:
        """Begin where there is nothing from before, and refuse to go on with another identity."""
        if before is None:
            self.begin(identity)
        elif changed := differences(before, identity):
            raise self.error(
                f"{self.path}: was begun with other settings: {', '.join(changed)}; choose "
                "another --out, or --fresh to start over"
            )


def recorded_settings(file: Path) -> Identity | None:
    """What a JSON record says the work in its folder was begun with; None without one."""
    try:
        return dict(read_json(file)["settings"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{file}: cannot be read; --fresh starts over") from error


def differences(before: Identity, now: Identity) -> list[str]:
    """What differs, by name, with values that are short.

    >>> differences({"seed": 0, "sha256": "0" * 64}, {"seed": 1, "sha256": "1" * 64})
    ['seed (0, now 1)', 'sha256']
    """
    found = []
    for name in dict.fromkeys([*now, *before]):
        old, new = before.get(name), now.get(name)
        if old != new:
            values = f" ({old!r}, now {new!r})"
            found.append(name + (values if len(values) <= 2 * _SHORT else ""))
    return found


def store_as_they_come(
    results: Iterable[Result],
    store: Callable[[list[Result]], None],
    *,
    done: int,
    total: int,
    progress: Progress | None,
    size: Callable[[Result], int] = lambda _: 1,
    every_s: float = 0.0,
) -> None:
    """Store the first result at once, then those that came in every `every_s` seconds, and at the
    end what is left, even after a failure. `size` is what a result counts for in the total."""
    waiting: list[Result] = []
    due = time.monotonic()

    def flush() -> None:
        came, waiting[:] = waiting[:], []
        if came:
            store(came)

    if progress:
        progress(done, total)
    try:
        for result in results:
            waiting.append(result)
            if time.monotonic() >= due:
                flush()
                due = time.monotonic() + every_s
            done += size(result)
            if progress:
                progress(done, total)
    finally:
        flush()


def part_of(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """Progress of one of several equal parts, reported as progress of all."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, parts * total)
