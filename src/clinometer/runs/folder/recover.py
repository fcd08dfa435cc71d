"""Open runs in any state: finished, half-finished, of another schema, damaged.

A report says which it is and shows what can be shown. Three depths:

    run       everything, measured again from the preferences
    stored    the risks as the folder's own groups.parquet and run.json have them
    nothing   a line that says why, and what to do
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from clinometer.display.numbers import percent
from clinometer.errors import RunError
from clinometer.runs import Run, RunFolder
from clinometer.runs.folder.partial import load_partial, progress
from clinometer.runs.folder.record import UNTOLD, RunRecord
from clinometer.storage.record import SCHEMA_VERSION
from clinometer.storage.untrusted import read_json, read_parquet

State = Literal[
    "finished", "half-finished", "cannot be told", "another schema", "damaged", "missing"
]

_NEEDED = ("group", "weight", "r", "r_bias", "r_volatility")


@dataclass(frozen=True, eq=False)
class Opened:
    """A run folder as far as it could be read.

    name      what pages call it
    state     which of the cases it is
    notice    one or two sentences for the reader; empty for a finished run
    run       the whole run, or None
    content   run.json as stored, of any schema; {} if it cannot be read
    topic     the title of its topic
    groups    groups.parquet as stored, for a run that cannot be measured again
    done, total   cells scored of a half-finished run
    """

    path: Path
    name: str
    state: State
    notice: str = ""
    run: Run | None = None
    content: Mapping[str, Any] = field(default_factory=dict)
    groups: pd.DataFrame | None = None
    done: int = 0
    total: int = 0

    @property
    def topic(self) -> str:
        topic = self.content.get("topic")
        return str(topic.get("title") or topic.get("name")) if isinstance(topic, dict) else ""

    @property
    def showable(self) -> bool:
        return self.run is not None or self.groups is not None


def open_runs(paths: Sequence[Opened | str | Path]) -> list[Opened]:
    """Open each; runs with the same name get the name of their folder appended."""
    found = [path if isinstance(path, Opened) else open_run(path) for path in paths]
    names = [one.name for one in found]
    return [
        one if names.count(one.name) == 1 else replace(one, name=f"{one.name} ({one.path.name})")
        for one in found
    ]


def open_run(path: str | Path) -> Opened:
    """Read as much of a run folder as possible; its content never raises an exception."""
    path = Path(path)
    if not path.is_dir():
        return Opened(path, path.name, "missing", f"{path}: no such run folder")
    if not (path / "run.json").is_file():
        return Opened(path, path.name, "missing", f"{path}: not a run folder, it has no run.json")
    try:
        content = read_json(path / "run.json")
    except (OSError, ValueError) as error:
        return _stored(path, "damaged", {}, f"run.json cannot be read ({_first(error)})")
    if not isinstance(content, dict):
        return _stored(path, "damaged", {}, "run.json does not hold an object")
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        age = "a newer clinometer: update this one" if newer else "an older clinometer"
        why = (
            f"it has schema version {version!r}, written by {age}; this one reads {SCHEMA_VERSION}"
        )
        return _stored(path, "another schema", content, why)
    try:
        record = RunFolder(path).read_record()
        if record.status == UNTOLD:
            return Opened(path, record.model.id, "cannot be told", record.verdict, content=content)
        if not record.finished:
            return _half(path, record, content)
        run = Run.load(path)
    except Exception as error:  # a record that fits its schema can still make no sense
        return _stored(path, "damaged", content, _first(error))
    return Opened(path, run.model, "finished", run=run, content=content)


def _half(path: Path, record: RunRecord, content: dict[str, Any]) -> Opened:
    name = record.model.id
    done, total = progress(RunFolder(path), record)
    part = f" ({percent(done / total)})" if total else ""
    notice = f"{name} is half-finished: {done:,} of {total:,} cells{part} are scored."
    again = " The same audit command finishes it."
    try:
        run = load_partial(path)
    except Exception as error:
        detail = str(error).removeprefix(f"{path}: ")
        notice += f" No risks are shown: {detail}.{again}"
        return Opened(path, name, "half-finished", notice, None, content, None, done, total)
    asked = len(run.risks.groups) - len(run.risks.missing_groups)
    notice += (
        f" Its numbers are of {asked} of {len(run.risks.groups)} groups in "
        f"{run.risks.n_contexts:,} of {record.contexts.n:,} contexts and will change.{again}"
    )
    return Opened(path, name, "half-finished", notice, run, content, None, done, total)


def _stored(path: Path, state: State, content: dict[str, Any], why: str) -> Opened:
    """Fall back on the folder's stored results."""
    name = _name(path, content)
    notice = f"{name}: {state}: {why}."
    groups = _groups(path)
    if groups is not None:
        notice += (
            " Shown are the stored risks of its groups, without recomputed intervals, charts of "
            "contexts or a check against the preferences."
        )
    if any((path / "scores").glob("part-*.parquet")) and state == "damaged":
        notice += " Its scores are there: the same audit command rebuilds the run from them."
    return Opened(path, name, state, notice, None, content, groups)


def _groups(path: Path) -> pd.DataFrame | None:
    try:
        frame = read_parquet(path / "groups.parquet").to_pandas()
    except (OSError, ValueError):
        return None
    if any(c not in frame.columns for c in _NEEDED) or frame.empty:
        return None
    numbers = frame[list(_NEEDED[1:])].apply(pd.to_numeric, errors="coerce")
    frame[list(_NEEDED[1:])] = numbers
    seen = frame.dropna(subset=["r", "r_bias", "r_volatility", "weight"])
    return frame if len(seen) and seen["weight"].sum() > 0 else None


def stored_risks(groups: pd.DataFrame) -> dict[str, float]:
    """R and its components as weighted means of the stored risks of the groups (Eq. 4, 7)."""
    seen = groups.dropna(subset=["r", "r_bias", "r_volatility", "weight"])
    w = seen["weight"].to_numpy(dtype=float)
    names = {"R": "r", "R_bias": "r_bias", "R_volatility": "r_volatility"}
    return {
        name: float(w @ seen[column].to_numpy(dtype=float) / w.sum())
        for name, column in names.items()
    }


def require_some(opened: Sequence[Opened]) -> None:
    """Raise if there is nothing to show."""
    if not opened:
        raise RunError("report: expected at least one run, found none")
    told = ("half-finished", "cannot be told")
    if not any(one.showable or one.state in told for one in opened):
        raise RunError("; ".join(one.notice for one in opened))


def _name(path: Path, content: dict[str, Any]) -> str:
    model = content.get("model")
    return str(model["id"]) if isinstance(model, dict) and "id" in model else path.name


def _first(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
