"""Work that survives a kill: begun or resumed by the same command, stored as it comes.

Audits, reliability runs, mining and .jsonl files of statements differ in what they store. What they
share is here: one process writes; work begun with other settings is refused, and the error names
what differs; results reach the disk as they come; the same command resumes after a kill; and what
it was begun with stands in a record.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from clinometer.errors import InputError, RunError
from clinometer.storage.atomic import only_writer, replacing
from clinometer.storage.record import SCHEMA_VERSION
from clinometer.storage.untrusted import read_json

Result = TypeVar("Result")

Identity = Mapping[str, Any]
"""All that makes it another piece of work, by the names that an error shows."""

Progress = Callable[[int, int], None]
"""What is called with (done, total) as work proceeds."""

FLUSH_S = 1.0
"""Seconds between two writes of scores: what a kill may cost beyond those being computed."""

LONGEST_DIFFERENCE = 60
"""Characters of two values that an error shows; longer ones are left out."""


class Resumable(ABC):
    """What a command stores while it works, for what its user knows as `path`."""

    path: Path
    lock_file: Path
    error: ClassVar[type[InputError]] = RunError

    @abstractmethod
    def earlier(self) -> Identity | None:
        """Return what an earlier attempt was begun with; None if there was none."""

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
            self.resume(identity, None if fresh else self.earlier(), fresh=fresh)
            yield

    def resume(
        self, identity: Identity, earlier: Identity | None, *, fresh: bool = False
    ) -> None:
        """Begin where there is no earlier attempt, or after removing it (`fresh`); refuse to go on
        with another identity."""
        if fresh:
            self.clear()
        if fresh or earlier is None:
            self.begin(identity)
            return
        changed = differences(earlier, identity)
        if changed:
            raise self.error(
                f"{self.path}: was begun with other settings: {', '.join(changed)}; choose "
                "another --out, or --fresh to start over"
            )


class Recorded(Resumable):
    """Work whose record, a JSON file, says from the start what it was begun with."""

    record_file: Path

    def earlier(self) -> Identity | None:
        try:
            return dict(read_json(self.record_file)["settings"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(
                f"{self.record_file}: cannot be read; --fresh starts over"
            ) from error

    def write_record(self, settings: Identity, **results: Any) -> None:
        """Write what the work was begun with, and what is known since."""
        record = {
            "schema_version": SCHEMA_VERSION,
            "settings": dict(settings),
            **results,
        }
        text = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        with replacing(self.record_file, error=RunError) as temporary:
            temporary.write_text(text, encoding="utf-8")


def differences(earlier: Identity, current: Identity) -> list[str]:
    """Return what differs, by name, with values that are short.

    >>> differences({"seed": 0, "sha256": "0" * 64}, {"seed": 1, "sha256": "1" * 64})
    ['seed (0, now 1)', 'sha256']
    """
    changed = []
    for name in dict.fromkeys([*current, *earlier]):
        old = earlier.get(name)
        new = current.get(name)
        if old != new:
            values = f" ({old!r}, now {new!r})"
            changed.append(name + values if len(values) <= LONGEST_DIFFERENCE else name)
    return changed


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
        batch = waiting.copy()
        waiting.clear()
        if batch:
            store(batch)

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
    """Return the progress of one of several equal parts, reported as progress of all."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, parts * total)
