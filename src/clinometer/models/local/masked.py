"""Models that fill a slot: masked ones and XLNet.

A masked model, and XLNet, sees as many mask tokens in the slot as the word has tokens. A word of k
tokens is read from left to right: its first token at the first of k masks, the next one with the
first filled in and k - 1 masks left, and so on. The number of masks is part of the query, so each
word length has its own tree, and "her" (one mask) is not a prefix of "her|s" (two).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from clinometer.errors import ModelError
from clinometer.models.local.base import TransformerScorer
from clinometer.models.local.batches import Batch, overlapped, to_device
from clinometer.models.local.tiles import attend_in_tiles, whole_tiles
from clinometer.models.protocol import WordScores
from clinometer.models.tokens import Marker, SlotGroup, Trie, WordList, slot_groups
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

_CHUNK = 4_096
"""Prompts of one length that are scored together."""


class MaskedScorer(TransformerScorer):
    """Fill-in models: BERT, RoBERTa, ALBERT, DeBERTa, ELECTRA's generator, ModernBERT."""

    kind = "masked"
    auto_class = "AutoModelForMaskedLM"

    def prepare(self) -> None:
        if self.tokenizer.mask_token_id is None:
            raise ModelError(
                f"model {self.info.name!r} is a {self.kind} model, but its tokenizer has no mask "
                "token: use the tokenizer it was trained with, or --load kind=causal"
            )
        self.marker = Marker.of(self.tokenizer, self.tokenizer.mask_token)
        self.tiled = self.device.type == "cuda" and attend_in_tiles(self.model)

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        word_lengths = np.array([len(tokens) for tokens in words.sequences])
        lengths = np.unique(word_lengths).tolist()
        longest_word = lengths[-1]
        trees = [
            Trie.of([tokens for tokens in words.sequences if len(tokens) == length])
            for length in lengths
        ]
        # Trees come in order of length; their words are put back into the order of the list.
        by_length = np.argsort(word_lengths, kind="stable")
        columns = np.argsort(by_length)
        counts = None if words.counts is None else words.counts[by_length]

        def score(group: SlotGroup) -> tuple[IntArray, WordScores]:
            length = group.tokens.shape[1] + longest_word - 1
            self.check_length(length, prompts[group.members[0]])
            scores = self._score_group(group, prompts, trees, counts)
            log_probs = scores.log_probs[:, columns]
            return group.members, replace(scores, log_probs=log_probs)

        groups = slot_groups(self.tokenizer, prompts, self.marker, size=_CHUNK)
        parts = overlapped(score, groups, threads=self.threads)
        return WordScores.scattered(parts, len(prompts))

    def _score_group(
        self,
        group: SlotGroup,
        prompts: Sequence[Prompt],
        trees: Sequence[Trie],
        counts: FloatArray | None,
    ) -> WordScores:
        def read(
            tree: Trie,
            prefixes: IntArray,
            rows: IntArray,
            which: IntArray,
            wants: IntArray,
        ) -> FloatArray:
            depth = prefixes.shape[1]
            word_length = len(tree.prefix[-1])  # all words have as many tokens
            batch = Batch(
                tokens=group.filled(rows, places=word_length, prefixes=prefixes[which]),
                positions=group.positions[rows] + depth,
                wants=wants,
                which=which,
                unknown=word_length - depth,
            )
            values = self.ask(batch, self.forward)()
            self.check_values(values, prompts, group.members[rows])
            return values

        return self.walk(trees, len(group), read, counts)

    def forward(self, batch: Batch) -> Tensor:
        """Return log-probabilities of the wanted tokens at each row's position."""
        tokens = whole_tiles(batch.tokens) if self.tiled else batch.tokens
        return self.read(batch, input_ids=to_device(tokens, self.device))


class PermutationScorer(MaskedScorer):
    """XLNet: a permutation mask hides the slot, a target mapping reads it."""

    kind = "permutation"
    auto_class = "AutoModelForCausalLM"

    def prepare(self) -> None:
        super().prepare()
        # XLNet's closing <cls> is a separate segment, and its attention depends on segments.
        types = self.tokenizer("", return_token_type_ids=True)["token_type_ids"]
        n_closing = len(self.marker.closing)
        self.closing_types = list(types[len(types) - n_closing :])

    def forward(self, batch: Batch) -> Tensor:
        tokens = to_device(batch.tokens, self.device)
        n, length = tokens.shape
        first = to_device(batch.positions, self.device)[:, None]
        places = torch.arange(length, device=self.device)
        is_hidden = (places >= first) & (places < first + batch.unknown)
        is_target = places == first
        dtype = self.model.dtype
        types = torch.zeros_like(tokens)
        if self.closing_types:
            closing = torch.tensor(self.closing_types, device=self.device)
            types[:, -len(self.closing_types) :] = closing
        # The target is the only position that the model returns.
        at_target = replace(batch, positions=np.zeros_like(batch.positions))
        return self.read(
            at_target,
            input_ids=tokens,
            token_type_ids=types,
            perm_mask=is_hidden[:, None, :].expand(n, length, length).to(dtype),
            target_mapping=is_target[:, None, :].to(dtype),
            use_mems=False,
        )
