"""The schema of a reliability run's run.json."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from clinometer.reliability.model_agreement import RankAgreement
from clinometer.statistics.estimate import Estimate
from clinometer.storage.record import FolderRecord, ModelRecord, RecordPart


class LengthRecord(RecordPart):
    """COBIAS against the length of a statement; None where it is unknown."""

    slope_per_doubling: float | None
    r_squared: float | None


class CountsRecord(RecordPart):
    """Counts of the run by name, and of each model."""

    by_model: dict[str, dict[str, int]] = Field(default_factory=dict)

    @property
    def overall(self) -> dict[str, int]:
        return dict(self.model_extra or {})


class ValidationRecord(RecordPart):
    """A passed truth test (`clinometer reliability validate`): which models, versions and scoring
    it was about, and how far they follow people."""

    models: list[str]
    versions_by: str
    scoring: dict[str, Any]
    statements: int
    rho: Estimate
    given_length: Estimate


class SurenessRecord(RecordPart):
    """How far the scores of single statements can be trusted; None where it is not known.

    split_half       Spearman's rho with the ranking that other versions would give
    interval_width   median width of a statement's interval of COBIAS
    spread           standard deviation of COBIAS over the statements
    rank_interval    median width of the interval of a rank, of `ranked` places
    models_log_sd    how far other models would move log cv of a statement
    precision, versions_needed
                     half-width that was asked for, and the versions it takes (median)
    """

    split_half: float | None = None
    interval_width: float | None = None
    spread: float | None = None
    rank_interval: float | None = None
    ranked: int = 0
    models_log_sd: float | None = None
    precision: float | None = None
    versions_needed: float | None = None


class ReliabilityRecord(FolderRecord):
    """The content of a reliability run's run.json.

    texts     a digest of the statements and versions; with `scoring`, it identifies a run
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
    versions_by: str = ""
    validation: ValidationRecord | None = None

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.scoring, "set of statements and versions": self.texts}

    def model(self, name: str) -> ModelRecord | None:
        """A model that was opened for this run."""
        return next((m for m in self.models if m.id == name), None)

    def keep_model(self, model: ModelRecord) -> None:
        """Record a model that was opened; one name is one model."""
        self.models = list({m.id: m for m in (*self.models, model)}.values())
