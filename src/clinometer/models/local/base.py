"""What the four kinds of transformers models share: batches, what is read from them, checks.

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
import platform
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from clinometer.display.text import brief
from clinometer.errors import ModelError
from clinometer.models.background import prefetch
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo, WordScores
from clinometer.models.scoring.chain_rule import expand
from clinometer.models.scoring.word_scorer import WordScorer
from clinometer.models.tokens import Trie
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
from clinometer.topics import Prompt

Part = TypeVar("Part")
Result = TypeVar("Result")
#: What torch, and oneDNN on x86-64, say when an allocation fails for which they have no class.
_NO_MEMORY = (
    "not enough memory",
    "can't allocate memory",
    "out of memory",
    "could not create a primitive",
)
log = logging.getLogger("clinometer.models")


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


#: Runs one batch and returns log-probabilities [n, W], on the device that computed them.
Forward = Callable[[Batch], Tensor]


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
            cause = error.with_traceback(
                None
            )  # which holds on to the tensors of the batch
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if self.tokens < tried:  # another thread was first
            return None
        if tried < 2:
            raise ModelError(
                "out of memory with a single row: use a smaller dtype or a larger device"
            ) from cause
        self.tokens = tried // 2
        log.warning("out of memory: batches of %d tokens from now on", self.tokens)
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
    return isinstance(error, RuntimeError) and any(
        phrase in text for phrase in _NO_MEMORY
    )


#: From a tree, the tokens of the queried nodes [Q, depth], the prompt and the query of each row
#: [n], and the tokens wanted by each query [Q, W]: log-probabilities [n, W].
Read = Callable[[Trie, IntArray, IntArray, IntArray, IntArray], FloatArray]


def _answered(tree: Trie, asked: BoolArray, read: Read) -> FloatArray:
    """Answers [N, P] to queries of one depth about one tree, read as the rows of one table."""
    answer = np.full(asked.shape, -np.inf)
    nodes = np.flatnonzero(asked.any(axis=1))
    if not len(nodes):
        return answer
    which, prompts = np.nonzero(asked[nodes])
    known = np.array([tree.prefix[n] for n in nodes], dtype=np.int64)
    values = read(tree, known, prompts, which, tree.wanted(nodes))
    cuts = np.searchsorted(which, np.arange(1, len(nodes)))
    parts = zip(nodes, np.split(prompts, cuts), np.split(values, cuts), strict=True)
    for node, who, found in parts:
        kids = tree.children[node]
        # Whole rows are copied several times as fast as chosen places.
        places: Any = (
            np.ix_(np.asarray(kids), who) if len(who) < asked.shape[1] else list(kids)
        )
        answer[places] = found[:, : len(kids)].T
    return answer


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


def read_log_probs(logits: Tensor, wanted: Tensor) -> Tensor:
    """Log-probabilities [N, W] of the wanted tokens, in float32 for any dtype of the model.

    Where a row's logits are one and the same number over the whole vocabulary the answer is SILENT,
    which `check_values` refuses.
    """
    least, most = torch.aminmax(logits, dim=-1, keepdim=True)
    values, total = logits.float(), torch.zeros((), device=logits.device)
    if values.is_cuda:  # one kernel over the vocabulary in place of five
        values = torch.log_softmax(values, dim=-1)
    else:  # there that kernel adds one by one, and is off by 1e-4 over 262,144 tokens
        total = torch.logsumexp(values, dim=-1, keepdim=True)
    found = torch.gather(values, 1, wanted) - total
    return found.masked_fill(least == most, SILENT)


class TransformerScorer(WordScorer):
    """A transformers model with its tokenizer."""

    kind: ClassVar[str]
    #: The transformers class that loads this kind.
    auto_class: ClassVar[str]
    #: Tokens in a batch that fill a GPU; a CPU works best within its caches.
    gpu_batch_tokens: ClassVar[int] = 65_536

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        info: ModelInfo,
        *,
        options: WordOptions | None = None,
        batch_tokens: int | None = None,
        chat: str | None = None,
    ) -> None:
        super().__init__(
            tokenizer,
            info,
            options=options,
            chat=chat,
            length_limit=_length_limit(model),
        )
        self.model = model.eval()
        self.device = next(model.parameters()).device
        self._turn = threading.Lock()
        self._thread = (
            ThreadPoolExecutor(1, "model") if self.device.type == "cuda" else None
        )
        #: Threads that take turns, so that a GPU never waits for preparation or collection.
        self.threads = 3 if self.device.type == "cuda" else 1
        default = self.gpu_batch_tokens if self.device.type == "cuda" else 1_024
        self.batch_size = BatchSize(batch_tokens or default)
        self.prepare()

    def prepare(self) -> None:
        """Refuse a tokenizer that lacks what this kind needs; called once, after loading."""

    def alone(self, work: Callable[[], Result]) -> Result:
        """What `work` returns, which runs the model: one at a time, since the hook that picks
        positions serves one. On a GPU always in the same thread, because cuDNN plans a shape again
        for each."""

        def inferred() -> Result:
            with torch.inference_mode():
                return work()

        if self._thread is not None:
            return self._thread.submit(inferred).result()
        with self._turn:
            return inferred()

    def run(self, batch: Batch, forward: Forward, *, extra: int = 0) -> Tensor:
        """Answers for all rows in their order, in batches that fit.

        They stay on the device, so that one batch is prepared while another is computed. `extra` is
        what a row costs beside its own tokens (the encoder's side), in tokens.
        """
        rows, length = batch.tokens.shape
        parts = self.batch_size.over(
            np.arange(rows), length + extra, lambda some: forward(batch.take(some))
        )
        return torch.cat([part for _, part in parts])

    def ask(
        self, batch: Batch, forward: Forward, *, extra: int = 0
    ) -> Callable[[], FloatArray]:
        """Begin to answer; call the result to wait for the log-probabilities [n, W]."""
        return self.alone(lambda: fetch(self.run(batch, forward, extra=extra)))

    def project(
        self, rows: Tensor, positions: Tensor, *, packed: bool = False, **inputs: Any
    ) -> Tensor:
        """Logits [N, vocabulary] at (row, position) pairs. `packed` says that these are packs, of
        which few shapes come: kernels may be planned."""
        picked = False

        def pick(_module: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            nonlocal picked
            picked = True
            return (args[0][rows, positions].unsqueeze(0), *args[1:])

        head = self.model.get_output_embeddings()
        hook = (
            contextlib.nullcontext()
            if head is None
            else head.register_forward_pre_hook(pick)
        )
        with hook, light_kernels(planned=packed):
            logits = self.model(**inputs).logits
        scored: Tensor = logits[0] if picked else logits[rows, positions]
        return scored

    def read(self, batch: Batch, **inputs: Any) -> Tensor:
        """Log-probabilities of the batch's wanted tokens, at its positions of what is read."""
        rows = torch.arange(len(batch.tokens), device=self.device)
        logits = self.project(rows, to_device(batch.positions, self.device), **inputs)
        wanted = to_device(batch.wants, self.device)[
            to_device(batch.which, self.device)
        ]
        return read_log_probs(logits, wanted)

    def walk(
        self,
        trees: Sequence[Trie],
        n_prompts: int,
        read: Read,
        counts: FloatArray | None,
    ) -> WordScores:
        """Scores of the words of some trees, each level of a tree read at once."""

        def ask(asked: Sequence[BoolArray]) -> list[FloatArray]:
            return [
                _answered(tree, nodes, read)
                for tree, nodes in zip(trees, asked, strict=True)
            ]

        tolerance = self.options.effective_tolerance
        return expand(trees, n_prompts, ask, tolerance=tolerance, counts=counts)

    def check_values(
        self, values: FloatArray, prompts: Sequence[Prompt], asked: IntArray
    ) -> None:
        """Refuse values that no language model would return, and name the prompt."""
        fine = np.isfinite(values) & (values < 1.0)
        if not fine.all():
            row = int(np.flatnonzero(~fine.all(axis=1))[0])
            prompt = prompts[asked[row]]
            if (values[row] >= 1.0).any():
                raise ModelError(
                    f"{self.info.name} gave every token of its vocabulary the same value at the "
                    f"prompt {brief(prompt.before)!r}: check its weights"
                )
            raise ModelError(
                f"{self.info.name} returned a number that is not finite at the prompt "
                f"{brief(prompt.before)!r}: try --load dtype=float32, or check its weights"
            )


def _length_limit(model: Any) -> int | None:
    """Maximum context length in tokens; None if positions are relative and unlimited."""
    limit = getattr(model.config, "max_position_embeddings", None)
    if limit is None or limit <= 0:
        return None
    for module in model.modules():
        table = getattr(module, "position_embeddings", None)
        if isinstance(table, torch.nn.Embedding) and table.padding_idx is not None:
            # RoBERTa and its relatives start positions after the padding token's id.
            return int(table.num_embeddings - table.padding_idx - 1)
    return int(limit)
