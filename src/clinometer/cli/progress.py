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

#: Seconds to the first plain line (most commands have ended by then), and between two.
FIRST_S = 2.0
EVERY_S = 30.0

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
        self.label, self.unit = label, unit
        self.done: int | None = None
        self.total: int | None = None
        #: called after every report
        self.reported: Callable[[], None] = lambda: None
        self._start, self._clock = start, clock
        #: when the first report came, and what was done by then: an earlier attempt is no speed
        self._since, self._before = clock(), 0

    def __call__(self, done: int, total: int | None) -> None:
        if self.done is None:
            self._since, self._before = self._clock(), done
        self.done, self.total = done, total
        self.reported()

    def stage(self, label: str, unit: str, done: int, total: int | None) -> None:
        """A report from a command with several stages, each with its own unit."""
        if (label, unit) != (self.label, self.unit):
            self.label, self.unit, self.done = label, unit, None
        self(done, total)

    @property
    def heading(self) -> str:
        """The current activity: loading, until the first report."""
        return self._start if self.done is None else self.label

    @property
    def count(self) -> str:
        """408/1,200 cells, 12 a second; only what is done if the total is unknown."""
        if self.done is None:
            return ""
        speed = "" if self.rate is None else f", {self.rate:.3g} a second"
        of = f"{self.done:,}" if self.total is None else f"{self.done:,}/{self.total:,}"
        return f"{of} {self.unit}{speed}"

    @property
    def rate(self) -> float | None:
        """What is done in a second; None before anything is."""
        passed = self._clock() - self._since
        new = (self.done or 0) - self._before
        return new / passed if new > 0 and passed > 0 else None

    def line(self) -> str:
        """One plain line: percentage, rate and time left, as far as they are known."""
        passed = self._clock() - self._since
        if self.done is None:
            return f"{self._start} ({duration(passed)} so far)"
        rate = self.rate
        speed = [] if rate is None else [f"{rate:.3g} {self.unit}/s"]
        if self.total is None:
            return ", ".join([f"{self.label}: {self.done:,} {self.unit}", *speed])
        if rate is not None and self.done < self.total:
            speed.append(f"about {duration((self.total - self.done) / rate)} left")
        share = self.done / self.total if self.total else 1.0
        of = f"{self.done:,} of {self.total:,} {self.unit}"
        return ", ".join([f"{self.label}: {100 * share:.0f} % ({of})", *speed])


@contextmanager
def _lines(watch: Watch, stream: TextIO) -> Iterator[None]:
    """Plain lines about the watch, from a separate thread: a long step must not look dead."""
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
    """A bar that follows the watch."""
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
    terminal = (
        console.is_terminal and sys.stderr.isatty()
    )  # FORCE_COLOR makes no terminal
    try:
        with _bar(watch, console) if terminal else _lines(watch, sys.stderr):
            yield watch
    except KeyboardInterrupt:
        what = "nothing was stored, so the same command starts over"
        if kept is not None:
            what = (
                f"what was done is stored in {kept}; rerun the same command to resume"
            )
        say(f"interrupted; {what}")
        raise typer.Exit(INTERRUPTED) from None
