"""Read-only access to a run that is still being written, or to a single cell of a run.

Nothing here takes the lock, removes a damaged part or writes, so a writer may be active.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clinometer.contexts import builtin_contexts, load_contexts
from clinometer.contexts.load import question_contexts
from clinometer.errors import ClinometerError, RunError
from clinometer.models import WordScores
from clinometer.runs.cells import CellGrid
from clinometer.runs.folder.folder import RunFolder, scores_of
from clinometer.runs.folder.record import RunRecord
from clinometer.runs.precision import Drawn
from clinometer.runs.run import Run
from clinometer.runs.scores.accumulate import PreferenceTable, word_counts
from clinometer.topics import Topic, builtin_topics, load_topic
from clinometer.topics.prompt import Articles, Prompt, render

_ENGLISH = Articles()

_UNREADABLE = (pa.ArrowException, OSError, KeyError, ValueError, IndexError)


@dataclass(frozen=True)
class CellWord:
    """One word in one cell: its probability, the categories it counts for, and its tokens.

    probability is 0 for a word whose expansion was skipped, or that cannot be scored.
    """

    word: str
    categories: tuple[str, ...]
    probability: float
    tokens: tuple[str, ...]


def progress(folder: RunFolder, record: RunRecord) -> tuple[int, int]:
    """(cells scored, cells in total), from the footers of the parts alone."""
    done = 0
    for file in _parts(folder):
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
    topic, sample = find_topic(record), find_sample(record)
    if topic is None or sample is None:
        what = "topic" if topic is None else "contexts"
        raise RunError(
            f"{folder.path}: its {what} cannot be found again before the run is finished"
        )
    if record.words is None:
        raise RunError(f"{folder.path}: expected at least one scored cell, found none yet")
    grid = CellGrid(topic, sample.contexts, record.chunk_size, sample.rounds)
    table = PreferenceTable(grid, word_counts(record))
    for cells, scores in _scores(folder, words=len(topic.words)):
        # a round that has just begun may not be in run.json yet
        known = np.flatnonzero(cells < len(grid))
        table.add(cells[known], scores.take(known))
    if np.isnan(table.skipped).all():
        raise RunError(f"{folder.path}: expected at least one scored cell, found none yet")
    settings = record.settings
    preferences = table.preferences(settings)
    if settings.replicates:
        report = preferences.estimate(**settings.inference())
    else:
        report = preferences.decompose(**settings.scaling)
    record.counts = {**preferences.counts(), **record.words.counts}
    return Run(record, preferences, report, folder.path)


def find_topic(record: RunRecord) -> Topic | None:
    """The built-in topic of a run, if it has not changed."""
    return _builtin_topic(record.topic.name, record.topic.sha256)


@lru_cache(maxsize=16)
def _builtin_topic(name: str, sha256: str) -> Topic | None:
    """Cached: a page needs it for every sentence."""
    # Only a built-in name: an untrusted run.json must not make us open a path.
    if name not in builtin_topics():
        return None
    topic = load_topic(name)
    return topic if topic.sha256 == sha256 else None


def find_sample(record: RunRecord) -> Drawn | None:
    """The contexts of a run, from the built-in set or the topic's questions that they were taken
    or sampled from."""
    settings, drawn = record.settings, record.contexts.drawn
    topic, name = find_topic(record), record.contexts.name
    asked = topic is not None and topic.questions is not None
    if name not in builtin_contexts() and not asked:
        return None
    try:
        built_in = name in builtin_contexts()
        source = load_contexts(name) if built_in or topic is None else question_contexts(topic)
        if settings.precision is None and drawn and drawn.seed is not None:
            source = source.draw(drawn.n, seed=drawn.seed)
        sample = Drawn.begin(source, settings, record.precision)
    except ClinometerError:
        return None
    return sample if sample.contexts.sha256 == record.contexts.sha256 else None


def cell_prompt(run: Run, group: str, template: str) -> tuple[Prompt, bool]:
    """The text around the slot, and whether it is known to be exactly what was scored.

    It is known for a built-in topic. For a topic file the run contains only the names of the
    groups, and the name takes the position of the group's text.
    """
    topic = find_topic(run.record)
    if topic is not None and group in topic.group_names:
        return topic.render(template, group), True
    english = run.record.topic.language.lower().startswith("en")
    return render(template, group, article=_ENGLISH.choose(group) if english else None), False


def cell_words(run: Run, group: int, context: int) -> list[CellWord]:
    """The words of one cell with their probabilities, the likeliest first; [] where not stored."""
    known = run.record.words
    if run.path is None or known is None:
        return []
    cell = _cell_number(run, group, context)
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


def _cell_number(run: Run, group: int, context: int) -> int:
    """The index of a cell in the scores: round by round, in a round group by group."""
    looks = run.record.precision.rounds if run.record.precision else []
    ends = [look.contexts or 0 for look in looks] or [len(run.preferences.contexts)]
    first = 0
    for end in ends:
        if context < end:
            return first * len(run.preferences.groups) + group * (end - first) + context - first
        first = end
    return -1


def _find_cell(folder: RunFolder, cell: int, *, words: int) -> list[float] | None:
    for file in _parts(folder):
        try:
            parquet = pq.ParquetFile(file)
            place = np.flatnonzero(parquet.read(columns=["cell"])["cell"].to_numpy() == cell)
            scored = scores_of(parquet.read().take(place[:1]), words=words) if place.size else None
            if scored is not None:
                return [float(v) for v in scored[1].log_probs[0]]
        except _UNREADABLE:
            continue
    return None


def _scores(folder: RunFolder, *, words: int) -> Iterator[tuple[NDArray[np.int64], WordScores]]:
    """All readable scores; repairing damage is left to the writer."""
    for _, table in folder.parts.read():
        found = None if table is None else scores_of(table, words=words)
        if found is not None:
            yield found


def _parts(folder: RunFolder) -> list[Path]:
    return [file for file in folder.parts.files() if file.is_file()]
