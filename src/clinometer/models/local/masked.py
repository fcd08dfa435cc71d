"""Models that fill a slot: masked ones, XLNet, and sequence-to-sequence models.

A masked model, and XLNet, sees as many mask tokens in the slot as the word has tokens. A word of k
tokens is read from left to right: its first token at the first of k masks, the next one with the
first filled in and k - 1 masks left, and so on. The number of masks is part of the query, so each
word length has its own tree, and "her" (one mask) is not a prefix of "her|s" (two).

A GPU computes attention in blocks of 64 places, so a row of ten leaves most of a block empty. Rows
of one length fit side by side in a tile, with a mask that keeps them apart. Nothing but PyTorch's
own attention is called, and the model's modules stay as they are: transformers looks up the
function by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from transformers.modeling_outputs import BaseModelOutput

from clinometer.errors import ModelError
from clinometer.models.local.base import (
    Batch,
    Forward,
    TransformerScorer,
    light_kernels,
    overlapped,
    to_device,
)
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

NAME = "clinometer_tiles"
#: Places in a block of PyTorch's attention.
_PLACES = 64


def attend_in_tiles(model: Any) -> bool:
    """Have a bidirectional model attend in tiles where its rows are short, if it lets others
    attend for it."""
    if (
        model.config._attn_implementation != "sdpa"
        or not model._supports_attention_backend
    ):
        return False
    AttentionInterface.register(NAME, tile_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return True


def whole_tiles(tokens: IntArray) -> IntArray:
    """Rows [n, L] with some of them repeated at the end, so that they fill whole tiles.

    >>> whole_tiles(np.zeros((28, 10), dtype=np.int64)).shape  # six rows of ten fill a tile
    (30, 10)
    """
    n, length = tokens.shape
    missing = -n % rows_in_a_tile(length)
    return np.concatenate([tokens, np.resize(tokens, (missing, length))])


def rows_in_a_tile(length: int) -> int:
    return max(1, _PLACES // max(length, 1))


def tile_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """What transformers' attention returns [B, L, H, D]; rows without a mask stand in tiles if they
    fill whole ones."""
    n, heads, length, size = query.shape
    rows = rows_in_a_tile(length)
    alike = query.shape == key.shape == value.shape and not module.is_causal
    if attention_mask is not None or not alike or rows == 1 or n % rows:
        found = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **more
        )
        return found[0], None

    def tiled(x: Tensor) -> Tensor:
        return (
            x.transpose(1, 2)
            .reshape(n // rows, rows * length, heads, size)
            .transpose(1, 2)
        )

    row = torch.arange(rows * length, device=query.device) // length
    apart = torch.where(row[:, None] == row, 0.0, -torch.inf).to(query.dtype)
    found = torch.nn.functional.scaled_dot_product_attention(
        tiled(query), tiled(key), tiled(value), attn_mask=apart, scale=scaling
    )
    return found.transpose(1, 2).reshape(n, length, heads, size), None


#: Prompts of one length that are scored together.
_CHUNK = 4_096


class MaskedScorer(TransformerScorer):
    """Fill-in models: BERT, RoBERTa, ALBERT, DeBERTa, ELECTRA's generator, ModernBERT."""

    kind, auto_class = "masked", "AutoModelForMaskedLM"

    def prepare(self) -> None:
        if self.tokenizer.mask_token_id is None:
            raise ModelError(
                f"model {self.info.name!r} is a {self.kind} model, but its tokenizer has no mask "
                "token: use the tokenizer it was trained with, or --load kind=causal"
            )
        self.marker = Marker.of(self.tokenizer, self.tokenizer.mask_token)
        self.tiled = self.device.type == "cuda" and attend_in_tiles(self.model)

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        lengths = sorted({len(s) for s in words.sequences})
        columns = [
            [i for i, s in enumerate(words.sequences) if len(s) == k] for k in lengths
        ]
        trees = [Trie.of([words.sequences[i] for i in some]) for some in columns]
        by_length = np.concatenate([np.array(c, dtype=np.intp) for c in columns])
        order = np.argsort(by_length)
        counts = None if words.counts is None else words.counts[by_length]

        def score(group: SlotGroup) -> tuple[IntArray, WordScores]:
            self.check_length(
                group.tokens.shape[1] + lengths[-1] - 1, prompts[group.members[0]]
            )
            found = self._score_group(group, prompts, trees, counts)
            return group.members, replace(found, log_probs=found.log_probs[:, order])

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
            known: IntArray,
            rows: IntArray,
            which: IntArray,
            wants: IntArray,
        ) -> FloatArray:
            depth, places = (
                known.shape[1],
                len(tree.prefix[-1]),
            )  # all words have as many tokens
            batch = Batch(
                tokens=group.filled(rows, places=places, known=known[which]),
                positions=group.positions[rows] + depth,
                wants=wants,
                which=which,
                unknown=places - depth,
            )
            values = self.ask(batch, self.forward)()
            self.check_values(values, prompts, group.members[rows])
            return values

        return self.walk(trees, len(group), read, counts)

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
            replace(
                batch, positions=np.zeros_like(batch.positions)
            ),  # the only one mapped
            input_ids=tokens,
            token_type_ids=types,
            perm_mask=hidden[:, None, :].expand(n, length, length).to(dtype),
            target_mapping=(places == first)[:, None, :].to(dtype),
            use_mems=False,
        )


# --- Sequence-to-sequence: the encoder reads the text with a gap, the decoder fills it ------------


SENTINEL = "<extra_id_0>"

#: Prompts whose encoder states are in memory at a time.
_ENCODED = {"cpu": 2_048, "cuda": 16_384}


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
        size = _ENCODED.get(self.device.type, _ENCODED["cpu"])
        groups = slot_groups(self.tokenizer, prompts, self.marker, size=size)
        parts = (
            (
                g.members,
                self._score_group(g, [prompts[i] for i in g.members], trie, counts),
            )
            for g in groups
        )
        return WordScores.scattered(parts, len(prompts))

    def _score_group(
        self,
        group: SlotGroup,
        prompts: Sequence[Prompt],
        trie: Trie,
        counts: FloatArray | None,
    ) -> WordScores:
        """Scores of the group's own prompts."""
        self.check_length(group.tokens.shape[1], prompts[0])
        heads = self._heads(prompts)
        decode = self._decoder(self._encode(group.tokens))
        sizes = np.array([len(h) for h in heads])

        def read(
            _tree: Trie,
            known: IntArray,
            who: IntArray,
            which: IntArray,
            wants: IntArray,
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
