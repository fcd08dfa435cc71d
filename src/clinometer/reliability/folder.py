"""The folder of a reliability run, which has all that it writes, and that resume and report read:

run.json                    models, settings and results
scores/MODEL/part-*.parquet log-probabilities of texts, written as they are scored, for each model;
                            a text keeps its score when others are changed
statements.parquet          one row per statement: tau, cv, cobias, stability, intervals, flags
models.parquet              one row per statement and model
versions.parquet            one row per version: its text, tau, and why it was left out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from clinometer.models.whole_texts import TextScores
from clinometer.reliability.record import ReliabilityRecord
from clinometer.statistics.arrays import IntArray
from clinometer.storage.parquet_parts import Parts, digest_of, sound
from clinometer.storage.result_folder import ResultFolder
from clinometer.storage.untrusted import folder_name

RANDOM_FOLDER = "random-words"
"""Where a run keeps the same run with random words in the place of context."""

Scored = tuple[IntArray, TextScores]
"""Texts by their index in the run, and their scores."""

_SCHEMA = {
    "key": pa.string(),
    "log_prob": pa.float64(),
    "tokens": pa.int64(),
    "unknown": pa.int64(),
    "problem": pa.string(),
}
"""The columns of a part: the key of a text, and the fields of TextScores."""


class ReliabilityFolder(ResultFolder[ReliabilityRecord]):
    """A folder with the files of one reliability run."""

    schema = ReliabilityRecord
    command = "clinometer reliability audit"
    kind = "reliability"
    tables = ("statements", "models", "versions")
    repair = "the same command"

    def clear_scores(self) -> None:
        for folder in (self.path / "scores").glob("*"):
            Parts(folder).clear()

    def write_scores(
        self, model: str, keys: Sequence[str], scored: Sequence[Scored]
    ) -> None:
        """Write one part; `keys` are those of all texts of the run."""
        tables = []
        for indices, scores in scored:
            columns = {
                "key": [keys[i] for i in indices],
                "log_prob": scores.log_prob,
                "tokens": scores.tokens,
                "unknown": scores.unknown,
                "problem": scores.problem,
            }
            tables.append(pa.table(columns))
        first_index = int(scored[0][0][0])
        self._parts(model).write(first_index, pa.concat_tables(tables))

    def read_scores(self, model: str) -> Iterator[tuple[list[str], TextScores]]:
        """Yield all parts, with the keys of their texts, which need not be texts of the run any
        more; a damaged one is removed, so that its texts are scored again."""
        return self._parts(model).results(_from_table)

    def _parts(self, model: str) -> Parts:
        folder = f"{folder_name(model)}-{digest_of(model.encode())[:6]}"
        return Parts(self.path / "scores" / folder)


def run_folder(path: Path) -> Path:
    """Return the folder of a run, given as its own or as that of its `reliability audit`."""
    is_run = (path / "run.json").exists()
    if not is_run and (path / "audit.json").exists():
        return path / "run"
    return path


def _from_table(table: pa.Table) -> tuple[list[str], TextScores] | None:
    """Return what a part has; None if it is not of the schema."""
    if not sound(table, _SCHEMA, nan=("log_prob",)):
        return None
    scores = TextScores(
        log_prob=table["log_prob"].to_numpy(),
        tokens=table["tokens"].to_numpy(),
        unknown=table["unknown"].to_numpy(),
        problem=tuple(table["problem"].to_pylist()),
    )
    return table["key"].to_pylist(), scores
