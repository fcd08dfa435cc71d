"""The folder of a reliability run: everything it writes, and that resume and report read.

run.json                    models, settings and results
scores/MODEL/part-*.parquet log-probabilities of texts, written as they are scored, for each model;
                            a text keeps its score when others are changed
statements.parquet          one row per statement: tau, cv, cobias, stability, intervals, flags
models.parquet              one row per statement and model
versions.parquet            one row per version: its text, tau, and why it was left out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from clinometer.models.protocol import TextScores
from clinometer.reliability.score import RankAgreement
from clinometer.statistics.estimate import Estimate
from clinometer.storage.parquet_parts import Parts, digest_of, sound
from clinometer.storage.result_folder import ResultFolder
from clinometer.storage.resumable import FolderRecord, ModelRecord, RecordPart
from clinometer.storage.untrusted import folder_name

#: Where a run keeps the same run with random words in the place of context.
RANDOM_FOLDER = "random-words"


class LengthRecord(RecordPart):
    """COBIAS against the number of a statement's words; None where it is unknown. `rho` is their
    rank correlation."""

    rho: Estimate | None = None
    slope_per_doubling: float | None
    r_squared: float | None


class CountsRecord(RecordPart):
    """Counts of the run by name, and of each model."""

    by_model: dict[str, dict[str, int]] = Field(default_factory=dict)

    @property
    def overall(self) -> dict[str, int]:
        return dict(self.model_extra or {})


class SurenessRecord(RecordPart):
    """How precise the scores of single statements are; None where it is not known.

    interval_width   median width of a statement's interval of COBIAS
    spread           standard deviation of COBIAS over the statements
    rank_interval    median width of the interval of a rank, of `ranked` places
    models_log_sd    how far other models would move log cv of a statement
    """

    interval_width: float | None = None
    spread: float | None = None
    rank_interval: float | None = None
    ranked: int = 0
    models_log_sd: float | None = None


class ReliabilityRecord(FolderRecord):
    """The content of a reliability run's run.json.

    texts     a digest of the statements and versions
    scoring   what changes a score: a run of other scoring is another run
    settings  as `ReliabilitySettings.to_dict` writes them
    """

    models: list[ModelRecord]
    texts: str
    scoring: dict[str, Any]
    settings: dict[str, Any]
    summary: dict[str, Estimate | None] = Field(default_factory=dict)
    length: LengthRecord | None = None
    agreement: list[RankAgreement] = Field(default_factory=list)
    counts: CountsRecord = CountsRecord()
    sureness: SurenessRecord | None = None

    @property
    def identity(self) -> dict[str, Any]:
        return self.scoring

    def model(self, name: str) -> ModelRecord | None:
        """A model that was opened for this run."""
        return next((m for m in self.models if m.id == name), None)

    def keep_model(self, model: ModelRecord) -> None:
        """Record a model that was opened; one name is one model."""
        self.models = list({m.id: m for m in (*self.models, model)}.values())


#: Texts by their index in the run, and their scores.
Scored = tuple[NDArray[np.int64], TextScores]

#: The fields of TextScores.
_COLUMNS = ("log_prob", "tokens", "unknown", "problem")


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

    def write_scores(self, model: str, keys: Sequence[str], scored: Sequence[Scored]) -> None:
        """Write one part; `keys` are those of all texts of the run."""
        tables = [
            pa.table({"key": [keys[i] for i in rows], **{n: getattr(scores, n) for n in _COLUMNS}})
            for rows, scores in scored
        ]
        self._parts(model).write(int(scored[0][0][0]), pa.concat_tables(tables))

    def read_scores(self, model: str) -> Iterator[tuple[list[str], TextScores]]:
        """All parts, with the keys of their texts, which need not be texts of the run any more; a
        damaged one is removed, so that its texts are scored again."""
        return self._parts(model).results(_from_table)

    def _parts(self, model: str) -> Parts:
        folder = f"{folder_name(model)}-{digest_of(model.encode())[:6]}"
        return Parts(self.path / "scores" / folder)


_SCHEMA = {
    "key": pa.string(),
    "log_prob": pa.float64(),
    "tokens": pa.int64(),
    "unknown": pa.int64(),
    "problem": pa.string(),
}


def _from_table(table: pa.Table) -> tuple[list[str], TextScores] | None:
    if not sound(table, _SCHEMA, nan=("log_prob",)):
        return None
    log_prob, tokens, unknown = (table[name].to_numpy() for name in _COLUMNS[:-1])
    scores = TextScores(log_prob, tokens, unknown, tuple(table["problem"].to_pylist()))
    return table["key"].to_pylist(), scores
