"""One audit from start to end: ask the model in every cell, store as it comes, measure."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.contexts import ContextSet, builtin_contexts, load_contexts
from tiltmeter.errors import ContextError
from tiltmeter.measure import random_outcomes, reference_preferences
from tiltmeter.models import (
    ModelInfo,
    ModelSpec,
    Place,
    Scorer,
    WordScores,
    open_model,
)
from tiltmeter.runs.grid import Grid
from tiltmeter.runs.preference_table import PreferenceTable
from tiltmeter.runs.preferences import Preferences
from tiltmeter.runs.provenance import versions
from tiltmeter.runs.record import check_revision, earlier_record, new_record, word_record
from tiltmeter.runs.run import Run
from tiltmeter.runs.sequential import Sample
from tiltmeter.runs.settings import AuditSettings
from tiltmeter.runs.store import RunFolder
from tiltmeter.runs.word_counts import word_counts
from tiltmeter.topics import Topic, load_topic

#: Called with (cells done, cells in all) as an audit goes on.
Progress = Callable[[int, int], None]

#: Seconds of work that a killed run may lose.
_FLUSH_SECONDS = 10.0


def audit(
    model: str | ModelSpec,
    *,
    topic: str | Topic = "gender",
    contexts: str | ContextSet | None = None,
    out: str | Path | None = None,
    settings: AuditSettings | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Ask `model` about every group of `topic` in every context and measure its risks.

    With `out` the run is written there as it goes, and the same call continues a run that was
    interrupted; a finished one is measured again from its stored scores without loading the model.
    `fresh` starts over. Without `out` everything stays in memory.
    """
    settings = settings or AuditSettings()
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    asked = topic if isinstance(topic, Topic) else load_topic(topic)
    drawn = _contexts_for(asked, contexts)
    if settings.max_contexts is not None and settings.precision is None:
        drawn = drawn.draw(settings.max_contexts, seed=settings.seed)
    folder = None if out is None else RunFolder(Path(out))
    with folder.locked() if folder else nullcontext():
        if folder and fresh:
            folder.clear()
        if spec.place is Place.REFERENCE:
            return _audit_reference(spec, asked, drawn, settings, folder)
        return _audit_model(spec, asked, drawn, settings, folder, progress)


def _contexts_for(topic: Topic, contexts: str | ContextSet | None) -> ContextSet:
    if isinstance(contexts, ContextSet):
        return contexts
    if contexts is None:
        contexts = f"paper-{topic.name}"
        if contexts not in builtin_contexts():
            raise ContextError(
                f"contexts: topic {topic.name!r} has no default set; say one of "
                f"{', '.join(builtin_contexts())}, or a csv file"
            )
    return load_contexts(contexts)


# --- reference models -------------------------------------------------------------------------


def _audit_reference(
    spec: ModelSpec,
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
    folder: RunFolder | None,
) -> Run:
    """A model whose preferences are known. Of the random one every outcome of its coin is a context
    of its own, with the coin's probability, so that its risks are exact and not a lucky draw."""
    shape = (len(topic), len(contexts), len(topic.categories))
    reference = None if topic.reference is None else np.array(topic.reference)
    ids, templates, weights = contexts.ids, contexts.templates, contexts.weights
    labels = dict(contexts.extra)
    if spec.target == "random":
        outcomes = random_outcomes(shape, reference=reference, context_weights=weights)
        values, weights = outcomes.p, outcomes.context_weights
        ids = tuple(f"{i}#{y}" for i in ids for y in topic.categories)
        templates = tuple(t for t in templates for _ in topic.categories)
        labels = {
            name: tuple(v for v in values for _ in topic.categories)
            for name, values in labels.items()
        }
    else:
        name: Any = spec.target
        values = reference_preferences(name, shape, reference=reference)
    preferences = Preferences(
        values=values,
        groups=topic.group_names,
        contexts=ids,
        categories=topic.categories,
        context_weights=weights,
        group_weights=topic.group_weights,
        reference=reference,
        templates=tuple(templates),
        labels=labels,
    )
    info = ModelInfo(name=spec.name, kind="reference", revision="closed form")
    record = new_record(info, topic, contexts, settings)
    return Run.measured(record, preferences, settings, folder=folder)


# --- models that are asked --------------------------------------------------------------------


def _audit_model(
    spec: ModelSpec,
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
    folder: RunFolder | None,
    progress: Progress | None,
) -> Run:
    record = earlier_record(folder, spec, topic, contexts, settings)
    scorer: Scorer | None = None
    if record is None:
        scorer = open_model(spec, load=settings.load, words=settings.words)
        record = new_record(scorer.info, topic, contexts, settings)
        record["chunk_size"] = _chunk_size(scorer.info.device)
        record["words"] = word_record(scorer, topic, contexts)
    counts = word_counts(record)
    sample = Sample.begin(contexts, settings, record)
    table: PreferenceTable | None = None
    while True:  # once, unless contexts are drawn round by round to a precision
        record |= sample.to_record(settings)
        grid = Grid(topic, sample.contexts, record["chunk_size"], sample.rounds)
        stored = folder.read_scores(words=len(topic.words)) if folder and table is None else ()
        table = PreferenceTable(grid, counts, table)
        for cells, scores in stored:
            table.add(cells, scores)
        if not table.complete():
            if scorer is None:
                scorer = open_model(spec, load=settings.load, words=settings.words)
                check_revision(record, scorer.info)
            if folder:
                folder.write_record({**record, "status": "running"})
            _score_missing(scorer, grid, table, folder, progress)
            record["model"] = scorer.info.to_dict()
        preferences = table.preferences(settings)
        sample = sample.looked(preferences, settings)
        if sample.wanted is None:
            break
        sample = sample.grown(settings)
    record |= sample.to_record(settings)
    record |= {"settings": settings.to_dict(), "versions": versions()}
    record["preference_bound"] = table.largest_bound()
    return Run.measured(record, preferences, settings, folder=folder)


def _score_missing(
    scorer: Scorer,
    grid: Grid,
    table: PreferenceTable,
    folder: RunFolder | None,
    progress: Progress | None,
) -> None:
    words = grid.topic.words
    waiting: list[tuple[range, WordScores]] = []
    written = time.monotonic()
    done = sum(len(c) for c in grid.chunks() if table.has(c))
    for cells in grid.chunks():
        if table.has(cells):
            continue
        scores = scorer.score(grid.prompts(cells), words)
        table.add(cells, scores)
        waiting.append((cells, scores))
        done += len(cells)
        if folder and time.monotonic() - written > _FLUSH_SECONDS:
            _flush(folder, waiting)
            written = time.monotonic()
        if progress:
            progress(done, len(grid))
    if folder:
        _flush(folder, waiting)


def _flush(folder: RunFolder, waiting: list[tuple[range, WordScores]]) -> None:
    """Write what is waiting: neighbouring chunks as one part."""
    while waiting:
        joined = [waiting.pop(0)]
        while waiting and waiting[0][0].start == joined[-1][0].stop:
            joined.append(waiting.pop(0))
        folder.write_scores(
            joined[0][0].start,
            WordScores(
                log_probs=np.concatenate([s.log_probs for _, s in joined]),
                log_coverage=np.concatenate([s.log_coverage for _, s in joined]),
                skipped=np.concatenate([s.skipped for _, s in joined]),
            ),
        )


def _chunk_size(device: str) -> int:
    """Cells scored together: a few seconds of work, so that little is lost to an interruption."""
    return 256 if device == "cpu" else 4096
