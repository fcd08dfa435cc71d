"""The runs under a folder, as the viewer reads them.

Nothing outside the folder is read, and a run again only when its files have changed, so a page
costs one directory scan.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

from starlette.exceptions import HTTPException

from clinometer.errors import ClinometerError, RunError
from clinometer.measure import Estimate
from clinometer.reliability.folder import ReliabilityFolder
from clinometer.reliability.run import ReliabilityRun
from clinometer.report.reliability import is_reliability_run, reliability_story
from clinometer.report.summary import RunSummary
from clinometer.runs import RunFolder
from clinometer.runs.folder.partial import progress
from clinometer.runs.folder.record import UNMEASURABLE
from clinometer.runs.folder.recover import open_run, run_folders

RUNNING = "running"
"""The state of a run that a process writes."""

INTERRUPTED = "interrupted"
"""The state of a run that is not finished, and that no process writes."""

READABLE = ("finished", RUNNING, INTERRUPTED)
"""States of runs with answers to show."""

MOST_OPEN = 6
"""Opened runs that stay in memory."""

_JUST_NOW_S = 60.0
_TABLES = ("preferences", "groups", "contexts", *ReliabilityFolder.tables)
_RUN_FILES = frozenset(
    ("run.json", ".lock", "scores", *(f"{name}.parquet" for name in _TABLES))
)
"""What changes when a run changes, and what is read of its folder."""

T = TypeVar("T")

Signature = tuple[tuple[str, int, int], ...]
"""Name, time and size of the files of a run."""

Cache = dict[str, tuple[Signature, T]]
"""Name of a run -> what was made of it, and of which files."""


@dataclass(frozen=True)
class Entry:
    """One line of the list of runs, from run.json alone."""

    id: str
    model: str
    topic: str
    contexts: str
    state: str
    created: str
    n_contexts: int | None = None
    n_eff: float | None = None
    R: Estimate | None = None
    R_bias: Estimate | None = None
    R_volatility: Estimate | None = None
    done: int = 0
    total: int = 0
    topic_sha256: str = ""
    kind: str = "audit"
    cobias: Estimate | None = None


class RunsIndex:
    """Runs under a root by their path below it ("pocket/bert"; "." for the root itself)."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise RunError(f"{root}: no such folder")
        self.root = root.resolve()
        self._entries: Cache[Entry] = {}
        self._findings: Cache[str] = {}
        self._summaries: Cache[RunSummary] = {}

    def entries(self) -> list[Entry]:
        """Return every run, the newest first."""
        entries, _ = self.snapshot()
        return entries

    def snapshot(self) -> tuple[list[Entry], str]:
        """Return every run, the newest first, and the version of them all."""
        signatures = self._signatures()
        entries = []
        for name, signature in signatures:
            make = partial(_entry, name, self._folder(name))
            entries.append(_cached(self._entries, name, signature, make))
        entries.sort(key=lambda entry: (entry.created, entry.id), reverse=True)
        return entries, _digest(signatures)

    def entry(self, name: str) -> Entry:
        """Return one run as the list has it."""
        return _entry(name, self.resolve(name))

    def version(self, name: str | None = None) -> str:
        """Return a text that changes whenever a run (or any of them) has changed on disk."""
        if name is None:
            return _digest(self._signatures())
        return _digest([(name, _signature(self.resolve(name)))])

    def open(self, name: str) -> RunSummary:
        """Return the run of this name, opened again if it has changed."""
        path = self.resolve(name)
        summary = _cached(
            self._summaries,
            name,
            _signature(path),
            lambda: RunSummary(open_run(path)),
        )
        for oldest in list(self._summaries)[:-MOST_OPEN]:
            self._summaries.pop(oldest, None)
        return summary

    def measured(self, name: str) -> RunSummary:
        """Return the run of this name; 404 if it could not be read."""
        summary = self.open(name)
        if summary.opened.run is None:
            raise HTTPException(404, summary.opened.notice)
        return summary

    def reliability(self, name: str) -> ReliabilityRun | None:
        """Return the reliability run of this name; None for an audit, 404 for what cannot be
        read."""
        path = self.resolve(name)
        if not is_reliability_run(path):
            return None
        try:
            return ReliabilityRun.load(path)
        except ClinometerError as error:
            raise HTTPException(
                404, str(error).replace(str(path), path.name)
            ) from error

    def finding(self, name: str) -> str:
        """Return the headline of a run, or why there is none; kept until the run changes."""
        path = self.resolve(name)

        def headline() -> str:
            if is_reliability_run(path):
                return str(reliability_story(ReliabilityRun.load(path))["title"])
            summary = self.open(name)
            if summary.opened.run is None:
                return summary.opened.notice
            return summary.title

        return _cached(self._findings, name, _signature(path), headline)

    def resolve(self, name: str) -> Path:
        """Return the folder of a run; 404 for anything that is not one below the root, also by a
        link."""
        pure = PurePosixPath(name)
        path = self._folder(name)
        is_foreign = (
            "\0" in name or "\\" in name or pure.is_absolute() or ".." in pure.parts
        )
        try:
            if name and not is_foreign and self._is_run(path):
                return path
        except (OSError, ValueError):
            pass  # the name is too long, or the folder not readable
        raise HTTPException(404, "There is no such run under this folder.")

    def _is_run(self, path: Path) -> bool:
        if not self._is_inside(path) or not (path / "run.json").is_file():
            return False
        files = [path / name for name in _RUN_FILES]
        if (path / "scores").is_dir():
            files += (path / "scores").iterdir()
        return all(map(self._is_inside, files))

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root)

    def _folder(self, name: str) -> Path:
        return self.root if name == "." else self.root / name

    def _signatures(self) -> list[tuple[str, Signature]]:
        """Return every run with the signature of its files, by name."""
        names = sorted(
            folder.relative_to(self.root).as_posix()
            for folder in run_folders(self.root)
        )
        return [(name, _signature(self._folder(name))) for name in names]


