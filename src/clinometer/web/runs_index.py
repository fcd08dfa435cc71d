"""The run folders under a root; nothing outside it is read.

A folder is read again only when its files have changed, so a page costs one directory scan.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from starlette.exceptions import HTTPException

from clinometer.errors import RunError
from clinometer.reliability.run import ReliabilityFolder, ReliabilityRun
from clinometer.report.cell_statistics import drawn
from clinometer.report.explorer import explorer_data
from clinometer.report.reliability import is_reliability_run, reliability_story
from clinometer.report.summary import RunSummary
from clinometer.runs import Run, RunFolder
from clinometer.runs.folder.find import run_folders
from clinometer.runs.folder.record import UNMEASURABLE
from clinometer.runs.folder.recover import LoadedRun, open_run, progress

#: States of a run that is not finished: a process writes it, or none does.
RUNNING, INTERRUPTED = "running", "interrupted"
#: Runs with answers to show.
READABLE = ("finished", RUNNING, INTERRUPTED)
_JUST_NOW_S = 60.0
_KEPT = 6  # opened runs kept in memory
_TABLES = ("preferences", "groups", "contexts", *ReliabilityFolder.tables)
_MARKED = frozenset(("run.json", ".lock", "scores", *(f"{name}.parquet" for name in _TABLES)))

Signature = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Entry:
    """One line of the list of runs, from run.json alone."""

    id: str
    model: str
    topic: str
    contexts: str
    state: str
    created: str
    groups: int | None = None
    n_contexts: int | None = None
    n_eff: float | None = None
    R: float | None = None
    R_low: float | None = None
    R_high: float | None = None
    R_bias: float | None = None
    R_volatility: float | None = None
    done: int = 0
    total: int = 0
    topic_sha256: str = ""
    kind: str = "audit"
    stability: float | None = None


@dataclass(frozen=True, eq=False)
class OpenedRun:
    """A run folder as far as it could be read, and what its pages show, each computed once."""

    loaded: LoadedRun

    @property
    def run(self) -> Run:
        """The whole run; 404 if it could not be read."""
        if self.loaded.run is None:
            raise HTTPException(404, self.loaded.notice)
        return self.loaded.run

    @cached_property
    def summary(self) -> RunSummary:
        return RunSummary(self.loaded, drawn(self.run))

    @cached_property
    def data(self) -> str:
        """What the explorer draws from."""
        return explorer_data(self.summary)


class RunsIndex:
    """Runs under a root by their path below it ("pocket/bert"; "." for the root itself)."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise RunError(f"{root}: no such folder")
        self.root = root.resolve()
        self._entries: dict[str, tuple[Signature, Entry]] = {}
        self._findings: dict[str, tuple[Signature, str]] = {}
        self._opened: dict[str, tuple[Signature, OpenedRun]] = {}  # the latest last

    def entries(self) -> list[Entry]:
        """Every run, the newest first."""
        return self.snapshot()[0]

    def snapshot(self) -> tuple[list[Entry], str]:
        """Every run, the newest first, and the version of them all."""
        found, signed = [], self._signed()
        for name, signature in signed:
            kept = self._entries.get(name)
            if kept is None or kept[0] != signature:
                kept = (signature, _entry(name, self._place(name)))
                self._entries[name] = kept
            found.append(kept[1])
        found.sort(key=lambda e: (e.created, e.id), reverse=True)
        return found, _digest(signed)

    def entry(self, name: str) -> Entry:
        """One run as the list has it."""
        return _entry(name, self.resolve(name))

    def version(self, name: str | None = None) -> str:
        """Changes whenever a run (or any of them) has changed on disk."""
        if name is None:
            return _digest(self._signed())
        return _digest([(name, self._signature(self.resolve(name)))])

    def _signed(self) -> list[tuple[str, Signature]]:
        names = sorted(f.relative_to(self.root).as_posix() for f in run_folders(self.root))
        return [(name, self._signature(self._place(name))) for name in names]

    def open(self, name: str) -> OpenedRun:
        """The run of this name, opened again if it has changed."""
        path = self.resolve(name)
        signature = self._signature(path)
        kept = self._opened.pop(name, None)
        if kept is None or kept[0] != signature:
            kept = (signature, OpenedRun(open_run(path)))
        self._opened[name] = kept
        for oldest in list(self._opened)[:-_KEPT]:
            self._opened.pop(oldest, None)
        return kept[1]

    def finding(self, name: str) -> str:
        """The headline of a run, or why there is none; kept until the run changes."""
        signature = self._signature(self.resolve(name))
        kept = self._findings.get(name)
        if kept is None or kept[0] != signature:
            kept = (signature, self._headline(name))
            self._findings[name] = kept
        return kept[1]

    def _headline(self, name: str) -> str:
        path = self.resolve(name)
        if is_reliability_run(path):
            return reliability_story(ReliabilityRun.load(path)).title
        opened = self.open(name)
        return opened.loaded.notice if opened.loaded.run is None else opened.summary.title

    def resolve(self, name: str) -> Path:
        """The folder of a run; 404 for anything that is not one below the root, also by a link."""
        pure, path = PurePosixPath(name), self._place(name)
        foreign = "\0" in name or "\\" in name or pure.is_absolute() or ".." in pure.parts
        try:
            if name and not foreign and self._is_run(path):
                return path
        except (OSError, ValueError):  # the name is too long, or the folder not readable
            pass
        raise HTTPException(404, "There is no such run under this folder.")

    def _is_run(self, path: Path) -> bool:
        if not self._inside(path) or not (path / "run.json").is_file():
            return False
        files = [path / file for file in _MARKED]
        if (path / "scores").is_dir():
            files += (path / "scores").iterdir()
        return all(self._inside(file) for file in files)

    def _place(self, name: str) -> Path:
        return self.root if name == "." else self.root / name

    def _inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root)

    def _signature(self, path: Path) -> Signature:
        marks = []
        try:
            with os.scandir(path) as inside:
                for one in inside:
                    if one.name in _MARKED:
                        state = one.stat(follow_symlinks=False)
                        marks.append((one.name, state.st_mtime_ns, state.st_size))
        except OSError:  # gone, or just being written
            pass
        return tuple(sorted(marks))


