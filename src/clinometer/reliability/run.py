"""A reliability run, returned by scoring or read from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clinometer.display.notebook import titled_html
from clinometer.display.numbers import MISSING, counted, show
from clinometer.reliability.finding import ReliabilityFinding
from clinometer.reliability.findings import run_findings
from clinometer.reliability.folder import ReliabilityFolder, run_folder
from clinometer.reliability.record import ReliabilityRecord
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityRun:
    """Scores of a set of statements."""

    record: ReliabilityRecord
    """The content of run.json: models, settings, summary, agreement, counts."""

    tables: dict[str, pa.Table]
    path: Path | None = None

    @classmethod
    def load(cls, path: str | Path) -> ReliabilityRun:
        """Read a finished run: its folder, or that of the `reliability audit` it belongs to."""
        folder = run_folder(Path(path))
        record, tables = ReliabilityFolder(folder).read_finished()
        return cls(record, tables, folder)

    @property
    def _model_names(self) -> list[str]:
        return [model.id for model in self.record.models]

    def __repr__(self) -> str:
        means = []
        for name, estimate in self.summary.items():
            if estimate is not None:
                means.append(f"{name} {estimate!r}")
        names = ", ".join(map(repr, self._model_names))
        size = counted(self.tables["statements"].num_rows, "statement")
        text = ", ".join(means) or "none scored"
        return f"ReliabilityRun({names}, {size}: {text})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the means, then the statements with the lowest COBIAS."""
        means = []
        for name, estimate in self.summary.items():
            means.append([name, MISSING if estimate is None else repr(estimate)])
        scored = self.statements.dropna(subset=["cobias"]).sort_values("cobias")
        rows = []
        for row in scored.to_dict("records"):
            scores = [show(row[name], "risk") for name in ("cobias", "stability")]
            rows.append([row["text"], *scores])
        counts = f"{len(scored):,} of {len(self.statements):,} statements have a score"
        title = f"Reliability by {', '.join(self._model_names)}"
        columns = ["statement", "COBIAS", "stability"]
        html = titled_html(title, ["mean", "value"], means)
        return html + titled_html("Statements", columns, rows, counts)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per statement: its scores, the interval of COBIAS, and why it has none."""
        return self.statements

    @property
    def statements(self) -> pd.DataFrame:
        """One row per statement."""
        return self._frame("statements")

    @property
    def models(self) -> pd.DataFrame:
        """One row per statement and model."""
        return self._frame("models")

    @property
    def versions(self) -> pd.DataFrame:
        """One row per version."""
        return self._frame("versions")

    @property
    def counted_versions(self) -> pd.Series[Any]:
        """The texts of the versions that count, as a list by the id of their statement."""
        versions = self.versions
        counted = versions[versions["left_out"] == ""]
        return counted.groupby("id", sort=False)["text"].agg(list)

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
