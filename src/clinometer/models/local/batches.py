"""Rows for a model in batches of equal length, and the positions that are read from them.

Rows of one length need no padding: no padding side, no attention mask and no wasted work, and the
batch size moves a number only by the rounding of the model's precision. Running out of memory
halves the batch.

The projection to the vocabulary is a large part of a small model's work (a fifth for SmolLM2) and
all of its peak memory; we read one or a few positions of each row. A hook in front of the output
layer picks those positions, so anything a model does after its output layer (soft-capping, a bias,
a scale) still happens.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import os
import platform
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
from clinometer.models.tokens import END_OF_WORD, Tokens, Trie
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.storage.atomic import cache_folder

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


# --- Chosen positions -----------------------------------------------------------------------------


#: Marker instead of a log-probability (which is never above 0): all logits were equal.
SILENT = torch.inf


class SlotProjection:
    """Calls `model` and returns logits [N, vocabulary] at (row, position) pairs."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.head = model.get_output_embeddings()
        self.compiled = self.refused = False
        self.wanted = True

    def compile_layers(self, **how: Any) -> None:
        """Have the layers compiled when the first batch comes that asks for it. They share their
        code, so that one graph serves them all, and PyTorch keeps it for the next process: in our
        cache, since its own folder in /tmp may be another user's, and the code there is run."""
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "compiled"))
        stacks = [m for m in self.model.modules() if isinstance(m, torch.nn.ModuleList)]
        for layer in max(stacks, key=len, default=()):
            layer.compile(dynamic=True, **how)
            self.compiled = True

    def __call__(
        self, rows: Tensor, positions: Tensor, *, packed: bool = False, **inputs: Any
    ) -> tuple[Tensor, Any]:
        """Logits at the given positions, and the model's full output (for its cache). `packed`
        says that these are packs, of which few shapes come: kernels may be planned. Compiled layers
        are used for packs without a cache, which would be another graph for each layer."""
        picked = False

        def pick(_module: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            nonlocal picked
            picked = True
            return (args[0][rows, positions].unsqueeze(0), *args[1:])

        hook = self.head.register_forward_pre_hook(pick) if self.head is not None else None
        try:
            with light_kernels(planned=packed):
                output = self._run(inputs, compiled=packed and not inputs["use_cache"])
        finally:
            if hook is not None:
                hook.remove()
        logits = output.logits
        return (logits[0] if picked else logits[rows, positions]), output

    def _run(self, inputs: dict[str, Any], *, compiled: bool) -> Any:
        if not self.compiled:
            return self.model(**inputs)
        if compiled and self.wanted and not self.refused:
            try:
                return self.model(**inputs)
            except Exception as error:  # no compiler on this machine, or a layer it cannot take
                if out_of_memory(error):
                    raise
                told = " ".join(str(error).split())[:160]
                _log.warning("layers are not compiled: %s: %s", type(error).__name__, told)
                self.refused = True
        with torch.compiler.set_stance("force_eager"):
            return self.model(**inputs)


@contextlib.contextmanager
def light_kernels(*, planned: bool = False) -> Iterator[None]:
    """Compute with kernels that need no planning.

    On ARM processors, multiply matrices without oneDNN. There it plans each product again, 0.7 ms
    each (measured on an aarch64 server): forty times the work of a small layer, and a few per cent
    of a large one.

    On GPUs, attend without cuDNN, unless it may be `planned`: few shapes come. It plans each once,
    40 ms and up to a second for the first (measured on an H200), and is at most 5 % faster then.
    """
    products: Any = torch.backends.mkldnn
    attention: Any = torch.backends.cuda
    arm = platform.machine() in {"aarch64", "arm64"}
    before = products.enabled, attention.cudnn_sdp_enabled()
    products.enabled = before[0] and not arm
    attention.enable_cudnn_sdp(before[1] and planned)
    try:
        yield
    finally:
        products.enabled = before[0]
        attention.enable_cudnn_sdp(before[1])


def read_log_probs(logits: Tensor, wanted: Tensor, boundary: Tensor | None = None) -> Tensor:
    """Log-probabilities [N, W] of the wanted tokens, in float32 for any dtype of the model.

    END_OF_WORD among the wanted tokens reads the joint probability of the `boundary` tokens. Where
    a row's logits are one and the same number over the whole vocabulary the answer is SILENT, which
    `check_values` refuses.
    """
    least, most = torch.aminmax(logits, dim=-1, keepdim=True)
    values, total = logits.float(), torch.zeros((), device=logits.device)
    if values.is_cuda:  # one kernel over the vocabulary in place of five
        values = torch.log_softmax(values, dim=-1)
    else:  # there that kernel adds one by one, and is off by 1e-4 over 262,144 tokens
        total = torch.logsumexp(values, dim=-1, keepdim=True)
    found = torch.gather(values, 1, wanted.clamp(min=0)) - total
    if boundary is not None:
        some = torch.logsumexp(values[:, boundary], dim=-1, keepdim=True) - total
        found = torch.where(wanted == END_OF_WORD, some, found)
    # Checking this on a GPU would make the CPU wait for the result.
    elif wanted.device.type == "cpu" and bool((wanted == END_OF_WORD).any()):
        raise ValueError("END_OF_WORD needs a reader with boundary tokens")
    return found.masked_fill(least == most, SILENT)
