"""What the four kinds of transformers models share: what is read from a batch, and checks.

The projection to the vocabulary is a large part of a small model's work (a fifth for SmolLM2) and
all of its peak memory; we read one or a few positions of each row. A hook in front of the output
layer picks those positions, so anything a model does after its output layer (soft-capping, a bias,
a scale) still happens.
"""

from __future__ import annotations

import contextlib
import platform
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from clinometer.display.text import brief
from clinometer.errors import ModelError
from clinometer.models.local.batches import Batch, BatchSize, Forward, fetch, to_device
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo, WordScores
from clinometer.models.scoring.chain_rule import expand
from clinometer.models.scoring.word_scorer import WordScorer
from clinometer.models.tokens import Trie
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
from clinometer.topics import Prompt

Result = TypeVar("Result")

SILENT = torch.inf
"""Marker instead of a log-probability (which is never above 0): all logits were equal."""

CPU_BATCH_TOKENS = 1_024
"""Tokens in a batch on a CPU, which works best within its caches."""

Read = Callable[[Trie, IntArray, IntArray, IntArray, IntArray], FloatArray]
"""From a tree, the tokens of the queried nodes [Q, depth], the prompt and the query of each row
[n], and the tokens wanted by each query [Q, W]: log-probabilities [n, W]."""


def _answers_of_tree(tree: Trie, queries: BoolArray, read: Read) -> FloatArray:
    """Return the answers [N, P] to queries of one depth about one tree, read as the rows of one
    table."""
    answers = np.full(queries.shape, -np.inf)
    nodes = np.flatnonzero(queries.any(axis=1))
    if not len(nodes):
        return answers
    which, prompts = np.nonzero(queries[nodes])
    prefixes = np.array([tree.prefix[node] for node in nodes], dtype=np.int64)
    values = read(tree, prefixes, prompts, which, tree.wanted(nodes))
    cuts = np.searchsorted(which, np.arange(1, len(nodes)))
    prompts_of_node = np.split(prompts, cuts)
    values_of_node = np.split(values, cuts)
    for node, columns, table in zip(
        nodes, prompts_of_node, values_of_node, strict=True
    ):
        children = list(tree.children[node])
        places: Any = np.ix_(np.array(children), columns)
        if len(columns) == queries.shape[1]:
            places = children  # whole rows are copied several times as fast
        answers[places] = table[:, : len(children)].T
    return answers


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
    products_enabled = products.enabled
    attention_enabled = attention.cudnn_sdp_enabled()
    is_arm = platform.machine() in {"aarch64", "arm64"}
    products.enabled = products_enabled and not is_arm
    attention.enable_cudnn_sdp(attention_enabled and planned)
    try:
        yield
    finally:
        products.enabled = products_enabled
        attention.enable_cudnn_sdp(attention_enabled)


def read_log_probs(logits: Tensor, wanted: Tensor) -> Tensor:
    """Return log-probabilities [N, W] of the wanted tokens, in float32 for any dtype of the model.

    Where a row's logits are one and the same number over the whole vocabulary the answer is SILENT,
    which `check_values` refuses.
    """
    lowest, highest = torch.aminmax(logits, dim=-1, keepdim=True)
    values = logits.float()
    if values.is_cuda:  # one kernel over the vocabulary in place of five
        log_probs = torch.gather(torch.log_softmax(values, dim=-1), 1, wanted)
    else:  # there that kernel adds one by one, and is off by 1e-4 over 262,144 tokens
        total = torch.logsumexp(values, dim=-1, keepdim=True)
        log_probs = torch.gather(values, 1, wanted) - total
    return log_probs.masked_fill(lowest == highest, SILENT)


