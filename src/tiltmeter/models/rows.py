"""Rows for a model, in batches of equal length.

Rows of one length need no padding: no padding side, no attention mask and no wasted work, and the
batch size cannot move a number beyond rounding. Out of memory halves the batch and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models.trie import Tokens

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """Rows of one shape that ask the same thing.

    tokens [n, L]   what the model reads (for sequence-to-sequence models, the decoder's side)
    position        where the answer is read
    wanted          the tokens whose log-probabilities are read there
    source [n, S]   the encoder's side, if there is one
    unknown         how many places from `position` on stand for tokens not yet known
    """

    tokens: Ids
    position: int
    wanted: Tokens
    source: Ids | None = None
    unknown: int = 0

    @property
    def shape(self) -> tuple[int, int, int, int]:
        source = 0 if self.source is None else self.source.shape[1]
        return self.tokens.shape[1], source, self.position, self.unknown


@dataclass(frozen=True)
class Batch:
    """Rows of one shape with what each wants [n, W], padded with the row's first wanted token."""

    tokens: Ids
    position: int
    wanted: Ids
    source: Ids | None
    unknown: int


#: Runs one batch and returns log-probabilities [n, W].
Forward = Callable[[Batch], NDArray[np.float64]]


class BatchSize:
    """Tokens in a batch; halved each time memory runs out."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def rows(self, length: int) -> int:
        return max(1, self.tokens // max(length, 1))

    def halve(self, cause: BaseException) -> None:
        if self.tokens < 2:
            raise ModelError(
                "out of memory with a single row: use a smaller dtype or a larger device"
            ) from cause
        self.tokens //= 2


def answer(
    blocks: Sequence[Block], forward: Forward, size: BatchSize
) -> list[NDArray[np.float64]]:
    """Log-probabilities [n, W] for each block, whatever batches they were computed in."""
    by_shape: dict[tuple[int, int, int, int], list[int]] = {}
    for i, block in enumerate(blocks):
        by_shape.setdefault(block.shape, []).append(i)
    results: dict[int, NDArray[np.float64]] = {}
    for members in by_shape.values():
        joined = _join([blocks[i] for i in members])
        values = _run(joined, forward, size)
        start = 0
        for i in members:
            stop = start + len(blocks[i].tokens)
            results[i] = values[start:stop, : len(blocks[i].wanted)]
            start = stop
    return [results[i] for i in range(len(blocks))]


def _join(blocks: list[Block]) -> Batch:
    width = max(len(b.wanted) for b in blocks)
    wanted = [
        np.tile(
            np.array(b.wanted + b.wanted[:1] * (width - len(b.wanted)), dtype=np.int64),
            (len(b.tokens), 1),
        )
        for b in blocks
    ]
    sources = [b.source for b in blocks if b.source is not None]
    return Batch(
        tokens=np.concatenate([b.tokens for b in blocks]),
        position=blocks[0].position,
        wanted=np.concatenate(wanted),
        source=np.concatenate(sources) if sources else None,
        unknown=blocks[0].unknown,
    )


def _run(rows: Batch, forward: Forward, size: BatchSize) -> NDArray[np.float64]:
    length = rows.tokens.shape[1] + (0 if rows.source is None else rows.source.shape[1])
    parts: list[NDArray[np.float64]] = []
    start = 0
    while start < len(rows.tokens):
        stop = start + size.rows(length)
        try:
            part = forward(
                Batch(
                    tokens=rows.tokens[start:stop],
                    position=rows.position,
                    wanted=rows.wanted[start:stop],
                    source=None if rows.source is None else rows.source[start:stop],
                    unknown=rows.unknown,
                )
            )
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            size.halve(error)
            continue
        parts.append(part)
        start = stop
    return np.concatenate(parts) if parts else np.empty((0, rows.wanted.shape[1]))
