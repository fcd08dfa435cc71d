"""The run folder: everything that a run writes, and that resume and report read.

run.json                the record of the run, its results, and the digests of the tables
replies.jsonl           replies of a server as they arrive, until their cells are scored
scores/part-*.parquet   cell, and the fields of its scores as float32; written as they are scored
preferences.parquet     group, context_id, attribute, p, coverage, flag
groups.parquet          the risks of each group
contexts.parquet        context_id, template, weight, influence
placebo/                the run of irrelevant edits of its questions (--placebo)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clinometer.errors import ClinometerError, RunError
from clinometer.measure import Preferences
from clinometer.measure.risk import GroupIntervals, RiskReport
from clinometer.measure.risks import GROUP_RISKS
from clinometer.models import WordScores
from clinometer.readouts import UNREAD
from clinometer.runs.folder.record import RunRecord
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.parquet_parts import Parts, ResultFolder, sound
from clinometer.storage.resumable import ReplyLog

if TYPE_CHECKING:
    import pandas as pd


Scored = tuple[NDArray[np.int64], WordScores]


class RunFolder(ResultFolder[RunRecord]):
    """A folder with the files of one audit."""

    schema = RunRecord
    command = "clinometer audit"
    tables = ("preferences", "groups", "contexts")
    repair = "the same 'clinometer audit' command"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.parts = Parts(path / "scores")
        self.replies = path / "replies.jsonl"

    def clear_scores(self) -> None:
        self.parts.clear()
        self.replies.unlink(missing_ok=True)

    @property
    def unanswered(self) -> bool:
        """Whether no answer of the model is in it."""
        return not self.parts.files() and ReplyLog(self.replies).empty

    def write_scores(self, scored: Sequence[Scored]) -> None:
        """One part: cells by number, and their scores."""
        cells = np.concatenate([cells for cells, _ in scored])
        scores = WordScores.joined([scores for _, scores in scored])
        self.parts.write(int(cells[0]), score_table(cells, scores))

    def read_scores(
        self, *, words: int, cells: int, repair: bool = True
    ) -> Iterator[Scored]:
        """All parts as (cell numbers, scores), each of the run's `cells` at most once.

        A damaged part is removed, so that its cells are scored again; without `repair` it is an
        error.
        """
        seen = np.zeros(cells, dtype=bool)

        def read(table: pa.Table) -> Scored | None:
            scored = scores_of(table, words=words)
            if (
                scored is None
                or (at := scored[0]).max(initial=0) >= cells
                or seen[at].any()
            ):
                return None
            seen[at] = True
            return scored

        advice = None if repair else f"{self.repair} scores it again"
        return self.parts.results(read, advice=advice)


def score_table(cells: NDArray[np.int64], scores: WordScores) -> pa.Table:
    """A row per cell: its number, and a column for each field of the scores that is set."""
    columns = {"cell": pa.array(cells)}
    for field in fields(WordScores):
        values = getattr(scores, field.name)
        if isinstance(values, np.ndarray):
            flat = pa.array(values.reshape(-1).astype(np.float32))
            several = values.ndim > 1
            columns[field.name] = (
                pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
                if several
                else flat
            )
        elif values is not None:
            columns[field.name] = pa.array([list(texts) for texts in values])
    return pa.table(columns)


def scores_of(table: pa.Table, *, words: int) -> Scored | None:
    """Cells and scores; None for a table with other columns or another number of words, or a cell
    twice. The many numbers, log-probabilities of words, stay the float32 that they are."""
    number, every_word = pa.float32(), pa.list_(pa.float32(), words)
    schema = {
        "cell": pa.int64(),
        "log_probs": every_word,
        "log_coverage": number,
        "skipped": number,
        "log_upper": every_word,
        "draws": pa.list_(pa.string()),
        "unread": pa.list_(number, len(UNREAD)),
    }
    if not sound(table, schema, optional=("log_upper", "draws", "unread")):
        return None
    cells = table["cell"].to_numpy()
    if len(np.unique(cells)) < len(cells) or cells.min(initial=0) < 0:
        return None
    scores = WordScores(
        **{
            n: _field(table[n].combine_chunks())
            for n in table.column_names
            if n != "cell"
        }
    )
    return cells, scores


def _field(column: pa.Array) -> Any:
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy().reshape(len(column), -1)
    if pa.types.is_list(column.type):
        return tuple(tuple(texts) for texts in column.to_pylist())
    return column.to_numpy().astype(np.float64)


# --- The tables of a run's folder that hold its preferences, and preferences from them -----------


#: Prefix of the columns of contexts.parquet that contain labels of the context set.
LABEL = "label_"
#: Rows of preferences.parquet that are made at a time.
_MOST_ROWS = 1 << 20
#: Columns of preferences.parquet that are read; the others label the rows, which are in order.
_NUMBERS = ("p", "coverage", "p_low", "p_high", "answers")


def preference_rows(preferences: Preferences) -> Iterator[pa.Table]:
    """preferences.parquet, some groups at a time: all of a large run would take as much memory as
    measuring it. A missing number is null: our files contain no NaN."""
    X, C, K = preferences.values.shape
    some = max(1, _MOST_ROWS // (C * K))
    for first in range(0, X, some):
        frame = preferences.to_pandas(slice(first, first + some))
        yield pa.Table.from_pandas(frame, preserve_index=False)


def stored_results(
    record: RunRecord, tables: Mapping[str, pa.Table]
) -> tuple[Preferences, RiskReport]:
    """The preferences of a finished run and its risks as they were measured, from what
    `read_finished` gives of its folder."""
    try:
        preferences = _preferences(record, tables)
        return preferences, _report(record, tables["groups"], preferences)
    except ClinometerError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"run of {record.model.id!r}: run.json and its tables do not fit together; "
            f"{RunFolder.repair} writes the tables again from the scores"
        ) from error


def _preferences(record: RunRecord, tables: Mapping[str, pa.Table]) -> Preferences:
    cells = tables["preferences"]
    table = cells.select(
        [name for name in _NUMBERS if name in cells.column_names]
    ).to_pandas()
    contexts = tables["contexts"].to_pandas()
    groups = tables["groups"].to_pandas()
    categories = tuple(record.topic.attributes)
    shape = (len(groups), len(contexts), len(categories))
    coverage = table["coverage"].to_numpy(dtype=float).reshape(shape)[:, :, 0]
    return Preferences(
        values=table["p"].to_numpy(dtype=float).reshape(shape),
        groups=_texts(groups["group"]),
        contexts=_texts(contexts["context_id"]),
        categories=categories,
        context_weights=contexts["weight"].to_numpy(dtype=float),
        group_weights=groups["weight"].to_numpy(dtype=float),
        reference=record.topic.reference,
        criterion=record.chosen_criterion,
        coverage=None if np.isnan(coverage).all() else coverage,
        coverage_threshold=record.settings.coverage_threshold,
        templates=_texts(contexts["template"]),
        labels={
            name.removeprefix(LABEL): _texts(contexts[name])
            for name in contexts.columns
            if name.startswith(LABEL)
        },
        low=_cells(table, "p_low", shape),
        high=_cells(table, "p_high", shape),
        answers=None if (n := _cells(table, "answers", shape)) is None else n[:, :, 0],
    )


def _texts(column: pd.Series[Any]) -> tuple[str, ...]:
    """The texts of a column; nothing else will do: pages and prompts are made of them."""
    if not all(isinstance(value, str) for value in column):
        raise RunError(
            f"{column.name}: expected texts; the run folder is damaged: audit again"
        )
    return tuple(column)


def _cells(table: pd.DataFrame, name: str, shape: tuple[int, ...]) -> Any:
    """A column of preferences.parquet as an array, or None where the run has none."""
    if name not in table.columns:
        return None
    return table[name].to_numpy(dtype=float).reshape(shape)


# --- The risks of a run, as they were measured ----------------------------------------------------


#: What a report holds of each group beside the columns that `RiskReport.groups_table` shows.
_EFFECTIVE, _MEAN = "n_eff", "mean_stereotype"


def with_report(groups: pa.Table, report: RiskReport) -> pa.Table:
    """groups.parquet: with what `stored_results` needs beside the columns that people read."""
    means = pa.array(report.mean_stereotype.reshape(-1), from_pandas=True)
    size = len(report.categories)
    groups = groups.append_column(
        _EFFECTIVE, pa.array(report.n_eff_by_group, from_pandas=True)
    )
    return groups.append_column(_MEAN, pa.FixedSizeListArray.from_arrays(means, size))


def _report(
    record: RunRecord, groups: pa.Table, preferences: Preferences
) -> RiskReport:
    if record.summary is None or record.n_eff is None:
        raise RunError(
            f"run of {record.model.id!r}: expected a summary in run.json, found none"
        )
    grid = preferences.grid
    r, r_bias, r_volatility = (_numbers(groups, name) for name in GROUP_RISKS)
    ends = [
        np.stack(
            [_numbers(groups, f"{name}_low"), _numbers(groups, f"{name}_high")], axis=1
        )
        for name in GROUP_RISKS
    ]
    intervals = None
    if not all(np.isnan(pair).all() for pair in ends):
        intervals = GroupIntervals(ends[0], ends[1], ends[2], record.settings.level)
    return RiskReport(
        groups=preferences.groups,
        categories=preferences.categories,
        r=r,
        r_bias=r_bias,
        r_volatility=r_volatility,
        mean_stereotype=groups[_MEAN]
        .combine_chunks()
        .flatten()
        .to_numpy()
        .reshape(len(r), -1),
        group_weights=grid.group_weights,
        summary=record.summary.estimates,
        n_contexts=grid.contexts_asked,
        n_eff=record.n_eff,
        n_eff_by_group=_numbers(groups, _EFFECTIVE),
        missing_cells=grid.missing_cells,
        missing_groups=tuple(
            g for g, risk in zip(grid.groups, r, strict=True) if np.isnan(risk)
        ),
        criterion=grid.criterion,
        intervals=intervals,
    )


def _numbers(table: pa.Table, name: str) -> FloatArray:
    """A column of numbers; NaN where there is none."""
    return np.array(table[name].to_numpy(), dtype=np.float64)
