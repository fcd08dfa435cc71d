"""Scores as the columns of a Parquet part, and back.

A run keeps the digits that its numbers need (`rounded`): the others are noise that does not
compress, and most of a file.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clinometer.models import WordScores

#: How far the rounding of all words may move a preference together. The errors are independent, so
#: each word gets this over the root of their number,
_MOVED = 1.8e-6
#: and a step of at most this: rare words keep a thousandth of their probability.
_LARGEST_STEP = 2.0**-10


def rounded(scores: WordScores) -> WordScores:
    """Log-probabilities in float32 with as many bits as keep a preference to 1e-6.

    A word with the share q of all words' mass moves a preference by less than q times the error of
    its log-probability, so its last bits matter only if q is large. Bounds and counted samples
    stay as they are.
    """
    if scores.log_upper is not None or scores.draws is not None:
        return scores
    logs = scores.log_probs.astype(np.float32)
    with np.errstate(invalid="ignore"):
        relative = logs - logs.max(axis=1, keepdims=True)
    relative = np.nan_to_num(relative, nan=-np.inf, neginf=-np.inf)
    share = relative - np.log(np.maximum(np.exp(relative).sum(axis=1, keepdims=True), 1.0))
    step = math.log2(_MOVED / math.sqrt(logs.shape[1])) - share / np.float32(math.log(2))
    power = np.floor(np.minimum(step, math.log2(_LARGEST_STEP))).astype(np.int32)
    kept = np.ldexp(np.rint(np.ldexp(logs, -power)), power)
    return replace(scores, log_probs=kept.astype(np.float64))


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