def _signature(path: Path) -> Signature:
    """Return name, time and size of the files of a run that are there."""
    files = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name in _RUN_FILES:
                    state = entry.stat(follow_symlinks=False)
                    files.append((entry.name, state.st_mtime_ns, state.st_size))
    except OSError:  # gone, or just being written
        pass
    return tuple(sorted(files))


def _digest(signatures: list[tuple[str, Signature]]) -> str:
    return hashlib.sha256(repr(signatures).encode()).hexdigest()[:16]


def _cached(
    cache: Cache[T], name: str, signature: Signature, make: Callable[[], T]
) -> T:
    """Return what was made of a run, made again if its files have changed; the latest comes
    last."""
    item = cache.pop(name, None)
    if item is None or item[0] != signature:
        item = (signature, make())
    cache[name] = item
    return item[1]


def _entry(name: str, path: Path) -> Entry:
    """Read a run for the list."""
    try:
        if is_reliability_run(path):
            return _reliability_entry(name, path)
        record = RunFolder(path).read_record()
        done = 0
        total = 0
        if not record.finished:
            done, total = progress(RunFolder(path), record)
    except Exception:  # a bad run must not hide the others
        return Entry(name, name, "", "", "unreadable", "")
    state = _state(path, record.finished)
    entry = Entry(
        id=name,
        model=record.model.id,
        topic=record.topic.title or record.topic.name,
        contexts=record.contexts.name,
        state="unmeasurable" if record.status == UNMEASURABLE else state,
        created=record.created,
        n_contexts=record.contexts.n,
        n_eff=record.contexts.n_eff if record.n_eff is None else record.n_eff,
        topic_sha256=record.topic.sha256,
        done=done,
        total=total,
    )
    risks = record.summary
    if risks is None:
        return entry
    return replace(
        entry, R=risks.R, R_bias=risks.R_bias, R_volatility=risks.R_volatility
    )


def _reliability_entry(name: str, path: Path) -> Entry:
    """Read a reliability run for the list, by its models and its statements."""
    record = ReliabilityFolder(path).read_record()
    return Entry(
        id=name,
        model=", ".join(model.id for model in record.models) or name,
        topic="Reliability of statements",
        contexts="",
        state=_state(path, record.finished),
        created=record.created,
        kind="reliability",
        cobias=record.summary.get("cobias"),
    )


def _state(path: Path, finished: bool) -> str:
    """Return finished, running or interrupted.

    A reader must not take the lock of a writer, but can see who holds one; where that cannot be
    seen, a run that was written just now is running.
    """
    if finished:
        return "finished"
    try:
        lock = (path / ".lock").stat()
        files = [path, path / "run.json", path / "scores"]
        written = max(file.stat().st_mtime for file in files if file.exists())
    except OSError:  # without a lock it has ended
        return INTERRUPTED
    try:
        locks = Path("/proc/locks").read_text(encoding="utf-8")
    except OSError:
        locks = ""
    is_locked = f":{lock.st_ino} " in locks
    return RUNNING if is_locked or time.time() - written < _JUST_NOW_S else INTERRUPTED
