"""Sequence-to-sequence models: the encoder reads the text with a gap, the decoder fills it.

T5-like models mark the gap with a sentinel, and the decoder writes the sentinel and then the word.
BART-like models mark it with a mask, and the decoder writes the whole text again, so the word is
read after the text before the slot. The tokenizer shows which of the two a model does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from clinometer.errors import ModelError
from clinometer.models.local.base import (
    Batch,
    Forward,
    TransformerScorer,
    light_kernels,
    to_device,
)
from clinometer.models.protocol import WordScores
from clinometer.models.tokens import Marker, SlotGroup, Trie, WordList, encode_all, slot_groups
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

SENTINEL = "<extra_id_0>"

#: Prompts whose encoder states are in memory at a time.
_CHUNK = {"cpu": 2_048, "cuda": 16_384}


class Seq2SeqScorer(TransformerScorer):
    """Encoder-decoder models: T5, FLAN-T5, BART, Pegasus."""

    kind, auto_class = "seq2seq", "AutoModelForSeq2SeqLM"

    def prepare(self) -> None:
        known = self.tokenizer.get_vocab()
        self.has_sentinel = SENTINEL in known
        mask = self.tokenizer.mask_token
        if not self.has_sentinel and mask is None:
            raise ModelError(
                f"model {self.info.name!r}: expected a seq2seq model trained to fill a gap, found "
                f"neither the sentinel {SENTINEL} nor a mask token in its tokenizer"
            )
        self.marker = Marker.of(self.tokenizer, SENTINEL if self.has_sentinel else mask)
        self.start = self._decoder_start()

    def _decoder_start(self) -> int:
        places = (self.model.config, getattr(self.model, "generation_config", None))
        for place in places:
            if (start := getattr(place, "decoder_start_token_id", None)) is not None:
                return int(start)
        raise ModelError(
            f"model {self.info.name!r}: expected decoder_start_token_id in its configuration, "
            "found none"
        )

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        trie = Trie.of(words.sequences)
        counts = words.counts
        size = _CHUNK.get(self.device.type, _CHUNK["cpu"])
        groups = slot_groups(self.tokenizer, prompts, self.marker, size=size)
        parts = (
            (g.members, self._score_group(g, [prompts[i] for i in g.members], trie, counts))
            for g in groups
        )
        return WordScores.scattered(parts, len(prompts))

    def _score_group(
        self, group: SlotGroup, prompts: Sequence[Prompt], trie: Trie, counts: FloatArray | None
    ) -> WordScores:
        """Scores of the group's own prompts."""
        self.check_length(group.tokens.shape[1], prompts[0])
        heads = self._heads(prompts)
        decode = self._decoder(self._encode(group.tokens))
        sizes = np.array([len(h) for h in heads])

        def read(
            _tree: Trie, known: IntArray, who: IntArray, which: IntArray, wants: IntArray
        ) -> FloatArray:
            values = np.empty((len(who), wants.shape[1]))
            pending: list[tuple[IntArray, Callable[[], FloatArray]]] = []
            for size in np.unique(sizes[who]):
                rows = np.flatnonzero(sizes[who] == size)
                head = np.array([heads[i] for i in who[rows]], dtype=np.int64)
                batch = Batch(
                    tokens=np.concatenate([head, known[which[rows]]], axis=1),
                    positions=np.full(len(rows), size + known.shape[1] - 1),
                    wants=wants,
                    which=which[rows],
                    source=who[rows],
                )
                pending.append((rows, self.ask(batch, decode, extra=1)))
            for rows, found in pending:
                values[rows] = found()
            self.check_values(values, prompts, who)
            return values

        return self.walk([trie], len(prompts), read, counts)

    def _heads(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """What the decoder has written before the word."""
        if self.has_sentinel:
            return [[self.start, self.marker.id]] * len(prompts)
        before = encode_all(self.tokenizer, [p.before for p in prompts], special=True)
        closing = len(self.marker.closing)
        heads = [[self.start, *ids[: len(ids) - closing]] for ids in before]
        longest = max(range(len(heads)), key=lambda i: len(heads[i]))
        self.check_length(len(heads[longest]), prompts[longest])
        return heads

    def _encode(self, tokens: IntArray) -> Tensor:
        """Encoder states [n, S, H], computed once for all levels of the word tree."""
        encoder = self.model.get_encoder()

        def forward(batch: Batch) -> Tensor:
            with light_kernels():
                states: Tensor = encoder(
                    input_ids=to_device(batch.tokens, self.device)
                ).last_hidden_state
                return states

        nothing = np.zeros(len(tokens), dtype=np.int64)
        batch = Batch(tokens, nothing, nothing[:1, None], nothing)
        return self.alone(lambda: self.run(batch, forward))

    def _decoder(self, states: Tensor) -> Forward:
        """A forward pass of the decoder over rows of these states."""

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
