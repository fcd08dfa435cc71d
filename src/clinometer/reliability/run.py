"""A reliability run, returned by scoring or read from its folder, which has all that it writes, and
that resume and report read:

run.json                    models, settings and results
scores/MODEL/part-*.parquet log-probabilities of texts, written as they are scored, for each model;
                            a text keeps its score when others are changed
statements.parquet          one row per statement: tau, cv, cobias, stability, intervals, flags
models.parquet              one row per statement and model
versions.parquet            one row per version: its text, tau, and why it was left out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pydantic import Field

from clinometer.display.notebook import titled_html
from clinometer.display.numbers import MISSING, counted, show
from clinometer.models.whole_texts import TextScores
from clinometer.reliability.findings import ReliabilityFinding, run_findings
from clinometer.reliability.score import RankAgreement
from clinometer.statistics.arrays import IntArray
from clinometer.statistics.estimate import Estimate
from clinometer.storage.parquet_parts import Parts, digest_of, sound
from clinometer.storage.record import FolderRecord, ModelRecord, RecordPart
from clinometer.storage.result_folder import ResultFolder
from clinometer.storage.untrusted import folder_name

if TYPE_CHECKING:
    import pandas as pd

#: Where a run keeps the same run with random words in the place of context.
RANDOM_FOLDER = "random-words"


class LengthRecord(RecordPart):
    """COBIAS against the number of a statement's words: their rank correlation; None where it is
    unknown."""

    rho: Estimate | None = None


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
    """

    interval_width: float | None = None
    spread: float | None = None
    rank_interval: float | None = None
    ranked: int = 0


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
Scored = tuple[IntArray, TextScores]

#: The columns of a part: the key of a text, and the fields of TextScores.
_SCHEMA = {
    "key": pa.string(),
    "log_prob": pa.float64(),
    "tokens": pa.int64(),
    "unknown": pa.int64(),
    "problem": pa.string(),
}
_, *_FIELDS = _SCHEMA


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
        tables = [
            pa.table(
                {
                    "key": [keys[i] for i in rows],
                    **{n: getattr(scores, n) for n in _FIELDS},
                }
            )
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


def run_folder(path: Path) -> Path:
    """The folder of a run, given as its own or as that of its `reliability audit`."""
    of_audit = not (path / "run.json").exists() and (path / "audit.json").exists()
    return path / "run" if of_audit else path


def _from_table(table: pa.Table) -> tuple[list[str], TextScores] | None:
    if not sound(table, _SCHEMA, nan=("log_prob",)):
        return None
    log_prob, tokens, unknown = (table[name].to_numpy() for name in _FIELDS[:-1])
    scores = TextScores(log_prob, tokens, unknown, tuple(table["problem"].to_pylist()))
    return table["key"].to_pylist(), scores


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityRun:
    """Scores of a set of statements.

    record       the content of run.json: models, settings, summary, agreement, counts
    statements   one row per statement
    models       one row per statement and model
    versions     one row per version
    """

    record: ReliabilityRecord
    tables: dict[str, pa.Table]
    path: Path | None = None

    @classmethod
    def load(cls, path: str | Path) -> ReliabilityRun:
        """Read a finished run: its folder, or that of the `reliability audit` it belongs to."""
        folder = run_folder(Path(path))
        record, tables = ReliabilityFolder(folder).read_finished()
        return cls(record, tables, folder)

    def __repr__(self) -> str:
        means = ", ".join(
            f"{name} {value!r}" for name, value in self.summary.items() if value
        )
        names = ", ".join(repr(m.id) for m in self.record.models)
        size = counted(self.tables["statements"].num_rows, "statement")
        return f"ReliabilityRun({names}, {size}: {means or 'none scored'})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the means, then the statements with the lowest COBIAS."""
        means = [
            [name, MISSING if e is None else repr(e)]
            for name, e in self.summary.items()
        ]
        table = self.statements.dropna(subset=["cobias"]).sort_values("cobias")
        rows = [
            [row["text"], show(row["cobias"], "risk"), show(row["stability"], "risk")]
            for row in table.to_dict("records")
        ]
        names = ", ".join(m.id for m in self.record.models)
        counts = f"{len(table):,} of {len(self.statements):,} statements have a score"
        return titled_html(
            f"Reliability by {names}", ["mean", "value"], means
        ) + titled_html(
            "Statements", ["statement", "COBIAS", "stability"], rows, counts
        )

    def to_pandas(self) -> pd.DataFrame:
        """One row per statement: its scores, the interval of COBIAS, and why it has none."""
        return self.statements

    @property
    def statements(self) -> pd.DataFrame:
        return self._frame("statements")

    @property
    def models(self) -> pd.DataFrame:
        return self._frame("models")

    @property
    def versions(self) -> pd.DataFrame:
        return self._frame("versions")

    def _frame(self, name: str) -> pd.DataFrame:
        frame: pd.DataFrame = self.tables[name].to_pandas()
        return frame

    @property
    def findings(self) -> tuple[ReliabilityFinding, ...]:
        """What the run says, the headline first."""
        return run_findings(self.record, self.statements)

    @property
    def summary(self) -> dict[str, Estimate | None]:
        return self.record.summary

    @property
    def counts(self) -> dict[str, int]:
        return self.record.counts.overall
