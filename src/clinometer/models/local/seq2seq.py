"""Sequence-to-sequence models: the encoder reads the text with a gap, the decoder fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from clinometer.errors import ModelError
from clinometer.models.local.base import TransformerScorer, light_kernels
from clinometer.models.local.batches import Batch, Forward, to_device
from clinometer.models.protocol import WordScores
from clinometer.models.tokens import (
    Marker,
    SlotGroup,
    Trie,
    WordList,
    encode_all,
    slot_groups,
)
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

SENTINEL = "<extra_id_0>"
"""The token with which T5 and its relatives mark a gap."""

_ENCODED = {"cpu": 2_048, "cuda": 16_384}
"""Prompts whose encoder states are in memory at a time."""


class Seq2SeqScorer(TransformerScorer):
    """Encoder-decoder models: T5, FLAN-T5, BART, Pegasus."""

    kind = "seq2seq"
    auto_class = "AutoModelForSeq2SeqLM"

    def prepare(self) -> None:
        self.has_sentinel = SENTINEL in self.tokenizer.get_vocab()
        mask = self.tokenizer.mask_token
        if not self.has_sentinel and mask is None:
            raise ModelError(
                f"model {self.info.name!r}: expected a seq2seq model trained to fill a gap, found "
                f"neither the sentinel {SENTINEL} nor a mask token in its tokenizer"
            )
        self.marker = Marker.of(self.tokenizer, SENTINEL if self.has_sentinel else mask)
        self.start = self._decoder_start()

    def _decoder_start(self) -> int:
        generation = getattr(self.model, "generation_config", None)
        for config in (self.model.config, generation):
            start = getattr(config, "decoder_start_token_id", None)
            if start is not None:
                return int(start)
        raise ModelError(
            f"model {self.info.name!r}: expected decoder_start_token_id in its configuration, "
            "found none"
        )

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        tree = Trie.of(words.sequences)
        size = _ENCODED.get(self.device.type, _ENCODED["cpu"])
        groups = slot_groups(self.tokenizer, prompts, self.marker, size=size)

        def parts() -> Iterator[tuple[IntArray, WordScores]]:
            for group in groups:
                members = [prompts[i] for i in group.members]
                scores = self._score_group(group, members, tree, words.counts)
                yield group.members, scores

        return WordScores.scattered(parts(), len(prompts))

    def _score_group(
        self,
        group: SlotGroup,
        prompts: Sequence[Prompt],
        tree: Trie,
        counts: FloatArray | None,
    ) -> WordScores:
        """Return the scores of the group's own prompts."""
        self.check_length(group.tokens.shape[1], prompts[0])
        heads = self._heads(prompts)
        decode = self._decoder(self._encode(group.tokens))
        head_lengths = np.array([len(head) for head in heads])

        def read(
            _tree: Trie,
            prefixes: IntArray,
            rows: IntArray,
            which: IntArray,
            wants: IntArray,
        ) -> FloatArray:
            depth = prefixes.shape[1]
            pending: list[tuple[IntArray, Callable[[], FloatArray]]] = []
            for length in np.unique(head_lengths[rows]):
                members = np.flatnonzero(head_lengths[rows] == length)
                head = np.array([heads[i] for i in rows[members]], dtype=np.int64)
                batch = Batch(
                    tokens=np.concatenate([head, prefixes[which[members]]], axis=1),
                    positions=np.full(len(members), length + depth - 1),
                    wants=wants,
                    which=which[members],
                    source=rows[members],
                )
                pending.append((members, self.ask(batch, decode, extra=1)))
            values = np.empty((len(rows), wants.shape[1]))
            for members, wait in pending:
                values[members] = wait()
            self.check_values(values, prompts, rows)
            return values

        return self.walk([tree], len(prompts), read, counts)

    def _heads(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return what the decoder has written before the word."""
        if self.has_sentinel:
            return [[self.start, self.marker.id] for _ in prompts]
        texts = [prompt.before for prompt in prompts]
        n_closing = len(self.marker.closing)
        heads = [
            [self.start, *token_ids[: len(token_ids) - n_closing]]
            for token_ids in encode_all(self.tokenizer, texts, special=True)
        ]
        longest = max(range(len(heads)), key=lambda i: len(heads[i]))
        self.check_length(len(heads[longest]), prompts[longest])
        return heads

    def _encode(self, tokens: IntArray) -> Tensor:
        """Return encoder states [n, S, H], computed once for all levels of the word tree."""
        encoder = self.model.get_encoder()

        def forward(batch: Batch) -> Tensor:
            with light_kernels():
                output = encoder(input_ids=to_device(batch.tokens, self.device))
            states: Tensor = output.last_hidden_state
            return states

        # Nothing is read from these rows: they have the positions and sets of a batch all the same.
        zeros = np.zeros(len(tokens), dtype=np.int64)
        batch = Batch(tokens, positions=zeros, wants=zeros[:1, None], which=zeros)
        return self.infer(lambda: self.run(batch, forward))

    def _decoder(self, states: Tensor) -> Forward:
        """Return a forward pass of the decoder over rows of these states."""

        def forward(batch: Batch) -> Tensor:
            if batch.source is None:
                raise ValueError("a decoder's rows need their source")
            source = states[to_device(batch.source, self.device)]
            return self.read(
                batch,
                encoder_outputs=BaseModelOutput(last_hidden_state=source),
                decoder_input_ids=to_device(batch.tokens, self.device),
                use_cache=False,
            )

        return forward
