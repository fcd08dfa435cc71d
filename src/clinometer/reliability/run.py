"""A reliability run: the result of scoring, returned by it or read from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from clinometer import __version__
from clinometer.display.notebook import titled_html
from clinometer.display.numbers import MISSING, between, counted, risk, show
from clinometer.reliability.folder import ReliabilityFolder, ReliabilityRecord, SurenessRecord
from clinometer.reliability.validation_status import validation_status
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

    def versions_used(self) -> list[list[str]]:
        """The texts of the versions that count, for each statement."""
        versions = self.versions
        used = versions[versions["left_out"] == ""].groupby("id")["text"].agg(list)
        return [used.get(i, []) for i in self.statements["id"]]

    @property
    def summary(self) -> dict[str, Estimate | None]:
        return self.record.summary

    @property
    def counts(self) -> dict[str, int]:
        return self.record.counts.overall


def edit_verdict(before: Estimate | None, after: Estimate | None) -> str:
    """Whether an edit makes a statement more stable: clearly only if the intervals do not meet.

    >>> edit_verdict(Estimate(0.2, 0.1, 0.3, 0.95), Estimate(0.5, 0.4, 0.6, 0.95))
    'clearly more stable'
    >>> edit_verdict(Estimate(0.2, 0.1, 0.3, 0.95), Estimate(0.25, 0.2, 0.4, 0.95))
    'no clear change'
    """
    if before is None or after is None:
        return "cannot tell: not scored"
    ends = (before.low, before.high, after.low, after.high)
    if any(end is None for end in ends):
        return "cannot tell: no interval"
    low, high, new_low, new_high = (float(end or 0.0) for end in ends)
    if new_low > high:
        return "clearly more stable"
    return "clearly less stable" if new_high < low else "no clear change"


def reading_notes(record: ReliabilityRecord) -> list[str]:
    """Whether the run is validated, how far models agree, and everything that was counted."""
    lines = [validation_status(record).why]
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
    lines += _precision_notes(record.sureness)
    regular = {"statements", "versions", "flag_"}
    counts = {k: n for k, n in record.counts.overall.items() if n and k not in regular}
    shown = [f"{k.replace('_', ' ')} {n}" for k, n in counts.items()]
    for model, by_model in record.counts.by_model.items():
        shown += [f"{model}: {k.replace('_', ' ')} {n}" for k, n in by_model.items() if n]
    if shown:
        lines.append("Counted: " + ", ".join(shown) + ".")
    return lines


def _precision_notes(sureness: SurenessRecord | None) -> list[str]:
    """Whether single statements can be told apart."""
    if sureness is None:
        return []
    lines = []
    ranks, width, spread = sureness.rank_interval, sureness.interval_width, sureness.spread
    if sureness.split_half is not None and ranks is not None and sureness.ranked > 2:
        lines.append(
            f"Other versions would rank these statements alike to rho = {sureness.split_half:.2f}; "
            f"the median statement's rank is known to within {ranks:.0f} of "
            f"{sureness.ranked} places."
        )
    if width is not None and spread is not None and sureness.ranked > 2 and width > 2 * spread:
        lines.append(
            f"Most statements cannot be told apart: the median interval is {width:.3f} wide, the "
            f"scores have a standard deviation of {spread:.3f}."
        )
    return lines


def data_card(run: ReliabilityRun) -> str:
    """A page of Markdown to publish with the data: what was scored, by what, with what result, and
    what it does not say."""
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
    for name, mean in record.summary.items():
        if mean is not None:
            ends = between(mean.low, mean.high, to=" to ")
            lines.append(f"| mean {name} | {risk(mean.value)}{f' ({ends})' if ends else ''} |")
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