class TransformerScorer(WordScorer):
    """A transformers model with its tokenizer."""

    kind: ClassVar[str]

    auto_class: ClassVar[str]
    """The transformers class that loads this kind."""

    gpu_batch_tokens: ClassVar[int] = 65_536
    """Tokens in a batch that fill a GPU."""

    threads: int
    """Threads that take turns, so that a GPU never waits for preparation or collection."""

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
        self._thread: ThreadPoolExecutor | None = None
        self.threads = 1
        default = CPU_BATCH_TOKENS
        if self.device.type == "cuda":
            self._thread = ThreadPoolExecutor(1, "model")
            self.threads = 3
            default = self.gpu_batch_tokens
        self.batch_size = BatchSize(batch_tokens or default)
        self.prepare()

    def prepare(self) -> None:
        """Refuse a tokenizer that lacks what this kind needs; called once, after loading."""

    def infer(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`, which runs the model, while nothing else runs it.

        The hook that picks positions serves one caller at a time. On a GPU `work` is always done in
        the same thread, because cuDNN plans a shape again for each thread.
        """

        def inference() -> Result:
            with torch.inference_mode():
                return work()

        if self._thread is not None:
            return self._thread.submit(inference).result()
        with self._turn:
            return inference()

    def run(self, batch: Batch, forward: Forward, *, extra: int = 0) -> Tensor:
        """Return the answers for all rows in their order, computed in batches that fit.

        They stay on the device, so that one batch is prepared while another is computed. `extra` is
        what a row costs beside its own tokens (the encoder's side), in tokens.
        """
        rows, length = batch.tokens.shape
        parts = self.batch_size.split(
            np.arange(rows),
            length + extra,
            lambda members: forward(batch.take(members)),
        )
        return torch.cat([answers for _, answers in parts])

    def ask(
        self, batch: Batch, forward: Forward, *, extra: int = 0
    ) -> Callable[[], FloatArray]:
        """Begin to answer; call the result to wait for the log-probabilities [n, W]."""
        return self.infer(lambda: fetch(self.run(batch, forward, extra=extra)))

    def project(
        self, rows: Tensor, positions: Tensor, *, packed: bool = False, **inputs: Any
    ) -> Tensor:
        """Return the logits [N, vocabulary] at (row, position) pairs.

        `packed` says that these are packs, of which few shapes come: kernels may be planned.
        """
        picked = False

        def pick(_module: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            nonlocal picked
            picked = True
            states = args[0][rows, positions]
            return (states.unsqueeze(0), *args[1:])

        output_layer = self.model.get_output_embeddings()
        hook: Any = contextlib.nullcontext()
        if output_layer is not None:
            hook = output_layer.register_forward_pre_hook(pick)
        with hook, light_kernels(planned=packed):
            logits = self.model(**inputs).logits
        scored: Tensor = logits[0] if picked else logits[rows, positions]
        return scored

    def read(self, batch: Batch, **inputs: Any) -> Tensor:
        """Return log-probabilities of the batch's wanted tokens, at its positions of what is
        read."""
        rows = torch.arange(len(batch.tokens), device=self.device)
        logits = self.project(rows, to_device(batch.positions, self.device), **inputs)
        wants = to_device(batch.wants, self.device)
        which = to_device(batch.which, self.device)
        return read_log_probs(logits, wants[which])

    def walk(
        self,
        trees: Sequence[Trie],
        n_prompts: int,
        read: Read,
        counts: FloatArray | None,
    ) -> WordScores:
        """Return the scores of the words of some trees, each level of a tree read at once."""

        def ask(queries: Sequence[BoolArray]) -> list[FloatArray]:
            pairs = zip(trees, queries, strict=True)
            return [_answers_of_tree(tree, nodes, read) for tree, nodes in pairs]

        tolerance = self.options.effective_tolerance
        return expand(trees, n_prompts, ask, tolerance=tolerance, counts=counts)

    def check_values(
        self, values: FloatArray, prompts: Sequence[Prompt], rows: IntArray
    ) -> None:
        """Refuse values that no language model would return, and name the prompt."""
        is_valid = np.isfinite(values) & (values < 1.0)
        if is_valid.all():
            return
        row = int(np.flatnonzero(~is_valid.all(axis=1))[0])
        before = brief(prompts[rows[row]].before)
        if (values[row] >= 1.0).any():
            raise ModelError(
                f"{self.info.name} gave every token of its vocabulary the same value at the "
                f"prompt {before!r}: check its weights"
            )
        raise ModelError(
            f"{self.info.name} returned a number that is not finite at the prompt "
            f"{before!r}: try --load dtype=float32, or check its weights"
        )


def _length_limit(model: Any) -> int | None:
    """Return the maximum context length in tokens; None if positions are relative and unlimited."""
    limit = getattr(model.config, "max_position_embeddings", None)
    if limit is None or limit <= 0:
        return None
    for module in model.modules():
        table = getattr(module, "position_embeddings", None)
        if isinstance(table, torch.nn.Embedding) and table.padding_idx is not None:
            # RoBERTa and its relatives start positions after the padding token's id.
            return int(table.num_embeddings - table.padding_idx - 1)
    return int(limit)
