"""Batches of rows: how many fit into memory, and how they reach a device and come back.

Rows of one length need no padding: no padding side, no attention mask and no wasted work, and the
batch size moves a number only by the rounding of the model's precision. Running out of memory
halves the batch.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from clinometer.errors import ModelError
from clinometer.models.background import prefetch
from clinometer.statistics.arrays import FloatArray, IntArray

Part = TypeVar("Part")
Result = TypeVar("Result")

_NO_MEMORY = (
    "not enough memory",
    "can't allocate memory",
    "out of memory",
    "could not create a primitive",
)
"""What torch, and oneDNN on x86-64, say when an allocation fails for which they have no class."""

log = logging.getLogger("clinometer.models")


@dataclass(frozen=True)
class Batch:
    """Rows of one length; each row reads at its own position and wants its own set of tokens."""

    tokens: IntArray
    """What the model reads [n, L]."""

    positions: IntArray
    """Where the answer of each row is read [n]."""

    wants: IntArray
    """The sets of wanted tokens [Q, W], each padded with its own first one."""

    which: IntArray
    """The set that a row wants [n]. Rows share sets, so a GPU does not receive the same hundred
    tokens for every row."""

    source: IntArray | None = None
    """The encoder's side: rows of states already encoded [n]."""

    unknown: int = 0
    """Number of positions, from where the answer is read, whose tokens are not yet known."""

    def take(self, rows: IntArray) -> Batch:
        """Return the batch of some of the rows."""
        return replace(
            self,
            tokens=self.tokens[rows],
            positions=self.positions[rows],
            which=self.which[rows],
            source=None if self.source is None else self.source[rows],
        )


Forward = Callable[[Batch], Tensor]
"""Runs one batch and returns log-probabilities [n, W], on the device that computed them."""


class BatchSize:
    """Tokens in a batch; halved each time memory runs out, for all batches to come."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def attempt(self, work: Callable[[], Result]) -> Result | None:
        """Return the result of `work`; None where memory ran out and batches are now smaller.

        `work` prepares its batch by the size as it is now, and is called again after None.
        """
        tokens_before = self.tokens
        try:
            return work()
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            # The traceback would hold on to the tensors of the batch.
            cause = error.with_traceback(None)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if self.tokens < tokens_before:  # another thread was first
            return None
        if tokens_before < 2:
            raise ModelError(
                "out of memory with a single row: use a smaller dtype or a larger device"
            ) from cause
        self.tokens = tokens_before // 2
        log.warning("out of memory: batches of %d tokens from now on", self.tokens)
        return None

    def split(
        self,
        members: IntArray,
        length: int,
        work: Callable[[IntArray], Result],
        *,
        max_tokens: float = math.inf,
    ) -> Iterator[tuple[IntArray, Result]]:
        """Yield some members at a time with the result of `work` on them, until all are done.

        Each member is a row of this length; a batch has as many as fit, and at most `max_tokens`
        tokens.
        """
        start = 0
        while start < len(members):
            tokens = int(min(max_tokens, self.tokens))
            rows = max(1, tokens // max(length, 1))
            batch = members[start : start + rows]
            result = self.attempt(partial(work, batch))
            if result is not None:
                yield batch, result
                start += len(batch)


def out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out, on a GPU or in main memory (where torch raises a plain
    error)."""
    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    text = str(error)
    return any(phrase in text for phrase in _NO_MEMORY)


def to_device(array: IntArray, device: torch.device) -> Tensor:
    """Move an array without making the CPU wait for what a GPU is still computing."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def fetch(values: Tensor) -> Callable[[], FloatArray]:
    """Start copying answers to main memory; call the result to wait for them.

    GPU work queued afterwards does not delay them.
    """
    if values.device.type != "cuda":
        return lambda: np.asarray(values.double().cpu().numpy())
    host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    host.copy_(values, non_blocking=True)
    cuda: Any = torch.cuda  # its classes are not typed
    arrival = cuda.Event()
    arrival.record()

    def wait() -> FloatArray:
        arrival.synchronize()
        return host.numpy().astype(np.float64)

    return wait


def overlapped(
    work: Callable[[Part], Result], parts: Iterable[Part], *, threads: int
) -> Iterator[Result]:
    """Yield the result of `work` on every part, in order.

    With several threads one reads its answers while another gives the GPU something to do, and the
    caller prepares the next part.
    """
    if threads == 1:
        yield from map(work, parts)
        return
    with collector_off():
        yield from prefetch(work, parts, by=threads)


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Disable the garbage collector while batches are in flight, and while a model is loaded.

    Lists of tokens trigger it, and it walks over all prompts while the GPU waits (measured: 15 % of
    a BERT's time on an H200). Importing makes little garbage and many objects to look through.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
