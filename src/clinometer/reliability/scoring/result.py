"""A reliability run: the result of scoring, returned by it or read from its folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clinometer.display.notebook import titled_html
from clinometer.display.numbers import MISSING, counted, show
from clinometer.reliability.model_agreement import rank_agreement
from clinometer.reliability.scoring.folder import ReliabilityFolder
from clinometer.reliability.scoring.record_schema import (
    CountsRecord,
    LengthRecord,
    ReliabilityRecord,
)
from clinometer.reliability.scoring.score import (
    Convergence,
    convergence,
    length_adjusted,
    mean_estimate,
)
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.scoring.statement_scores import measure_statements
from clinometer.reliability.scoring.taus import ModelTaus
from clinometer.reliability.scoring.texts_to_score import ORIGINAL, TextsToScore
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


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

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {value!r}" for name, value in self.summary.items() if value)
        names = ", ".join(repr(m.id) for m in self.record.models)
        size = counted(self.tables["statements"].num_rows, "statement")
        return f"ReliabilityRun({names}, {size}: {found or 'none scored'})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the means, then the statements that context changes most."""
        means = [[name, MISSING if e is None else repr(e)] for name, e in self.summary.items()]
        table = self.statements.dropna(subset=["cobias"]).sort_values("cobias", ascending=False)
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

    @property
    def summary(self) -> dict[str, Estimate | None]:
        return self.record.summary

    @property
    def counts(self) -> dict[str, int]:
        return self.record.counts.overall

    def taus(self) -> tuple[Floats, Floats]:
        """tau of the statements [S] and of their versions [S, N], mean over the models."""
        ids = {s: i for i, s in enumerate(self.tables["statements"]["id"].to_pylist())}
        table = self.tables["versions"]
        rows = np.array([ids[s] for s in table["id"].to_pylist()], dtype=np.intp)
        columns = table["version"].to_numpy()
        width = int(columns.max(initial=-1)) + 1
        found = np.full((len(ids), width), np.nan)
        found[rows, columns] = table["tau"].to_numpy(zero_copy_only=False)
        return self.tables["statements"]["tau"].to_numpy(zero_copy_only=False), found

    def convergence(self, **more: Any) -> Convergence:
        """Mean COBIAS against the number of versions."""
        return convergence(*self.taus(), **more)

    @classmethod
    def load(cls, path: str | Path) -> ReliabilityRun:
        """Read a finished run: its folder, or that of the `reliability audit` it belongs to."""
        folder, inside = Path(path), Path(path) / "run"
        if not (folder / "run.json").exists() and (inside / "run.json").exists():
            folder = inside
        record, tables = ReliabilityFolder(folder).read_finished()
        return cls(record, tables, folder)

    @classmethod
    def measured(
        cls,
        record: ReliabilityRecord,
        asked: TextsToScore,
        found: Sequence[ModelTaus],
        settings: ReliabilitySettings,
        *,
        folder: ReliabilityFolder | None,
    ) -> ReliabilityRun:
        """Measure the models' answers and, with a folder, write all results."""
        taus = np.stack([m.taus(asked, per_word=settings.per_word) for m in found])
        statements, by_model, record.sureness = measure_statements(asked, found, taus, settings)
        names = [m.name for m in found]
        scores = {n: by_model["cobias"][i] for i, n in enumerate(names)}
        options: dict[str, Any] = {
            "replicates": settings.replicates,
            "level": settings.level,
            "seed": settings.seed,
        }
        good = np.isfinite(statements["cobias"])
        adjusted = length_adjusted(statements["cobias"], statements["words"])
        record.summary = {
            name: mean_estimate(statements[name], **options) if good.any() else None
            for name in ("cobias", "stability", "cv")
        }
        record.length = LengthRecord(
            slope_per_doubling=adjusted.slope, r_squared=adjusted.r_squared
        )
        record.agreement = rank_agreement(scores, **options)
        counts: dict[str, Any] = {
            **asked.counts(),
            **{f"flag_{k}": n for k, n in Counter(statements["flag"]).items()},
            "by_model": {m.name: m.counts() for m in found},
        }
        record.counts = CountsRecord(**counts)
        tables = {
            "statements": _statement_table(asked, statements, adjusted.values),
            "models": _model_table(asked, names, by_model),
            "versions": _version_table(asked, names, taus),
        }
        run = cls(record, tables)
        if folder:
            folder.write_finished(record, tables)
            return replace(run, path=folder.path)
        return run


def _statement_table(asked: TextsToScore, columns: dict[str, Any], adjusted: Floats) -> pa.Table:
    given = Counter(t.statement for t in asked.texts if t.version != ORIGINAL)
    return pa.table(
        {
            "id": [s.id for s in asked.statements],
            "source": [s.source for s in asked.statements],
            "category": pa.array([s.category for s in asked.statements], pa.string()),
            "text": [s.text for s in asked.statements],
            "target": pa.array(["; ".join(s.targets) for s in asked.statements]),
            "versions": [given[i] for i in range(len(asked.statements))],
            **{k: pa.array(v, from_pandas=True) for k, v in columns.items()},
            "cobias_length_adjusted": pa.array(adjusted, from_pandas=True),
        }
    )


def _model_table(
    asked: TextsToScore, names: Sequence[str], by_model: dict[str, Floats]
) -> pa.Table:
    ids = [s.id for s in asked.statements]
    return pa.table(
        {
            "id": ids * len(names),
            "model": [name for name in names for _ in ids],
            **{k: pa.array(v.reshape(-1), from_pandas=True) for k, v in by_model.items()},
        }
    )


def _version_table(asked: TextsToScore, names: Sequence[str], taus: Floats) -> pa.Table:
    rows = [i for i, t in enumerate(asked.texts) if t.version != ORIGINAL]
    texts = [asked.texts[i] for i in rows]
    columns = {f"tau {name}": taus[k][rows] for k, name in enumerate(names)}
    return pa.table(
        {
            "id": pa.array([asked.statements[t.statement].id for t in texts], pa.string()),
            "version": pa.array([t.version for t in texts], pa.int64()),
            "text": pa.array([t.marked.text for t in texts], pa.string()),
            "words": pa.array([t.words for t in texts], pa.int64()),
            "left_out": pa.array([t.left_out for t in texts], pa.string()),
            "identical": pa.array([t.identical for t in texts], pa.bool_()),
            "tau": pa.array(taus.mean(axis=0)[rows], from_pandas=True),
            **{k: pa.array(v, from_pandas=True) for k, v in columns.items()},
        }
    )
