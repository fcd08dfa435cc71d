"""The folder of a reliability run: what it leaves behind, and all that resume and report read.

run.json                    what was asked of whom, with what result
scores/MODEL/part-*.parquet log-probabilities of texts as they came, for each model
statements.parquet          a row a statement: tau, cv, cobias, stability, intervals, flags
models.parquet              a row a statement and model
versions.parquet            a row a version: its text, tau, and why it was left out
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clinometer.models.texts.types import TextScores
from clinometer.reliability.scoring.record_schema import ReliabilityRecord
from clinometer.storage.parquet_parts import Parts, digest_of
from clinometer.storage.result_folder import ResultFolder


class ReliabilityFolder(ResultFolder[ReliabilityRecord]):
    """A folder with the files of one reliability run."""

    schema = ReliabilityRecord
    command = "clinometer reliability score"
    kind = "reliability"
    tables = ("statements", "models", "versions")
    repair = "the same command"

    def clear(self) -> None:
        super().clear()
        for folder in (self.path / "scores").glob("*"):
            Parts(folder).clear()

    def write_scores(self, model: str, rows: NDArray[np.int64], scores: TextScores) -> None:
        """One part: texts by their number in the run, and their scores."""
        table = pa.table(
            {
                "text": pa.array(rows),
                "log_prob": pa.array(scores.log_prob),
                "tokens": pa.array(scores.tokens),
                "unknown": pa.array(scores.unknown),
                "problem": pa.array(scores.problem),
            }
        )
        self._parts(model).write(int(rows[0]), table)

    def read_scores(self, model: str) -> Iterator[tuple[NDArray[np.int64], TextScores]]:
        """All parts; one that is damaged is removed, so that its texts are scored again."""
        for file, table in self._parts(model).read():
            if table is None:
                file.unlink(missing_ok=True)
                continue
            yield (
                table["text"].to_numpy(),
                TextScores(
                    table["log_prob"].to_numpy(),
                    table["tokens"].to_numpy(),
                    table["unknown"].to_numpy(),
                    tuple(table["problem"].to_pylist()),
                ),
            )

    def _parts(self, model: str) -> Parts:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"
        return Parts(self.path / "scores" / f"{name}-{digest_of(model.encode())[:6]}")
