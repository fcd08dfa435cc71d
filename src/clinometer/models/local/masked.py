"""Masked models, and XLNet: as many mask tokens in the slot as the word has tokens.

A word of k tokens is read from left to right: its first token at the first of k masks, the next one
with the first filled in and k - 1 masks left, and so on. The number of masks is part of the query,
so each word length has its own tree, and "her" (one mask) is not a prefix of "her|s" (two).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from clinometer.errors import ModelError
from clinometer.models.local.base import TransformerScorer
from clinometer.models.local.batches import Batch, answer_queries, fetch, overlapped, run, to_device
from clinometer.models.local.tiles import attend_in_tiles, whole_tiles
from clinometer.models.protocol import WordScores
from clinometer.models.scoring.chain_rule import WordQuery, expand, scattered
from clinometer.models.scoring.word_scorer import ChosenPrompts
from clinometer.models.tokens.slot_prompts import Marker, SlotGroup, slot_groups
from clinometer.models.tokens.word_tokens import Trie, WordList
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

#: Prompts of one length that are scored together.
_CHUNK = 4_096


class MaskedScorer(TransformerScorer):
    """Fill-in models: BERT, RoBERTa, ALBERT, DeBERTa, ELECTRA's generator, ModernBERT."""

    kind, auto_class = "masked", "AutoModelForMaskedLM"

    def prepare(self) -> None:
        if self.tokenizer.mask_token_id is None:
            raise ModelError(
                f"model {self.info.name!r} is a {self.kind} model, but its tokenizer has no mask "
                "token: use the tokenizer it was trained with, or --kind causal"
            )
        self.marker = Marker.of(self.tokenizer, self.tokenizer.mask_token)
        self.tiled = self.device.type == "cuda" and attend_in_tiles(self.model)

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        lengths = sorted({len(s) for s in words.sequences})
        columns = [[i for i, s in enumerate(words.sequences) if len(s) == k] for k in lengths]
        trees = [Trie.of([words.sequences[i] for i in some]) for some in columns]
        by_length = np.concatenate([np.array(c, dtype=np.intp) for c in columns])
        order = np.argsort(by_length)
        counts = None if words.counts is None else words.counts[by_length]

        def score(group: SlotGroup) -> tuple[IntArray, WordScores]:
            self.check_length(group.tokens.shape[1] + lengths[-1] - 1, prompts[group.members[0]])
            found = self._score_group(group, prompts, trees, counts)
            return group.members, replace(found, log_probs=found.log_probs[:, order])

        groups = slot_groups(self.tokenizer, prompts, self.marker, size=_CHUNK)
        return scattered(overlapped(score, groups, threads=self.threads), len(prompts))

    def _score_group(
        self,
        group: SlotGroup,
        prompts: Sequence[Prompt],
        trees: Sequence[Trie],
        counts: FloatArray | None,
    ) -> WordScores:
        def ask(queries: Sequence[WordQuery]) -> list[FloatArray]:
            answers: list[FloatArray] = [np.empty((0, 0))] * len(queries)
            for k, tree in enumerate(trees):
                numbers = [n for n, q in enumerate(queries) if q.tree == k]
                tables = self._follow(group, tree, [queries[n] for n in numbers])
                for n, table in zip(numbers, tables, strict=True):
                    members = group.members[queries[n].prompts]
                    self.check_values(table, ChosenPrompts(prompts, members))
                    answers[n] = table
            return answers

        tolerance = self.options.effective_tolerance
        return expand(trees, len(group), ask, tolerance=tolerance, counts=counts)

    def _follow(
        self, group: SlotGroup, tree: Trie, queries: Sequence[WordQuery]
    ) -> list[FloatArray]:
        """Answers to queries of one depth about one tree."""
        places = max(len(p) for p in tree.prefix)

        def read(known: IntArray, rows: IntArray, which: IntArray, wants: IntArray) -> FloatArray:
            depth = known.shape[1]
            batch = Batch(
                tokens=group.filled(rows, places=places, known=known[which]),
                positions=group.positions[rows] + depth,
                wants=wants,
                which=which,
                unknown=places - depth,
            )
            return self.alone(lambda: fetch(run(batch, self.forward, self.batch_size)))()

        return answer_queries(tree, queries, read)

    def forward(self, batch: Batch) -> Tensor:
        """Log-probabilities of the wanted tokens at each row's position."""
        tokens = whole_tiles(batch.tokens) if self.tiled else batch.tokens
        return self.read(batch, input_ids=to_device(tokens, self.device))


class PermutationScorer(MaskedScorer):
    """XLNet: a permutation mask hides the slot, a target mapping reads it."""

    kind, auto_class = "permutation", "AutoModelForCausalLM"

    def prepare(self) -> None:
        super().prepare()
        # XLNet's closing <cls> is a separate segment, and its attention depends on segments.
        types = self.tokenizer("", return_token_type_ids=True)["token_type_ids"]
        closing = len(self.marker.closing)
        self.closing_types = list(types[len(types) - closing :]) if closing else []

    def forward(self, batch: Batch) -> Tensor:
        tokens = to_device(batch.tokens, self.device)
        n, length = tokens.shape
        first = to_device(batch.positions, self.device)[:, None]
        places = torch.arange(length, device=self.device)
        hidden = (places >= first) & (places < first + batch.unknown)
        dtype = self.model.dtype
        types = torch.zeros_like(tokens)
        if self.closing_types:
            types[:, -len(self.closing_types) :] = torch.tensor(
                self.closing_types, device=self.device
            )
        return self.read(
            replace(batch, positions=np.zeros_like(batch.positions)),  # the only one mapped
            input_ids=tokens,
            token_type_ids=types,
            perm_mask=hidden[:, None, :].expand(n, length, length).to(dtype),
            target_mapping=(places == first)[:, None, :].to(dtype),
            use_mems=False,
        )
