"""Find run folders, and read them in any state: finished, half-finished, unmeasurable, unreadable.

`open_run` says which it is, and reads it as it was measured, a half-finished one as far as it is
scored; where neither can be done a line says why, and what to do. Nothing here takes the lock,
removes a damaged part or writes, so a writer may be active.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.display.numbers import percent
from clinometer.errors import ClinometerError, RunError
from clinometer.runs.folder.folder import RunFolder, scores_of
from clinometer.runs.folder.record import UNMEASURABLE, RunRecord, find_topic
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.run import Run
from clinometer.runs.scores import CellGrid, PreferenceTable, word_counts
from clinometer.topics.prompt import Prompt, english_article, render

State = Literal["finished", "half-finished", "unmeasurable", "unreadable", "missing"]

#: The way on where run.json does not say whose scores these are.
_OVER = (
    "; the same audit command with --fresh starts over, and the cache has its scores"
)

#: Folders below a root that are looked through.
_DEPTH = 6

_UNREADABLE = (pa.ArrowException, OSError, KeyError, ValueError, IndexError)


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run folder as far as it could be read.

    name      what pages call it
    state     which of the cases it is
    notice    one or two sentences for the reader; empty for a finished run
    run       the whole run, or None
    record    what run.json says of a run that is shown
    topic     the title of its topic
    done, total   cells scored of a half-finished run
    """

    path: Path
    name: str
    state: State
    notice: str = ""
    run: Run | None = None
    record: RunRecord | None = None
    done: int = 0
    total: int = 0

    @property
    def topic(self) -> str:
        return (
            ""
            if self.record is None
            else self.record.topic.title or self.record.topic.name
        )


def run_folders(root: Path) -> list[Path]:
    """Folders with a run.json, the root itself among them, by name.

    Links are not followed and runs are not looked into; a folder that may not be read, or whose
    name is not text, is passed over.
    """
    runs = []
    for place, inside, files in os.walk(root):
        folder = Path(place)
        record = folder / "run.json"
        found = record.name in files and record.is_file() and not record.is_symlink()
        if found:
            runs.append(folder)
        if (found and folder != root) or len(folder.relative_to(root).parts) == _DEPTH:
            inside.clear()
        closed = {PLACEBO} if found else set()
        named = [
            n for n in inside if n.encode(errors="ignore").decode() == n
        ]  # in UTF-8
        inside[:] = [n for n in named if n not in closed and n[:1] != "."]
    return sorted(runs)


def open_runs(paths: Sequence[LoadedRun | str | Path]) -> list[LoadedRun]:
    """Open each; runs with the same name get the name of their folder appended."""
    found = [path if isinstance(path, LoadedRun) else open_run(path) for path in paths]
    names = [one.name for one in found]
    return [
        one
        if names.count(one.name) == 1
        else replace(one, name=f"{one.name} ({one.path.name})")
        for one in found
    ]


def open_run(path: str | Path) -> LoadedRun:
    """Read as much of a run folder as possible; its content never raises an exception."""
    path = Path(path)
    if not (path / "run.json").is_file():
        why = (
            "not a run folder, it has no run.json"
            if path.is_dir()
            else "no such run folder"
        )
        return LoadedRun(path, path.name, "missing", f"{path}: {why}")
    record = None
    try:
        record = RunFolder(path).read_record()
        if record.status == UNMEASURABLE:
            why = record.unmeasurable
            return LoadedRun(path, record.model.id, "unmeasurable", why, record=record)
        if not record.finished:
            return _half(path, record)
        run = Run.load(path)
    except Exception as error:  # a record that fits its schema can still make no sense
        name = path.name if record is None else record.model.id
        why = next(iter(str(error).splitlines()), type(error).__name__)
        why = why.removeprefix(f"{path}{os.sep}")
        over = _OVER if record is None else ""
        return LoadedRun(path, name, "unreadable", f"{name}: {why}{over}.")
    return LoadedRun(path, run.model, "finished", run=run, record=record)


def _half(path: Path, record: RunRecord) -> LoadedRun:
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
        return LoadedRun(path, name, "half-finished", notice, None, record, done, total)
    asked = len(run.risks.groups) - len(run.risks.missing_groups)
    notice += (
        f" Its numbers are of {asked} of {len(run.risks.groups)} groups in "
        f"{run.risks.n_contexts:,} of {record.contexts.n:,} contexts and will change.{again}"
    )
    return LoadedRun(path, name, "half-finished", notice, run, record, done, total)


def require_some(opened: Sequence[LoadedRun]) -> None:
    """Raise if there is nothing to show."""
    if not opened:
        raise RunError("report: expected at least one run, found none")
    told = ("half-finished", "unmeasurable")
    if not any(one.run is not None or one.state in told for one in opened):
        raise RunError("; ".join(one.notice for one in opened))


