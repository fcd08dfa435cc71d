"""Progress of a long command, and its message when it is interrupted.

All of it goes to stderr, so that stdout has only results. A terminal shows a bar; elsewhere (a log
file, CI, a notebook server) a plain line appears soon after the start and then about every 30 s.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from clinometer.cli.printing import say
from clinometer.display.numbers import duration
from clinometer.display.text import visible

FIRST_S = 2.0
"""Seconds to the first plain line; most commands have ended by then."""

EVERY_S = 30.0
"""Seconds between two plain lines."""

INTERRUPTED = 130


class Watch:
    """Progress of a command. The library calls it with (done, total); total may be unknown."""

    def __init__(
        self,
        label: str,
        *,
        unit: str,
        start: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label = label
        self.unit = unit
        self.done: int | None = None
        self.total: int | None = None
        self.reported: Callable[[], None] = lambda: None
        """Called after every report."""

        self._start = start
        self._clock = clock
        self._first_report = clock()
        """When the first report came."""

        self._done_before = 0
        """What was done by then: work of an earlier attempt is no speed."""

    def __call__(self, done: int, total: int | None) -> None:
        if self.done is None:
            self._first_report = self._clock()
            self._done_before = done
        self.done = done
        self.total = total
        self.reported()

    def stage(self, label: str, unit: str, done: int, total: int | None) -> None:
        """Take a report from a command with several stages, each with its own unit."""
        if (label, unit) != (self.label, self.unit):
            self.label = label
            self.unit = unit
            self.done = None
        self(done, total)

    @property
    def heading(self) -> str:
        """Return the current activity: loading, until the first report."""
        return self._start if self.done is None else self.label

    @property
    def count(self) -> str:
        """Return 408/1,200 cells, 12 a second; only what is done if the total is unknown."""
        if self.done is None:
            return ""
        rate = self.rate
        speed = "" if rate is None else f", {rate:.3g} a second"
        total = "" if self.total is None else f"/{self.total:,}"
        return f"{self.done:,}{total} {self.unit}{speed}"

    @property
    def seconds(self) -> float:
        """Return the time since the first report, or since the start before it."""
        return self._clock() - self._first_report

    @property
    def rate(self) -> float | None:
        """Return what is done in a second; None before anything is."""
        seconds = self.seconds
        new = (self.done or 0) - self._done_before
        return new / seconds if new > 0 and seconds > 0 else None

    def line(self) -> str:
        """Return one plain line: percentage, rate and time left, as far as they are known."""
        if self.done is None:
            return f"{self._start} ({duration(self.seconds)} so far)"
        rate = self.rate
        parts = []
        if self.total is None:
            parts.append(f"{self.label}: {self.done:,} {self.unit}")
        else:
            share = self.done / self.total if self.total else 1.0
            count = f"{self.done:,} of {self.total:,} {self.unit}"
            parts.append(f"{self.label}: {100 * share:.0f} % ({count})")
        if rate is not None:
            parts.append(f"{rate:.3g} {self.unit}/s")
            if self.total is not None and self.done < self.total:
                parts.append(f"about {duration((self.total - self.done) / rate)} left")
        return ", ".join(parts)


@contextmanager
def _lines(watch: Watch, stream: TextIO) -> Iterator[None]:
    """Write plain lines about the watch from a separate thread: a long step must not look dead."""
    stop = threading.Event()

    def write() -> None:
        wait = FIRST_S
        while not stop.wait(wait):
            stream.write(visible(watch.line()) + "\n")
            stream.flush()
            wait = EVERY_S

    thread = threading.Thread(target=write, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _bar(watch: Watch, console: Console) -> Iterator[None]:
    """Show a bar that follows the watch."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(visible(watch.heading), total=None, count="")

        def update() -> None:
            bar.update(
                task,
                description=visible(watch.heading),
                completed=watch.done,
                total=watch.total,
                count=watch.count,
            )

        watch.reported = update
        yield


@contextmanager
def progress(
    label: str,
    *,
    unit: str = "cells",
    start: str | None = None,
    kept: Path | None = None,
) -> Iterator[Watch]:
    """Show the progress of the block, which calls the yielded function with (done, total).

    `start` is shown before the first report: "loading LABEL" by default. An interruption (Ctrl-C)
    ends the command with one line about the folder where its work is `kept`, and status 130.
    """
    watch = Watch(label, unit=unit, start=start or f"loading {label}")
    console = Console(stderr=True)
    # FORCE_COLOR makes no terminal.
    is_terminal = console.is_terminal and sys.stderr.isatty()
    display = _bar(watch, console) if is_terminal else _lines(watch, sys.stderr)
    try:
        with display:
            yield watch
    except KeyboardInterrupt:
        state = "nothing was stored, so the same command starts over"
        if kept is not None:
            state = (
                f"what was done is stored in {kept}; rerun the same command to resume"
            )
        say(f"interrupted; {state}")
        raise typer.Exit(INTERRUPTED) from None
