"""Find run folders, and read them in any state: finished, half-finished, unmeasurable, unreadable.

`open_run` says which it is, and reads it as it was measured, a half-finished one as far as it is
scored; where neither can be done a line says why, and what to do. Nothing here takes the lock,
removes a damaged part or writes, so a writer may be active.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from clinometer.display.numbers import percent
from clinometer.errors import RunError
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.partial import load_partial, progress
from clinometer.runs.folder.record import UNMEASURABLE, RunRecord
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.run import Run

State = Literal["finished", "half-finished", "unmeasurable", "unreadable", "missing"]

_START_OVER = (
    "; the same audit command with --fresh starts over, and the cache has its scores"
)
"""The way on where run.json does not say whose scores these are."""

_DEPTH = 6
"""How many levels of folders below a root are looked through."""


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run folder as far as it could be read."""

    path: Path

    name: str
    """What pages call it."""

    state: State

    notice: str = ""
    """One or two sentences for the reader; empty for a finished run."""

    run: Run | None = None
    """The whole run, or None."""

    record: RunRecord | None = None
    """What run.json says of a run that is shown."""

    done: int = 0
    """Cells scored of a half-finished run."""

    total: int = 0
    """All cells of a half-finished run."""

    @property
    def topic(self) -> str:
        """The title of its topic."""
        if self.record is None:
            return ""
        return self.record.topic.title or self.record.topic.name


def run_folders(root: Path) -> list[Path]:
    """Return folders with a run.json, the root itself among them, by name.

    Links are not followed and runs are not looked into; a folder that may not be read, or whose
    name is not text, is passed over.
    """
    runs = []
    for directory, subfolders, files in os.walk(root):
        folder = Path(directory)
        record = folder / "run.json"
        is_run = record.name in files and record.is_file() and not record.is_symlink()
        if is_run:
            runs.append(folder)
        depth = len(folder.relative_to(root).parts)
        if depth == _DEPTH or (is_run and folder != root):
            subfolders.clear()
        subfolders[:] = [name for name in subfolders if _is_looked_into(name, is_run)]
    return sorted(runs)


def _is_looked_into(name: str, inside_run: bool) -> bool:
    """Whether a folder of this name may hold runs: not one that is hidden, or not UTF-8."""
    if inside_run and name == PLACEBO:
        return False
    is_text = name.encode(errors="ignore").decode() == name
    return is_text and not name.startswith(".")


def open_runs(paths: Sequence[LoadedRun | str | Path]) -> list[LoadedRun]:
    """Open several runs; those with the same name get the name of their folder appended."""
    runs = [path if isinstance(path, LoadedRun) else open_run(path) for path in paths]
    names = [run.name for run in runs]
    return [
        run
        if names.count(run.name) == 1
        else replace(run, name=f"{run.name} ({run.path.name})")
        for run in runs
    ]


def open_run(path: str | Path) -> LoadedRun:
    """Read as much of a run folder as possible; its content never raises an exception."""
    path = Path(path)
    if not (path / "run.json").is_file():
        why = "no such run folder"
        if path.is_dir():
            why = "not a run folder, it has no run.json"
        return LoadedRun(path, path.name, "missing", f"{path}: {why}")
    record = None
    try:
        record = RunFolder(path).read_record()
        if record.status == UNMEASURABLE:
            why = record.unmeasurable
            return LoadedRun(path, record.model.id, "unmeasurable", why, record=record)
        if not record.finished:
            return _half_finished(path, record)
        run = Run.load(path)
    except Exception as error:  # a record that fits its schema can still make no sense
        return _unreadable(path, record, error)
    return LoadedRun(path, run.model, "finished", run=run, record=record)


def _unreadable(path: Path, record: RunRecord | None, error: Exception) -> LoadedRun:
    name = path.name if record is None else record.model.id
    lines = str(error).splitlines() or [type(error).__name__]
    why = lines[0].removeprefix(f"{path}{os.sep}")
    advice = _START_OVER if record is None else ""
    return LoadedRun(path, name, "unreadable", f"{name}: {why}{advice}.")


def _half_finished(path: Path, record: RunRecord) -> LoadedRun:
    done, total = progress(RunFolder(path), record)
    share = f" ({percent(done / total)})" if total else ""
    notice = f"{record.model.id} is half-finished: {done:,} of {total:,} cells{share} are scored."
    advice = "The same audit command finishes it."
    run: Run | None = None
    try:
        run = load_partial(path)
        notice += f"{_partial_note(run, record)} {advice}"
    except Exception as error:
        detail = str(error).removeprefix(f"{path}: ")
        notice += f" No risks are shown: {detail}. {advice}"
    return LoadedRun(
        path,
        record.model.id,
        "half-finished",
        notice,
        run,
        record,
        done=done,
        total=total,
    )


def _partial_note(run: Run, record: RunRecord) -> str:
    """Return what the numbers of a half-finished run are of."""
    n_groups = len(run.risks.groups)
    n_asked = n_groups - len(run.risks.missing_groups)
    return (
        f" Its numbers are of {n_asked} of {n_groups} groups in "
        f"{run.risks.n_contexts:,} of {record.contexts.n:,} contexts and will change."
    )


def require_some(opened: Sequence[LoadedRun]) -> None:
    """Raise if there is nothing to show."""
    if not opened:
        raise RunError("report: expected at least one run, found none")
    if not any(_is_shown(run) for run in opened):
        raise RunError("; ".join(run.notice for run in opened))


def _is_shown(loaded: LoadedRun) -> bool:
    """Whether a page has something to say of a run."""
    return loaded.run is not None or loaded.state in ("half-finished", "unmeasurable")