# --- Half-finished runs ---------------------------------------------------------------------------


def progress(folder: RunFolder, record: RunRecord) -> tuple[int, int]:
    """(cells scored, cells in total), from the footers of the parts alone."""
    done = 0
    for file in folder.parts.files():
        try:
            done += pq.ParquetFile(file).metadata.num_rows
        except _UNREADABLE:
            continue
    return done, record.topic.groups * record.contexts.n


def load_partial(path: str | Path) -> Run:
    """A half-finished run, measured: cells without a score yet are missing.

    Needs the prompts again: the topic and the contexts must be built in, and the same as when the
    run was started (by sha256). Otherwise, and if no cell is scored, a RunError is raised.
    """
    folder = RunFolder(Path(path))
    record = folder.read_record()
    topic, contexts = find_topic(record), find_contexts(record)
    if topic is None or contexts is None:
        what = "topic" if topic is None else "contexts"
        raise RunError(
            f"{folder.path}: its {what} cannot be found again before the run is finished"
        )
    if record.words is None:
        raise RunError(
            f"{folder.path}: expected at least one scored cell, found none yet"
        )
    grid = CellGrid(topic, contexts, record.chunk_size)
    table = PreferenceTable(grid, word_counts(record))
    for _, part in folder.parts.read():
        scored = None if part is None else scores_of(part, words=len(topic.words))
        if scored is None:
            continue  # repairing damage is left to the writer
        table.add(*scored)
    if np.isnan(table.skipped).all():
        raise RunError(
            f"{folder.path}: expected at least one scored cell, found none yet"
        )
    preferences = table.preferences(record.settings)
    report = preferences.estimate(**record.settings.inference())
    record.counts = {**preferences.counts(), **record.words.counts}
    return Run(record, preferences, report, folder.path)


def find_contexts(record: RunRecord) -> ContextSet | None:
    """The contexts of a run, from the built-in set or the topic's questions that they were taken
    or sampled from."""
    drawn = record.contexts.drawn
    topic, name = find_topic(record), record.contexts.name
    try:
        if name in builtin_contexts():
            contexts = load_contexts(name)
        elif topic is not None and topic.questions is not None:
            contexts = default_contexts(topic)
        else:
            return None
        if drawn and drawn.seed is not None:
            contexts = contexts.draw(drawn.n, seed=drawn.seed)
    except ClinometerError:
        return None
    return contexts if contexts.sha256 == record.contexts.sha256 else None


# --- Single cells ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellWord:
    """One word in one cell: its probability, the categories it counts for, and its tokens.

    probability is 0 for a word whose expansion was skipped, or that cannot be scored.
    """

    word: str
    categories: tuple[str, ...]
    probability: float
    tokens: tuple[str, ...]


def cell_prompt(run: Run, group: str, template: str) -> tuple[Prompt, bool]:
    """The text around the slot, and whether it is known to be exactly what was scored.

    It is known for a built-in topic. For a topic file the run contains only the names of the
    groups, and the name takes the position of the group's text.
    """
    topic = find_topic(run.record)
    if topic is not None and group in topic.group_names:
        return topic.render(template, group), True
    english = run.record.topic.language.lower().startswith("en")
    return render(
        template, group, article=english_article(group) if english else None
    ), False


def cell_words(run: Run, group: int, context: int) -> list[CellWord]:
    """The words of one cell with their probabilities, the likeliest first; [] where not stored."""
    known = run.record.words
    if run.path is None or known is None:
        return []
    cell = group * len(run.preferences.contexts) + context
    scores = _find_cell(RunFolder(run.path), cell, words=len(known.words))
    if scores is None:
        return []
    attributes = run.record.topic.attributes
    found = [
        CellWord(
            word=word,
            categories=tuple(c for c, members in attributes.items() if word in members),
            probability=math.exp(value) if value > -math.inf else 0.0,
            tokens=tuple(known.tokens.get(word, ())),
        )
        for word, value in zip(known.words, scores, strict=True)
    ]
    return sorted(found, key=lambda w: -w.probability)


def _find_cell(folder: RunFolder, cell: int, *, words: int) -> list[float] | None:
    for file in folder.parts.files():
        try:
            parquet = pq.ParquetFile(file)
            place = np.flatnonzero(
                parquet.read(columns=["cell"])["cell"].to_numpy() == cell
            )
            scored = (
                scores_of(parquet.read().take(place[:1]), words=words)
                if place.size
                else None
            )
            if scored is not None:
                return [float(v) for v in scored[1].log_probs[0]]
        except _UNREADABLE:
            continue
    return None
