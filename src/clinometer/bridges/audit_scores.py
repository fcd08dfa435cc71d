"""A whole audit that another harness asked for us: the same run as our own would be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.bridges.imported import written
from clinometer.models import ModelInfo, WordReport, WordScores
from clinometer.runs import AuditSettings, Run
from clinometer.runs.cells import CellGrid
from clinometer.runs.folder.record import new_record, word_record
from clinometer.runs.folder.record_schema import ImportRecord
from clinometer.runs.scores.accumulate import PreferenceTable
from clinometer.runs.scores.recount import word_counts


def audited_elsewhere(
    grid: CellGrid,
    scores: WordScores,
    report: WordReport,
    info: ModelInfo,
    source: ImportRecord,
    settings: AuditSettings,
    *,
    scoring: Mapping[str, Any],
    out: Path | None,
    fresh: bool,
) -> Run:
    """Measure scores of every cell of the grid, in its order, and write the run to `out`.

    `scoring` is what, beside the file that was read, makes it another run.
    """
    record = new_record(info, grid.topic, grid.contexts, settings)
    record.chunk_size = grid.chunk_size
    record.words = word_record(report, grid.topic)
    record.scoring = {"imported.sha256": source.sha256, **scoring}
    record.imported = source
    table = PreferenceTable(grid, word_counts(record))
    cells = np.arange(len(grid), dtype=np.int64)
    table.add(cells, scores)
    if table.outcomes:
        record.draws = dict(table.outcomes)
    preferences = table.preferences(settings)
    return written(record, preferences, settings, out=out, fresh=fresh, scores=(cells, scores))
