"""The run folder: everything that a run writes, and that resume, replay and report read.

run.json                the record of the run, its results, and the digests of the tables
scores/part-*.parquet   log-probabilities, written as they are scored
preferences.parquet     group, context_id, attribute, p, coverage, flag
groups.parquet          the risks of each group
contexts.parquet        context_id, template, weight, influence
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clinometer.models import WordScores
from clinometer.runs.folder.record_schema import RunRecord
from clinometer.runs.scores.codec import from_table, to_table
from clinometer.storage.parquet_parts import Parts
from clinometer.storage.result_folder import ResultFolder

Scored = tuple[NDArray[np.int64], WordScores]


class RunFolder(ResultFolder[RunRecord]):
    """A folder with the files of one audit."""

    schema = RunRecord
    command = "clinometer audit"
    tables = ("preferences", "groups", "contexts")
    repair = "'clinometer audit … --replay'"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.parts = Parts(path / "scores")

    def clear_scores(self) -> None:
        self.parts.clear()

    def write_scores(self, scored: Sequence[Scored]) -> None:
        """One part: cells by number, and their scores."""
        cells = np.concatenate([cells for cells, _ in scored])
        table = to_table(cells, *(scores for _, scores in scored))
        self.parts.write(int(cells[0]), table)

    def read_scores(self, *, words: int, repair: bool = True) -> Iterator[Scored]:
        """All parts as (cell numbers, scores).

        A damaged part is removed, so that its cells are scored again; without `repair` it is an
        error.
        """
        advice = None if repair else "'clinometer audit' without --replay scores it again"
        return self.parts.results(partial(from_table, words=words), advice=advice)
