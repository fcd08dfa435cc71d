"""A reliability run: the result of scoring, returned by it or read from its folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clinometer import __version__
from clinometer.display.notebook import titled_html
from clinometer.display.numbers import MISSING, between, counted, risk, show
from clinometer.reliability.scoring.folder import (
    CountsRecord,
    LengthRecord,
    ReliabilityFolder,
    ReliabilityRecord,
    SurenessRecord,
    rank_agreement,
)
from clinometer.reliability.scoring.score import (
    Convergence,
    convergence,
    length_adjusted,
    mean_estimate,
)
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.scoring.statement_scores import (
    ORIGINAL,
    ModelTaus,
    TextsToScore,
    measure_statements,
)
from clinometer.reliability.validation_status import standing
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd


# --- A reliability run: the result of scoring, returned by it or read from its folder ------------


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

    def taus(self) -> tuple[FloatArray, FloatArray]:
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


def _statement_table(
    asked: TextsToScore, columns: dict[str, Any], adjusted: FloatArray
) -> pa.Table:
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
    asked: TextsToScore, names: Sequence[str], by_model: dict[str, FloatArray]
) -> pa.Table:
    ids = [s.id for s in asked.statements]
    return pa.table(
        {
            "id": ids * len(names),
            "model": [name for name in names for _ in ids],
            **{k: pa.array(v.reshape(-1), from_pandas=True) for k, v in by_model.items()},
        }
    )


def _version_table(asked: TextsToScore, names: Sequence[str], taus: FloatArray) -> pa.Table:
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


# --- What a reader of a reliability run must know besides the means ------------------------------


def reading_notes(record: ReliabilityRecord) -> list[str]:
    """How far models agree, and everything that was counted."""
    lines = [standing(record).why]
    for pair in record.agreement:
        if pair.rho is not None:
            lines.append(
                f"{pair.a} and {pair.b} rank the statements alike to rho = "
                f"{pair.rho.value:.2f}: read a rank as that of these models."
            )
    if len(record.models) == 1:
        lines.append(
            "One scoring model: another may rank these statements in another order (--model twice "
            "shows how far)."
        )
    lines += sureness_notes(record.sureness)
    known = {"statements", "versions", "flag_"}
    odd = {k: n for k, n in record.counts.overall.items() if n and k not in known}
    shown = [f"{k.replace('_', ' ')} {n}" for k, n in odd.items()]
    for model, counts in record.counts.by_model.items():
        shown += [f"{model}: {k.replace('_', ' ')} {n}" for k, n in counts.items() if n]
    if shown:
        lines.append("Counted: " + ", ".join(shown) + ".")
    return lines


def sureness_notes(found: SurenessRecord | None) -> list[str]:
    """Whether single statements can be told apart, and how many versions it takes."""
    if found is None:
        return []
    lines = []
    if found.split_half is not None and found.rank_interval is not None and found.ranked > 2:
        lines.append(
            f"Other versions would rank these statements alike to rho = {found.split_half:.2f}; "
            f"the median statement's rank is known to within {found.rank_interval:.0f} of "
            f"{found.ranked} places."
        )
    width, between = found.interval_width, found.spread
    if width is not None and between is not None and found.ranked > 2 and width > 2 * between:
        lines.append(
            f"Most statements cannot be told apart: the median interval is {width:.3f} wide, the "
            f"scores have a standard deviation of {between:.3f}."
        )
    if found.precision is not None:
        many = found.versions_needed
        lines.append(
            f"± {found.precision:g} takes {many:.0f} versions of the median statement."
            if many is not None
            else f"± {found.precision:g} takes more than 5,000 versions of most statements."
        )
    return lines


# --- A data card of a benchmark's reliability: a page of Markdown to publish beside the data -----


def data_card(run: ReliabilityRun) -> str:
    """What was scored, by what, with what result, and what it does not say."""
    record, frame = run.record, run.statements
    sources = frame["source"].replace("", "not named").value_counts()
    lines = [
        "# Contextual reliability",
        "",
        f"Clinometer {__version__}, {record.created[:10]}. COBIAS (Govil et al.) of "
        f"{len(frame):,} statements; {int(frame['cobias'].notna().sum()):,} have a score.",
        "",
        "| | |",
        "|---|---|",
        f"| statements | {'; '.join(f'{_cell(str(k))}: {n:,}' for k, n in sources.items())} |",
        f"| scoring models | {'; '.join(_cell(m.id) for m in record.models)} |",
        f"| versions written by | {_cell(record.versions_by or 'not known')} |",
        f"| versions scored | {int(frame['scored'].sum()):,} |",
    ]
    for name, found in record.summary.items():
        if found is not None:
            ends = between(found.low, found.high, to=" to ")
            lines.append(f"| mean {name} | {risk(found.value)}{f' ({ends})' if ends else ''} |")
    lines += ["", "## How to read it", ""]
    lines += [f"- {note}" for note in reading_notes(record)]
    lines += [
        "- COBIAS is how much added context changes what these models make of a statement; that a "
        "change shows missing context is the method's premise. A score says nothing about whether "
        "a statement is true, harmful or a stereotype.",
        "- Statements are quoted as published and may be offensive.",
        "",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text from elsewhere in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