def _digest(signed: list[tuple[str, Signature]]) -> str:
    return hashlib.sha256(repr(signed).encode()).hexdigest()[:16]


def _entry(name: str, path: Path) -> Entry:
    if is_reliability_run(path):
        return _reliability(name, path)
    try:
        record = RunFolder(path).read_record()
        done, total = (0, 0) if record.finished else progress(RunFolder(path), record)
    except Exception:  # a bad run must not hide the others
        return Entry(name, name, "", "", "unreadable", "")
    R, bias, volatility = (
        None if record.summary is None else getattr(record.summary, measure)
        for measure in ("R", "R_bias", "R_volatility")
    )
    return Entry(
        id=name,
        model=record.model.id,
        topic=record.topic.title or record.topic.name,
        contexts=record.contexts.name,
        state="unmeasurable" if record.status == UNMEASURABLE else _state(path, record.finished),
        created=record.created,
        groups=record.topic.groups,
        n_contexts=record.contexts.n,
        n_eff=record.contexts.n_eff if record.n_eff is None else record.n_eff,
        topic_sha256=record.topic.sha256,
        done=done,
        total=total,
        R=R and R.value,
        R_low=R and R.low,
        R_high=R and R.high,
        R_bias=bias and bias.value,
        R_volatility=volatility and volatility.value,
    )


def _state(path: Path, finished: bool) -> str:
    """finished, running or interrupted. A reader must not take the lock of a writer, but can see
    who holds one; where that cannot be seen, a run that was written just now is running."""
    if finished:
        return "finished"
    try:
        lock = (path / ".lock").stat()
        places = [path, path / "run.json", path / "scores"]
        written = max(f.stat().st_mtime for f in places if f.exists())
    except OSError:  # without a lock it has ended
        return INTERRUPTED
    try:
        held = f":{lock.st_ino} " in Path("/proc/locks").read_text(encoding="utf-8")
    except OSError:
        held = False
    return RUNNING if held or time.time() - written < _JUST_NOW_S else INTERRUPTED


def _reliability(name: str, path: Path) -> Entry:
    """A reliability run by its models and its statements."""
    try:
        record = ReliabilityFolder(path).read_record()
    except Exception:
        return Entry(name, name, "", "", "unreadable", "")
    return Entry(
        id=name,
        model=", ".join(m.id for m in record.models) or name,
        topic="Reliability of statements",
        contexts="",
        state=_state(path, record.finished),
        created=record.created,
        groups=record.counts.overall.get("statements"),
        kind="reliability",
        stability=None if (e := record.summary.get("stability")) is None else e.value,
    )
