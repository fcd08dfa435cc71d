"""The tables of a run's folder: its preferences and risks as they were measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clinometer.errors import ClinometerError, RunError
from clinometer.measure import Preferences
from clinometer.measure.risk import GroupIntervals, RiskReport
from clinometer.measure.risks import GROUP_RISKS
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import RunRecord
from clinometer.statistics.arrays import FloatArray

if TYPE_CHECKING:
    import pandas as pd

LABEL = "label_"
"""Prefix of the columns of contexts.parquet that contain labels of the context set."""

ROWS_AT_A_TIME = 1 << 20
"""Rows of preferences.parquet that are made at a time."""

_NUMBERS = ("p", "coverage", "p_low", "p_high", "answers")
"""Columns of preferences.parquet that are read; the others label the rows, which are in order."""

_EFFECTIVE = "n_eff"
"""Column of groups.parquet that `RiskReport.groups_table` does not show: effective contexts."""

_MEAN = "mean_stereotype"
"""Column of groups.parquet that `RiskReport.groups_table` does not show: the mean stereotype."""


def preference_rows(preferences: Preferences) -> Iterator[pa.Table]:
    """Yield preferences.parquet, some groups at a time.

    All of a large run would take as much memory as measuring it. A missing number is null: our
    files contain no NaN.
    """
    X, C, K = preferences.values.shape
    groups_at_a_time = max(1, ROWS_AT_A_TIME // (C * K))
    for first in range(0, X, groups_at_a_time):
        frame = preferences.to_pandas(slice(first, first + groups_at_a_time))
        yield pa.Table.from_pandas(frame, preserve_index=False)


def with_report(groups: pa.Table, report: RiskReport) -> pa.Table:
    """Return groups.parquet: the columns that people read, and what `stored_results` needs."""
    n_eff = pa.array(report.n_eff_by_group, from_pandas=True)
    means = pa.array(report.mean_stereotype.reshape(-1), from_pandas=True)
    means_by_group = pa.FixedSizeListArray.from_arrays(means, len(report.categories))
    return groups.append_column(_EFFECTIVE, n_eff).append_column(_MEAN, means_by_group)


def stored_results(
    record: RunRecord, tables: Mapping[str, pa.Table]
) -> tuple[Preferences, RiskReport]:
    """Return the preferences of a finished run and its risks as they were measured, from what
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
    stored = tables["preferences"]
    columns = [name for name in _NUMBERS if name in stored.column_names]
    cells = stored.select(columns).to_pandas()
    contexts = tables["contexts"].to_pandas()
    groups = tables["groups"].to_pandas()
    categories = tuple(record.topic.attributes)
    shape = (len(groups), len(contexts), len(categories))
    coverage = cells["coverage"].to_numpy(dtype=float).reshape(shape)[:, :, 0]
    answers = _cell_values(cells, "answers", shape)
    return Preferences(
        values=cells["p"].to_numpy(dtype=float).reshape(shape),
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
        low=_cell_values(cells, "p_low", shape),
        high=_cell_values(cells, "p_high", shape),
        answers=None if answers is None else answers[:, :, 0],
    )


def _texts(column: pd.Series[Any]) -> tuple[str, ...]:
    """Return the texts of a column; nothing else will do: pages and prompts are made of them."""
    if not all(isinstance(value, str) for value in column):
        raise RunError(
            f"{column.name}: expected texts; the run folder is damaged: audit again"
        )
    return tuple(column)


def _cell_values(cells: pd.DataFrame, name: str, shape: tuple[int, ...]) -> Any:
    """Return a column of preferences.parquet as an array, or None where the run has none."""
    if name not in cells.columns:
        return None
    return cells[name].to_numpy(dtype=float).reshape(shape)


def _report(
    record: RunRecord, groups: pa.Table, preferences: Preferences
) -> RiskReport:
    if record.summary is None or record.n_eff is None:
        raise RunError(
            f"run of {record.model.id!r}: expected a summary in run.json, found none"
        )
    grid = preferences.grid
    r, r_bias, r_volatility = (_numbers(groups, name) for name in GROUP_RISKS)
    means = groups[_MEAN].combine_chunks().flatten().to_numpy()
    missing_groups = tuple(
        group for group, risk in zip(grid.groups, r, strict=True) if np.isnan(risk)
    )
    return RiskReport(
        groups=preferences.groups,
        categories=preferences.categories,
        r=r,
        r_bias=r_bias,
        r_volatility=r_volatility,
        mean_stereotype=means.reshape(len(r), -1),
        group_weights=grid.group_weights,
        summary=record.summary.estimates,
        n_contexts=grid.contexts_asked,
        n_eff=record.n_eff,
        n_eff_by_group=_numbers(groups, _EFFECTIVE),
        missing_cells=grid.missing_cells,
        missing_groups=missing_groups,
        criterion=grid.criterion,
        intervals=_intervals(groups, record.settings.level),
    )


def _intervals(groups: pa.Table, level: float) -> GroupIntervals | None:
    """Return the intervals of the risks of each group; None for a run without any."""
    r, r_bias, r_volatility = (_ends(groups, name) for name in GROUP_RISKS)
    if all(np.isnan(ends).all() for ends in (r, r_bias, r_volatility)):
        return None
    return GroupIntervals(r, r_bias, r_volatility, level)


def _ends(groups: pa.Table, name: str) -> FloatArray:
    """Return the ends [X,2] of the intervals of a risk."""
    low = _numbers(groups, f"{name}_low")
    high = _numbers(groups, f"{name}_high")
    return np.stack([low, high], axis=1)


def _numbers(table: pa.Table, name: str) -> FloatArray:
    """Return a column of numbers; NaN where there is none."""
    return np.array(table[name].to_numpy(), dtype=np.float64)
