"""Half-finished runs, measured as far as they are scored; a writer may be active meanwhile."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.errors import ClinometerError, RunError
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import RunRecord, find_topic
from clinometer.runs.folder.score_table import scores_of
from clinometer.runs.run import Run
from clinometer.runs.scores import CellGrid, PreferenceTable, word_counts

UNREADABLE_PART = (pa.ArrowException, OSError, KeyError, ValueError, IndexError)
"""What is raised by a part that is damaged, or removed meanwhile."""


def progress(folder: RunFolder, record: RunRecord) -> tuple[int, int]:
    """Return (cells scored, cells in total), from the footers of the parts alone."""
    done = 0
    for file in folder.parts.files():
        try:
            done += pq.ParquetFile(file).metadata.num_rows
        except UNREADABLE_PART:
            continue
    return done, record.topic.groups * record.contexts.n


def load_partial(path: str | Path) -> Run:
    """Return a half-finished run, measured: cells without a score yet are missing.

    Needs the prompts again: the topic and the contexts must be built in, and the same as when the
    run was started (by sha256). Otherwise, and if no cell is scored, a RunError is raised.
    """
    folder = RunFolder(Path(path))
    record = folder.read_record()
    topic = find_topic(record)
    contexts = find_contexts(record)
    if topic is None or contexts is None:
        missing = "topic" if topic is None else "contexts"
        raise RunError(
            f"{folder.path}: its {missing} cannot be found again before the run is finished"
        )
    if record.words is None:
        raise _nothing_scored(folder)
    grid = CellGrid(topic, contexts, record.chunk_size)
    table = PreferenceTable(grid, word_counts(record))
    for _, part in folder.parts.read():
        scored = None if part is None else scores_of(part, words=len(topic.words))
        if scored is not None:  # repairing damage is left to the writer
            table.add(*scored)
    if table.done() == 0:
        raise _nothing_scored(folder)
    preferences = table.preferences(record.settings)
    report = preferences.estimate(**record.settings.inference())
    record.counts = {**preferences.counts(), **record.words.counts}
    return Run(record, preferences, report, folder.path)


def _nothing_scored(folder: RunFolder) -> RunError:
    return RunError(f"{folder.path}: expected at least one scored cell, found none yet")


def find_contexts(record: RunRecord) -> ContextSet | None:
    """Return the contexts of a run, from the set that they were taken or sampled from.

    That is a built-in set or the topic's questions; None where neither has them.
    """
    try:
        contexts = _source(record)
        drawn = record.contexts.drawn
        if contexts is not None and drawn and drawn.seed is not None:
            contexts = contexts.draw(drawn.n, seed=drawn.seed)
    except ClinometerError:
        return None
    if contexts is None or contexts.sha256 != record.contexts.sha256:
        return None
    return contexts


def _source(record: RunRecord) -> ContextSet | None:
    # Only a built-in name: an untrusted run.json must not make us open a path.
    if record.contexts.name in builtin_contexts():
        return load_contexts(record.contexts.name)
    topic = find_topic(record)
    if topic is None or topic.questions is None:
        return None
    return default_contexts(topic)
