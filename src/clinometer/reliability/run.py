"""A reliability run: the result of scoring, returned by it or read from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from clinometer.display.notebook import titled_html
from clinometer.display.numbers import MISSING, counted, show
from clinometer.reliability.findings import ReliabilityFinding, run_findings
from clinometer.reliability.folder import ReliabilityFolder, ReliabilityRecord
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd


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
        folder, inside = Path(path), Path(path) / "run"
        if not (folder / "run.json").exists() and (inside / "run.json").exists():
            folder = inside
        record, tables = ReliabilityFolder(folder).read_finished()
        return cls(record, tables, folder)

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {value!r}" for name, value in self.summary.items() if value)
        names = ", ".join(repr(m.id) for m in self.record.models)
        size = counted(self.tables["statements"].num_rows, "statement")
        return f"ReliabilityRun({names}, {size}: {means or 'none scored'})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the means, then the statements with the lowest COBIAS."""
        means = [[name, MISSING if e is None else repr(e)] for name, e in self.summary.items()]
        table = self.statements.dropna(subset=["cobias"]).sort_values("cobias")
        rows = [
            [row["text"], show(row["cobias"], "risk"), show(row["stability"], "risk")]
            for row in table.to_dict("records")
        ]
        names = ", ".join(m.id for m in self.record.models)
        counts = f"{len(table):,} of {len(self.statements):,} statements have a score"
        return titled_html(f"Reliability by {names}", ["mean", "value"], means) + titled_html(
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

    def versions_used(self) -> list[list[str]]:
        """The texts of the versions that count, for each statement."""
        versions = self.versions
        used = versions[versions["left_out"] == ""].groupby("id")["text"].agg(list)
        return [used.get(i, []) for i in self.statements["id"]]

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
