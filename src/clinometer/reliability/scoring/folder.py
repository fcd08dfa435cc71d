"""The folder of a reliability run: everything it writes, and that resume and report read.

run.json                    models, settings and results
scores/MODEL/part-*.parquet log-probabilities of texts, written as they are scored, for each model
statements.parquet          one row per statement: tau, cv, cobias, stability, intervals, flags
models.parquet              one row per statement and model
versions.parquet            one row per version: its text, tau, and why it was left out
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clinometer.models.texts.types import TextScores
from clinometer.reliability.scoring.record_schema import ReliabilityRecord
from clinometer.storage.parquet_parts import Parts, digest_of
from clinometer.storage.result_folder import ResultFolder

Scored = tuple[NDArray[np.int64], TextScores]

#: The fields of TextScores.
_COLUMNS = ("log_prob", "tokens", "unknown", "problem")


class ReliabilityFolder(ResultFolder[ReliabilityRecord]):
    """A folder with the files of one reliability run."""

    schema = ReliabilityRecord
    command = "clinometer reliability score"
    kind = "reliability"
    tables = ("statements", "models", "versions")
    repair = "the same command"

    def clear_scores(self) -> None:
        for folder in (self.path / "scores").glob("*"):
            Parts(folder).clear()

    def write_scores(self, model: str, scored: Sequence[Scored]) -> None:
        """One part: texts by their index in the run, and their scores."""
        tables = [
            pa.table({"text": rows, **{n: getattr(scores, n) for n in _COLUMNS}})
            for rows, scores in scored
        ]
        self._parts(model).write(int(scored[0][0][0]), pa.concat_tables(tables))

    def read_scores(self, model: str) -> Iterator[Scored]:
        """All parts; a damaged one is removed, so that its texts are scored again."""
        return self._parts(model).results(_from_table)

    def _parts(self, model: str) -> Parts:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"
        return Parts(self.path / "scores" / f"{name}-{digest_of(model.encode())[:6]}")


def _from_table(table: pa.Table) -> Scored:
    log_prob, tokens, unknown = (table[name].to_numpy() for name in _COLUMNS[:-1])
    scores = TextScores(log_prob, tokens, unknown, tuple(table["problem"].to_pylist()))
    return table["text"].to_numpy(), scores
