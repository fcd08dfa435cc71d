"""The run folder: everything that a run writes, and that resume and report read.

run.json                the record of the run, its results, and the digests of the tables
replies.jsonl           replies of a server as they arrive, until their cells are scored
scores/part-*.parquet   cell, and the fields of its scores as float32; written as they are scored
preferences.parquet     group, context_id, attribute, p, coverage, flag
groups.parquet          the risks of each group
contexts.parquet        context_id, template, weight, influence
placebo/                the run of irrelevant edits of its questions (--placebo)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from clinometer.models import WordScores
from clinometer.runs.folder.record import RunRecord
from clinometer.runs.folder.score_table import Scored, score_table, scores_of
from clinometer.storage.parquet_parts import Parts
from clinometer.storage.reply_log import ReplyLog
from clinometer.storage.result_folder import ResultFolder


class RunFolder(ResultFolder[RunRecord]):
    """A folder with the files of one audit."""

    schema = RunRecord
    command = "clinometer audit"
    tables = ("preferences", "groups", "contexts")
    repair = "the same 'clinometer audit' command"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.parts = Parts(path / "scores")
        self.replies = path / "replies.jsonl"

    def clear_scores(self) -> None:
        self.parts.clear()
        self.replies.unlink(missing_ok=True)

    @property
    def unanswered(self) -> bool:
        """Whether no answer of the model is in it."""
        return not self.parts.files() and ReplyLog(self.replies).empty

    def write_scores(self, scored: Sequence[Scored]) -> None:
        """Write one part: cells by number, and their scores."""
        cells = np.concatenate([cells for cells, _ in scored])
        scores = WordScores.joined([scores for _, scores in scored])
        self.parts.write(int(cells[0]), score_table(cells, scores))

    def read_scores(
        self, *, words: int, cells: int, repair: bool = True
    ) -> Iterator[Scored]:
        """Read all parts as (cell numbers, scores), each of the run's `cells` at most once.

        A damaged part is removed, so that its cells are scored again; without `repair` it is an
        error.
        """
        has_scores = np.zeros(cells, dtype=bool)

        def read(table: pa.Table) -> Scored | None:
            scored = scores_of(table, words=words)
            if scored is None:
                return None
            numbers, _ = scored
            if numbers.max(initial=0) >= cells or has_scores[numbers].any():
                return None
            has_scores[numbers] = True
            return scored

        advice = None if repair else f"{self.repair} scores it again"
        return self.parts.results(read, advice=advice)
