"""Runs of what another tool asked: the same folder as an audit's, for report, view and compare.

`measured_import` takes the preferences that `SampleCells` gathers from samples of any task, by a
mapping; `audited_elsewhere` the scores of a whole audit that another tool carried out for us.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from clinometer.bridges.sample_cells import SampleCells
from clinometer.display.text import visible
from clinometer.errors import TableError
from clinometer.measure import Preferences
from clinometer.measure.placebo import placebo_of
from clinometer.models import ModelInfo, WordReport, WordScores
from clinometer.runs import AuditSettings, Run, RunFolder
from clinometer.runs.folder.record import (
    ContextsRecord,
    ImportRecord,
    RunRecord,
    TopicRecord,
    new_record,
    word_record,
)
from clinometer.runs.folder.score_table import Scored
from clinometer.runs.scores import CellGrid, PreferenceTable, word_counts
from clinometer.storage.rows import reading
from clinometer.storage.untrusted import open_binary

KIND = "imported"
"""What run.json says a model of an imported run is: another program scored it."""


def import_record(
    path: Path, tool: str, *, version: str = "", task: str = ""
) -> ImportRecord:
    """Return what run.json says of a file, as it is before it is read; samples are counted
    later."""
    return ImportRecord(
        tool=tool,
        version=version,
        task=task,
        file=visible(path.name),
        sha256=file_digest(path),
        samples=0,
    )


def measured_import(
    cells: SampleCells,
    info: ModelInfo,
    source: ImportRecord,
    settings: AuditSettings,
    *,
    out: str | Path | None,
    fresh: bool,
    title: str = "",
    placebo: Preferences | None = None,
) -> Run:
    """Measure the samples that were read, and write the run to `out` if that is given.

    `placebo` are edits × texts, the context of each text as its label.
    """
    mapping = cells.mapping
    preferences = cells.preferences(coverage_threshold=settings.coverage_threshold)
    if settings.clusters is not None:
        # An unknown label is refused before anything is written.
        preferences.label(settings.clusters)
    source = source.model_copy(
        update={
            "mapping": mapping.name,
            "mapping_sha256": mapping.sha256,
            "samples": cells.samples,
            "left_out": dict(cells.left_out),
        }
    )
    weights = preferences.context_weights
    weighted = sorted(zip(preferences.contexts, weights.tolist(), strict=True))
    record = RunRecord.begun(
        info,
        topic=TopicRecord(
            name=mapping.name,
            title=title or mapping.title,
            language=mapping.language,
            sha256=_digest([sorted(preferences.groups), preferences.categories]),
            groups=len(preferences.groups),
            attributes={category: [category] for category in preferences.categories},
            reference=mapping.reference_of(preferences.categories),
            favourable=mapping.favourable,
        ),
        contexts=ContextsRecord(
            name=source.task or mapping.name,
            sha256=_digest(weighted),
            n=len(preferences.contexts),
            n_eff=float(1 / (weights**2).sum()),
            noun=mapping.noun,
            labels=list(preferences.labels),
        ),
        scoring={
            "imported.sha256": source.sha256,
            "imported.mapping": source.mapping_sha256,
        },
        settings=settings,
        imported=source,
    )
    if source.version:
        record.versions = record.versions | {source.tool: source.version}
    if placebo is not None:
        record.placebo = placebo_of(
            preferences,
            placebo,
            record.chosen_criterion,
            level=settings.level,
            clusters=settings.clusters,
        )
    return _measured_run(record, preferences, out=out, fresh=fresh)


def audited_elsewhere(
    grid: CellGrid,
    scores: WordScores,
    report: WordReport,
    info: ModelInfo,
    source: ImportRecord,
    settings: AuditSettings,
    *,
    out: str | Path | None,
    fresh: bool,
) -> Run:
    """Measure scores of every cell of the grid, in its order, and write the run to `out`."""
    record = new_record(info, grid.topic, grid.contexts, settings)
    record.chunk_size = grid.chunk_size
    record.words = word_record(report, grid.topic)
    record.scoring = {"imported.sha256": source.sha256}
    record.imported = source
    table = PreferenceTable(grid, word_counts(record))
    cells = np.arange(len(grid), dtype=np.int64)
    table.add(cells, scores)
    if table.outcomes:
        record.replies = dict(table.outcomes)
    preferences = table.preferences(settings)
    scored = (cells, scores)
    return _measured_run(record, preferences, out=out, fresh=fresh, scored=scored)


def _measured_run(
    record: RunRecord,
    preferences: Preferences,
    *,
    out: str | Path | None,
    fresh: bool,
    scored: Scored | None = None,
) -> Run:
    """Measure the run, and write it with the scores of words if there are any; a folder of another
    import is refused unless `fresh`."""
    if out is None:
        return Run.measured(record, preferences, folder=None)
    folder = RunFolder(Path(out))
    with folder.opened(record.identity, fresh=fresh):
        if scored is not None:
            folder.clear_scores()
            folder.write_scores([scored])
        return Run.measured(record, preferences, folder=folder)


def file_digest(path: Path) -> str:
    """Return the sha256 of a file of any size."""
    with reading(path, TableError), open_binary(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(content: object) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
