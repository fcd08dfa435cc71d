"""Scores as the columns of a Parquet part, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clinometer.models import WordScores


def to_table(cells: NDArray[np.int64], scores: WordScores) -> pa.Table:
    """One row per cell: its index, and a column for each field of the scores.

    Numbers are stored as float32; a field with several numbers per cell is a list.
    """
    columns = {"cell": pa.array(cells, type=pa.int64())}
    for field in fields(WordScores):
        values = getattr(scores, field.name)
        if isinstance(values, np.ndarray):
            columns[field.name] = _numbers(values.astype(np.float32))
        elif values is not None:
            columns[field.name] = pa.array([list(row) for row in values])
    return pa.table(columns)


def from_table(table: pa.Table, *, words: int) -> tuple[NDArray[np.int64], WordScores] | None:
    """Cells and scores; None for a table with other columns."""
    needed = {"cell", "log_probs", "log_coverage", "skipped"}
    if not needed <= set(table.column_names):
        return None
    values = {
        field.name: _values(table[field.name].combine_chunks())
        for field in fields(WordScores)
        if field.name in table.column_names
    }
    if values["log_probs"].shape != (len(table), words):
        return None
    return table["cell"].to_numpy(), WordScores(**values)


def _numbers(values: NDArray[np.float32]) -> pa.Array:
    flat = pa.array(values.reshape(-1))
    return flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _values(column: Any) -> Any:
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy().reshape(len(column), -1).astype(np.float64)
    if pa.types.is_list(column.type):
        return tuple(tuple(row) for row in column.to_pylist())
    return column.to_numpy().astype(np.float64)
