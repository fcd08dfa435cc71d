"""What a reliability run remembers: the content of its run.json."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from clinometer.reliability.score import RankAgreement
from clinometer.statistics.estimate import Estimate
from clinometer.storage.record import FolderRecord, ModelRecord, RecordPart


class LengthRecord(RecordPart):
    """COBIAS against the number of a statement's words."""

    rho: Estimate | None = None
    """Their rank correlation; None where it is unknown."""


class CountsRecord(RecordPart):
    """Counts of the run by name, and of each model."""

    by_model: dict[str, dict[str, int]] = Field(default_factory=dict)

    @property
    def overall(self) -> dict[str, int]:
        return dict(self.model_extra or {})


class SurenessRecord(RecordPart):
    """How precise the scores of single statements are; None where it is not known."""

    interval_width: float | None = None
    """Median width of a statement's interval of COBIAS."""

    spread: float | None = None
    """Standard deviation of COBIAS over the statements."""

    rank_interval: float | None = None
    """Median width of the interval of a rank, of `ranked` places."""

    ranked: int = 0


class ReliabilityRecord(FolderRecord):
    """The content of a reliability run's run.json."""

    models: list[ModelRecord]

    texts: str
    """A digest of the statements and versions."""

    scoring: dict[str, Any]
    """What changes a score: a run of other scoring is another run."""

    settings: dict[str, Any]
    """The settings, as `ReliabilitySettings.to_dict` writes them."""

    summary: dict[str, Estimate | None] = Field(default_factory=dict)
    length: LengthRecord | None = None
    agreement: list[RankAgreement] = Field(default_factory=list)
    counts: CountsRecord = CountsRecord()
    sureness: SurenessRecord | None = None

    @property
    def identity(self) -> dict[str, Any]:
        return self.scoring

    def model(self, name: str) -> ModelRecord | None:
        """Return a model that was opened for this run."""
        return next((model for model in self.models if model.id == name), None)

    def keep_model(self, model: ModelRecord) -> None:
        """Record a model that was opened; one name is one model."""
        by_name = {earlier.id: earlier for earlier in self.models}
        by_name[model.id] = model
        self.models = list(by_name.values())
