"""What the four kinds of transformers models share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

from clinometer.errors import ModelError
from clinometer.models.local.batches import (
    Batch,
    BatchSize,
    SlotProjection,
    read_log_probs,
    to_device,
)
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo
from clinometer.models.scoring.word_scorer import WordScorer, shorten
from clinometer.models.tokens import tokens_that_end_a_word
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

Result = TypeVar("Result")


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
            tokenizer, info, options=options, chat=chat, length_limit=_length_limit(model)
        )
        self.model = model.eval()
        self.device = next(model.parameters()).device
        self.project = SlotProjection(model)
        self._turn = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "model") if self.device.type == "cuda" else None
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

    def read(self, batch: Batch, **inputs: Any) -> torch.Tensor:
        """Log-probabilities of the batch's wanted tokens, at its positions of what is read."""
        rows = torch.arange(len(batch.tokens), device=self.device)
        logits, _ = self.project(rows, to_device(batch.positions, self.device), **inputs)
        wanted = to_device(batch.wants, self.device)[to_device(batch.which, self.device)]
        return read_log_probs(logits, wanted, self.boundary)

    @cached_property
    def boundary(self) -> torch.Tensor | None:
        """Ids of the tokens that end a word before them; only looked up when they are needed."""
        if not self.options.end_of_word:
            return None
        return torch.tensor(tokens_that_end_a_word(self.tokenizer), device=self.device)

    def check_values(self, values: FloatArray, prompts: Sequence[Prompt], asked: IntArray) -> None:
        """Refuse values that no language model would return, and name the prompt."""
        fine = np.isfinite(values) & (values < 1.0)
        if not fine.all():
            row = int(np.flatnonzero(~fine.all(axis=1))[0])
            prompt = prompts[asked[row]]
            if (values[row] >= 1.0).any():
                raise ModelError(
                    f"{self.info.name} gave every token of its vocabulary the same value at the "
                    f"prompt {shorten(prompt.before)!r}: check its weights"
                )
            raise ModelError(
                f"{self.info.name} returned a number that is not finite at the prompt "
                f"{shorten(prompt.before)!r}: try --load dtype=float32, or check its weights"
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
