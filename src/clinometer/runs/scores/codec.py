"""Scores as the columns of a Parquet part, and back.

A run keeps the digits that its numbers need (`rounded`): the others are noise that does not
compress, and most of a file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clinometer.models import WordScores
from clinometer.runs.scores.word_codes import FARTHEST, Scale, fits, totals

#: Cells by which words are sorted: those that are alike are compressed together.
_SOME = 256
#: Of a code.
_BYTES = 4
#: Metadata of the column: the threshold of the scale, and which word comes where.
_SCALE, _ORDER = "threshold", "words"
_TOTAL = "log_total"


@dataclass(frozen=True, kw_only=True)
class _Rounded(WordScores):
    """Scores with the codes [P, V] and totals [P] that they were read from: coding them again would
    take longer than writing them."""

    codes: NDArray[np.int32]
    totals: NDArray[np.int64]


def rounded(scores: WordScores) -> WordScores:
    """Log-probabilities with as many digits as keep a preference to 1e-6.

    Bounds and counted samples stay as they are.
    """
    if not _has_codes(scores):
        return scores
    scale, whole = Scale.for_words(scores.log_probs.shape[1]), totals(scores.log_probs)
    codes = scale.codes(scores.log_probs, whole)
    logs = scale.log_probs(codes, whole)
    kept = {field.name: getattr(scores, field.name) for field in fields(WordScores)}
    return _Rounded(**{**kept, "log_probs": logs}, codes=codes, totals=whole)


def _has_codes(scores: WordScores) -> bool:
    """Whether these are log-probabilities that a model computed."""
    counted = scores.log_upper is not None or scores.draws is not None
    return not counted and fits(scores.log_probs)


def to_table(cells: NDArray[np.int64], *parts: WordScores) -> pa.Table:
    """One row per cell: its index, and a column for each field of the scores, which may come in
    parts.

    Log-probabilities that were `rounded` are stored as codes (see `word_codes`), beside the total
    that these belong to; all other numbers as float32, a list where a cell has several.
    """
    columns: list[tuple[str, pa.Array, dict[str, str] | None]] = [
        ("cell", pa.array(cells, type=pa.int64()), None)
    ]
    scores, coded = WordScores.joined(parts), _coded(parts)
    if coded is not None:
        codes, whole = coded
        columns += [("log_probs", *_bytes(codes)), (_TOTAL, pa.array(whole), None)]
    for field in fields(WordScores):
        values = getattr(scores, field.name)
        if field.name == "log_probs" and coded is not None:
            continue
        if isinstance(values, np.ndarray):
            columns.append((field.name, _numbers(values.astype(np.float32)), None))
        elif values is not None:
            columns.append((field.name, pa.array([list(row) for row in values]), None))
    schema = pa.schema([pa.field(name, data.type, metadata=about) for name, data, about in columns])
    return pa.table([data for _, data, _ in columns], schema=schema)


def from_table(table: pa.Table, *, words: int) -> tuple[NDArray[np.int64], WordScores] | None:
    """Cells and scores; None for a table with other columns."""
    needed = {"cell", "log_probs", "log_coverage", "skipped"}
    if not needed <= set(table.column_names):
        return None
    coded = pa.types.is_fixed_size_binary(table.schema.field("log_probs").type)
    values = {
        field.name: _values(table[field.name].combine_chunks())
        for field in fields(WordScores)
        if field.name in table.column_names and not (coded and field.name == "log_probs")
    }
    if coded:
        values["log_probs"] = _decoded(table, words)
    if values["log_probs"] is None or values["log_probs"].shape != (len(table), words):
        return None
    return table["cell"].to_numpy(), WordScores(**values)


def _coded(
    parts: Sequence[WordScores],
) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Codes and totals of scores that have them."""
    found = []
    for part in parts:
        if isinstance(part, _Rounded):
            found.append((part.codes, part.totals))
        elif _has_codes(part) and (exact := _exact_codes(part.log_probs)) is not None:
            found.append(exact)
        else:
            return None
    codes, whole = zip(*found, strict=True)
    return np.concatenate(codes), np.concatenate(whole)


def _exact_codes(
    log_probs: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Codes and totals that give back the same float32; None where none do, as in an old cache."""
    scale, whole = Scale.for_words(log_probs.shape[1]), totals(log_probs)
    codes = np.empty(log_probs.shape, dtype=np.int32)
    left = np.arange(len(log_probs))
    for shift in (0, -1, 2):  # rounding may have moved the total to the next eighth
        whole[left] += shift
        codes[left] = scale.codes(log_probs[left], whole[left])
        found = scale.log_probs(codes[left], whole[left]).astype(np.float32)
        left = left[(found != log_probs[left].astype(np.float32)).any(axis=1)]
        if not len(left):
            return codes, whole
    return None


def _bytes(codes: NDArray[np.int32]) -> tuple[pa.Array, dict[str, str]]:
    """The codes of each cell as bytes, and how to read them: the scale, and the order of the words.
    The first bytes of all words come first, so that like follows like."""
    n, V = codes.shape
    order = np.argsort(np.median(codes[:_SOME], axis=0), kind="stable")
    big_endian = np.take(codes, order, axis=1).astype(">i4")
    planes = big_endian.view(np.uint8).reshape(n, V, _BYTES).transpose(0, 2, 1)
    data = pa.py_buffer(np.ascontiguousarray(planes))
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(V * _BYTES), n, [None, data])
    return column, {_SCALE: str(Scale.for_words(V).threshold), _ORDER: json.dumps(order.tolist())}


def _decoded(table: pa.Table, words: int) -> NDArray[np.float64] | None:
    """Log-probabilities [P, V] from such bytes; None where they do not say what they mean."""
    about = table.schema.field("log_probs").metadata or {}
    try:
        order = np.array(json.loads(about[_ORDER.encode()]), dtype=np.int64)
        threshold = int(about[_SCALE.encode()])
        whole = table[_TOTAL].to_numpy().astype(np.int64)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    column = table["log_probs"].combine_chunks()
    width, every = column.type.byte_width, np.arange(words)
    if not np.array_equal(np.sort(order), every) or width != words * _BYTES:
        return None
    if max(abs(threshold), np.abs(whole).max(initial=0)) > FARTHEST:
        return None
    n = len(column)
    flat = np.frombuffer(column.buffers()[1], np.uint8, n * width, column.offset * width)
    planes = np.ascontiguousarray(flat.reshape(n, _BYTES, words).transpose(0, 2, 1))
    codes = np.empty((n, words), dtype=np.int32)
    codes[:, order] = planes.view(">i4").reshape(n, words)
    return Scale(threshold).log_probs(codes, whole)


def _numbers(values: NDArray[np.float32]) -> pa.Array:
    flat = pa.array(values.reshape(-1))
    return flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _values(column: Any) -> Any:
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy().reshape(len(column), -1).astype(np.float64)
    if pa.types.is_list(column.type):
        return tuple(tuple(row) for row in column.to_pylist())
    return column.to_numpy().astype(np.float64)
