"""Scores of cells as the columns of a part, and scores from a part that others may have written."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clinometer.models import WordScores
from clinometer.readouts import UNREAD
from clinometer.storage.parquet_parts import sound

Scored = tuple[NDArray[np.int64], WordScores]
"""Cells by number, and their scores."""


def score_table(cells: NDArray[np.int64], scores: WordScores) -> pa.Table:
    """Return a row per cell: its number, and a column for each field of the scores that is set."""
    columns = {"cell": pa.array(cells)}
    for field in fields(WordScores):
        values = getattr(scores, field.name)
        if isinstance(values, np.ndarray):
            columns[field.name] = _column_of_numbers(values)
        elif values is not None:
            columns[field.name] = pa.array([list(texts) for texts in values])
    return pa.table(columns)


def _column_of_numbers(values: NDArray[Any]) -> pa.Array:
    flat = pa.array(values.reshape(-1).astype(np.float32))
    if values.ndim == 1:
        return flat
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def scores_of(table: pa.Table, *, words: int) -> Scored | None:
    """Return cells and scores.

    None for a table with other columns or another number of words, or a cell twice. The many
    numbers, log-probabilities of words, stay the float32 that they are.
    """
    number = pa.float32()
    number_per_word = pa.list_(number, words)
    schema = {
        "cell": pa.int64(),
        "log_probs": number_per_word,
        "log_coverage": number,
        "skipped": number,
        "log_upper": number_per_word,
        "draws": pa.list_(pa.string()),
        "unread": pa.list_(number, len(UNREAD)),
    }
    if not sound(table, schema, optional=("log_upper", "draws", "unread")):
        return None
    cells = table["cell"].to_numpy()
    if len(np.unique(cells)) < len(cells) or cells.min(initial=0) < 0:
        return None
    names = [name for name in table.column_names if name != "cell"]
    columns = {name: _values(table[name].combine_chunks()) for name in names}
    return cells, WordScores(**columns)


def _values(column: pa.Array) -> Any:
    """Return a column as a field of `WordScores`."""
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy().reshape(len(column), -1)
    if pa.types.is_list(column.type):
        return tuple(tuple(texts) for texts in column.to_pylist())
    return column.to_numpy().astype(np.float64)
