"""Rows for a model, in batches of equal length.

Rows of one length need no padding: no padding side, no attention mask and no wasted work, and the
batch size moves a number only by the rounding of the model's precision. Running out of memory
halves the batch.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from clinometer.errors import ModelError
from clinometer.models.background import prefetch
from clinometer.models.scoring.chain_rule import WordQuery
from clinometer.models.tokens.word_tokens import Tokens, Trie
from clinometer.statistics.arrays import FloatArray, IntArray

Part = TypeVar("Part")
Result = TypeVar("Result")
#: What torch, and oneDNN on x86-64, say when an allocation fails for which they have no class.
_NO_MEMORY = (
    "not enough memory",
    "can't allocate memory",
    "out of memory",
    "could not create a primitive",
)
_log = logging.getLogger("clinometer.models")


@dataclass(frozen=True)
class Batch:
    """Rows of one length; each reads at its own position and wants its own set of tokens.

    tokens [n, L]     what the model reads
    positions [n]     where the answer is read
    wants [Q, W]      the sets of wanted tokens, each padded with its own first one
    which [n]         the set that a row wants; rows share sets, so a GPU does not receive the
                      same hundred tokens for every row
    source [n]        the encoder's side: rows of states already encoded
    unknown           number of positions from there on whose tokens are not yet known
    """

    tokens: IntArray
    positions: IntArray
    wants: IntArray
    which: IntArray
    source: IntArray | None = None
    unknown: int = 0

    def take(self, rows: IntArray) -> Batch:
        """Some of the rows."""
        return replace(
            self,
            tokens=self.tokens[rows],
            positions=self.positions[rows],
            which=self.which[rows],
            source=None if self.source is None else self.source[rows],
        )


def pad_wants(wants: Sequence[Tokens]) -> IntArray:
    """Sets of wanted tokens as one array [Q, W], each padded with its own first token.

    >>> pad_wants([(4, 5, 6), (7,)]).tolist()
    [[4, 5, 6], [7, 7, 7]]
    """
    width = max(len(w) for w in wants)
    return np.array([w + w[:1] * (width - len(w)) for w in wants], dtype=np.int64)


#: Runs one batch and returns log-probabilities [n, W], on the device that computed them.
Forward = Callable[[Batch], "Tensor | FloatArray"]


class BatchSize:
    """Tokens in a batch; halved each time memory runs out, for all batches to come."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def fitted(self, work: Callable[[], Result]) -> Result | None:
        """What `work` returns; None where memory ran out and batches are smaller from now on.

        `work` prepares its batch by the size as it is now, and is called again after None.
        """
        tried = self.tokens
        try:
            return work()
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            cause = error.with_traceback(None)  # which holds on to the tensors of the batch
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if self.tokens < tried:  # another thread was first
            return None
        if tried < 2:
            raise ModelError(
                "out of memory with a single row: use a smaller dtype or a larger device"
            ) from cause
        self.tokens = tried // 2
        _log.warning("out of memory: batches of %d tokens from now on", self.tokens)
        return None

    def over(
        self,
        members: IntArray,
        length: int,
        work: Callable[[IntArray], Result],
        *,
        most: float = math.inf,
    ) -> Iterator[tuple[IntArray, Result]]:
        """`work` on all members, rows of this length, as many at a time as fit, and at most `most`
        tokens."""
        start = 0
        while start < len(members):
            rows = max(1, int(min(most, self.tokens)) // max(length, 1))
            some = members[start : start + rows]
            result = self.fitted(partial(work, some))
            if result is not None:
                yield some, result
                start += len(some)


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, on a GPU or in main memory (where torch raises a plain error)."""
    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and any(phrase in text for phrase in _NO_MEMORY)


def answer_queries(
    tree: Trie,
    queries: Sequence[WordQuery],
    read: Callable[[IntArray, IntArray, IntArray, IntArray], FloatArray],
) -> list[FloatArray]:
    """Answers to queries of one depth about one tree, read as the rows of one table.

    `read` gets the tokens of the queries' nodes [Q, depth], the prompt and the query of each row
    [n], and the tokens wanted by each query [Q, W]; it returns log-probabilities [n, W].
    """
    if not queries:
        return []
    counts = [len(q.prompts) for q in queries]
    values = read(
        np.array([tree.prefix[q.node] for q in queries], dtype=np.int64),
        np.concatenate([q.prompts for q in queries]),
        np.repeat(np.arange(len(queries)), counts),
        pad_wants([tree.child_tokens(q.node) for q in queries]),
    )
    tables = np.split(values, np.cumsum(counts)[:-1])
    return [t[:, : len(tree.children[q.node])] for q, t in zip(queries, tables, strict=True)]


def run(batch: Batch, forward: Forward, size: BatchSize, *, extra: int = 0) -> Tensor:
    """Answers for all rows in their order, in batches that fit.

    They stay on the device, so that one batch is prepared while another is computed. `extra` is
    what a row costs beside its own tokens (the encoder's side), in tokens.
    """
    parts = size.over(
        np.arange(len(batch.tokens)),
        batch.tokens.shape[1] + extra,
        lambda rows: torch.as_tensor(forward(batch.take(rows))),
    )
    values = [part for _, part in parts]
    return torch.cat(values) if values else torch.empty((0, batch.wants.shape[1]))


def to_device(array: IntArray, device: torch.device) -> Tensor:
    """Move an array without making the CPU wait for what a GPU is still computing."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def to_numpy(values: Tensor) -> FloatArray:
    """Answers as float64 in main memory."""
    return np.asarray(values.double().cpu().numpy())


def fetch(values: Tensor) -> Callable[[], FloatArray]:
    """Start copying answers to main memory; call the result to wait for them.

    GPU work queued afterwards does not delay them.
    """
    if values.device.type != "cuda":
        return lambda: to_numpy(values)
    host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    host.copy_(values, non_blocking=True)
    cuda: Any = torch.cuda  # its classes are not typed
    arrived = cuda.Event()
    arrived.record()

    def wait() -> FloatArray:
        arrived.synchronize()
        return host.numpy().astype(np.float64)

    return wait


def overlapped(
    work: Callable[[Part], Result], parts: Iterable[Part], *, threads: int
) -> Iterator[Result]:
    """`work` on every part, in order; with several threads one reads its answers while another
    gives the GPU something to do, and the caller prepares the next part."""
    if threads == 1:
        yield from map(work, parts)
        return
    with collector_off():
        yield from prefetch(work, parts, by=threads)


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Disable the garbage collector while batches are in flight: lists of tokens trigger it, and it
    walks over all prompts while the GPU waits (measured: 15 % of a BERT's time on an H200). Also
    while a model is loaded: importing makes little garbage and many objects to look through."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
