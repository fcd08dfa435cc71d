"""The four training objectives: masked, causal, span corruption, permutation.

Each takes rows without special tokens and returns the summed loss and the number of predictions,
so that parts of different shapes can be averaged fairly. Shapes depend on the width of the rows
alone, never on their content, so that compiled code is reused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch.nn import functional as F  # noqa: N812
from transformers import PreTrainedModel

from .data import Rows

IGNORE = -100
Loss = tuple[torch.Tensor, torch.Tensor]


class Objective(Protocol):
    """What a model is trained to predict."""

    def loss(
        self, model: PreTrainedModel, rows: Rows, generator: torch.Generator
    ) -> Loss:
        """Return the summed loss and the number of predictions."""
        ...


def summed_loss(logits: torch.Tensor, labels: torch.Tensor) -> Loss:
    """Cross-entropy in nats over the labels that are not IGNORE."""
    total = F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]).float(),
        labels.reshape(-1),
        ignore_index=IGNORE,
        reduction="sum",
    )
    return total, (labels != IGNORE).sum()


def _real(rows: Rows) -> torch.Tensor:
    """Which places hold a token of the text."""
    width = rows.tokens.shape[1]
    return torch.arange(width, device=rows.tokens.device) < rows.lengths[:, None]


def _random(rows: Rows, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(rows.tokens.shape, generator=generator, device=rows.tokens.device)


def _random_rows(rows: Rows, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(len(rows.tokens), generator=generator, device=rows.tokens.device)


@dataclass(frozen=True)
class Masked:
    """BERT: a share of the tokens becomes [MASK], and only those places are predicted.

    No masked token is kept or replaced at random: the models are only ever asked about [MASK].
    """

    cls: int
    sep: int
    mask: int
    pad: int
    rate: float = 0.2

    def loss(
        self, model: PreTrainedModel, rows: Rows, generator: torch.Generator
    ) -> Loss:
        """Return the summed loss and the number of predictions."""
        count, width = rows.tokens.shape
        real = _real(rows)
        most = math.ceil(self.rate * width)
        places = (
            _random(rows, generator).masked_fill(~real, -1.0).topk(most, dim=1).indices
        )
        wanted = (self.rate * rows.lengths).round().clamp(min=1)
        chosen = torch.arange(most, device=real.device) < wanted[:, None]
        labels = rows.tokens.gather(1, places).masked_fill(~chosen, IGNORE)
        hidden_places = torch.zeros_like(real).scatter(1, places, chosen)
        body = rows.tokens.masked_fill(hidden_places, self.mask).masked_fill(
            ~real, self.pad
        )
        inputs = F.pad(body, (1, 1), value=self.pad)
        inputs[:, 0] = self.cls
        inputs.scatter_(1, rows.lengths[:, None] + 1, self.sep)
        attend = None if rows.full else F.pad(real, (2, 0), value=True).long()
        states = model.model(input_ids=inputs, attention_mask=attend).last_hidden_state
        wide = (places + 1)[:, :, None].expand(count, most, states.shape[-1])
        return summed_loss(model.decoder(model.head(states.gather(1, wide))), labels)


@dataclass(frozen=True)
class Causal:
    """GPT-2: the next token; every row begins with the end-of-text token, as prompts must."""

    end: int

    def loss(
        self, model: PreTrainedModel, rows: Rows, generator: torch.Generator
    ) -> Loss:
        """Return the summed loss and the number of predictions."""
        real = _real(rows)
        inputs = F.pad(rows.tokens.masked_fill(~real, self.end), (1, 0), value=self.end)
        labels = F.pad(rows.tokens.masked_fill(~real, IGNORE), (0, 1), value=IGNORE)
        # A sentence that stands whole is followed by the end of the text; a cut one by nothing.
        after = torch.where(rows.whole, self.end, IGNORE)
        labels.scatter_(1, rows.lengths[:, None], after[:, None])
        states = model.transformer(input_ids=inputs, use_cache=False).last_hidden_state
        return summed_loss(model.lm_head(states), labels)


@dataclass(frozen=True)
class SpanCorruption:
    """T5: spans become sentinels, which the decoder spells out.

    Of the rows, half lose about a sixth of their tokens in spans of three (as T5 did), a quarter
    lose one span of one to three tokens, a quarter lose their end.
    """

    pad: int
    end: int
    first_sentinel: int
    """Id of <extra_id_0>; the following sentinels count down from it."""
    target_width: int = 40

    def loss(
        self, model: PreTrainedModel, rows: Rows, generator: torch.Generator
    ) -> Loss:
        """Return the summed loss and the number of predictions."""
        noise = self._noise(rows, generator)
        inputs = self._inputs(rows, noise)
        labels = self._labels(rows, noise)
        output = model(
            input_ids=inputs,
            attention_mask=(inputs != self.pad).long(),
            decoder_input_ids=model.prepare_decoder_input_ids_from_labels(labels),
            use_cache=False,
        )
        return summed_loss(output.logits, labels)

    def _noise(self, rows: Rows, generator: torch.Generator) -> torch.Tensor:
        """Which tokens are hidden, of shape (rows, width)."""
        real, lengths = _real(rows), rows.lengths
        place = torch.arange(rows.tokens.shape[1], device=real.device)
        starts = (_random(rows, generator) < 0.06) & real
        spans = starts | F.pad(starts, (1, 0))[:, :-1] | F.pad(starts, (2, 0))[:, :-2]
        first = (_random_rows(rows, generator) * lengths).long()
        size = 1 + (_random_rows(rows, generator) * 3).long()
        one = (place >= first[:, None]) & (place < (first + size)[:, None])
        rest = (place >= first[:, None]) & (
            place < (first + self.target_width - 8)[:, None]
        )
        kind = (torch.arange(len(lengths), device=real.device) // 2 % 4)[:, None]
        noise = torch.where(kind < 2, spans, torch.where(kind == 2, one, rest)) & real
        # A row without any hidden token would teach nothing: hide one.
        return noise | (one & real & ~noise.any(1, keepdim=True))

    def _inputs(self, rows: Rows, noise: torch.Tensor) -> torch.Tensor:
        begins = noise & ~F.pad(noise, (1, 0))[:, :-1]
        sentinels = self.first_sentinel - (begins.cumsum(1) - 1)
        body = torch.where(begins, sentinels, rows.tokens)
        keep = _real(rows) & (~noise | begins)
        return _compact(
            body, keep, end=self.end, pad=self.pad, width=rows.tokens.shape[1] + 1
        )

    def _labels(self, rows: Rows, noise: torch.Tensor) -> torch.Tensor:
        begins = noise & ~F.pad(noise, (1, 0))[:, :-1]
        sentinels = self.first_sentinel - (begins.cumsum(1) - 1)
        both = torch.stack([sentinels, rows.tokens], dim=2).flatten(1)
        keep = torch.stack([begins, noise], dim=2).flatten(1)
        return _compact(both, keep, end=self.end, pad=IGNORE, width=self.target_width)


def _compact(
    tokens: torch.Tensor, keep: torch.Tensor, *, end: int, pad: int, width: int
) -> torch.Tensor:
    """Move the kept tokens of each row to its left, end it, and pad or cut it to `width`."""
    order = (~keep).long().sort(dim=1, stable=True).indices
    kept = keep.sum(1, keepdim=True)
    place = torch.arange(tokens.shape[1], device=tokens.device)
    packed = tokens.gather(1, order).masked_fill(place >= kept, pad)
    packed = F.pad(packed, (0, 1), value=pad).scatter(1, kept, end)
    if packed.shape[1] < width:
        packed = F.pad(packed, (0, width - packed.shape[1]), value=pad)
    return packed[:, :width]


@dataclass(frozen=True)
class Permutation:
    """XLNet: some tokens are predicted in a random order from all others and the earlier ones.

    Of the rows, half predict spans all over the row, a quarter one span of one to three tokens,
    a quarter the last tokens of the row in reading order. No padding text is ever used.
    """

    pad: int
    sep: int
    cls: int
    share: float = 0.17

    def loss(
        self, model: PreTrainedModel, rows: Rows, generator: torch.Generator
    ) -> Loss:
        """Return the summed loss and the number of predictions."""
        most = math.ceil(self.share * rows.tokens.shape[1])
        order = self._order(rows, generator)
        places = order.topk(most, dim=1, largest=False).indices
        chosen = order.gather(1, places) < math.inf
        labels = rows.tokens.gather(1, places).masked_fill(~chosen, IGNORE)
        # Places beyond the most that are predicted are ordinary context.
        order = torch.full_like(order, math.inf).scatter(
            1, places, order.gather(1, places).masked_fill(~chosen, math.inf)
        )
        inputs, visible, order = self._with_ending(rows, order)
        # Context (inf) is seen by all; a predicted token by those that come later in the order.
        hidden = (order[:, None, :] < math.inf) & (
            order[:, None, :] >= order[:, :, None]
        )
        hidden |= (order[:, None, :] < math.inf) & (order[:, :, None] == math.inf)
        mapping = F.one_hot(places, inputs.shape[1]).float()
        output = model(
            input_ids=inputs,
            attention_mask=visible.float(),
            perm_mask=hidden.float(),
            target_mapping=mapping,
            use_mems=False,
        )
        return summed_loss(output.logits, labels)

    def _order(self, rows: Rows, generator: torch.Generator) -> torch.Tensor:
        """Rank of each predicted token, infinite for context; at least one token is predicted."""
        real, lengths = _real(rows), rows.lengths
        place = torch.arange(rows.tokens.shape[1], device=real.device)
        random = _random(rows, generator)
        starts = (random < self.share / 3) & real
        spans = starts | F.pad(starts, (1, 0))[:, :-1] | F.pad(starts, (2, 0))[:, :-2]
        first = (_random_rows(rows, generator) * lengths).long()
        size = 1 + (_random_rows(rows, generator) * 3).long()
        one = (place >= first[:, None]) & (place < (first + size)[:, None])
        last = place >= (lengths - size)[:, None]
        kind = (torch.arange(len(lengths), device=real.device) // 2 % 4)[:, None]
        chosen = torch.where(kind < 2, spans, torch.where(kind == 2, one, last)) & real
        chosen |= one & real & ~chosen.any(1, keepdim=True)
        ranks = torch.where(kind == 3, place.float(), _random(rows, generator))
        return ranks.masked_fill(~chosen, math.inf)

    def _with_ending(
        self, rows: Rows, order: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Append <sep> <cls> to whole sentences (the XLNet convention), nothing to cut ones."""
        real = F.pad(_real(rows), (0, 2))
        tokens = F.pad(rows.tokens, (0, 2)).masked_fill(~real, self.pad)
        ending = torch.tensor([self.sep, self.cls], device=tokens.device)
        ending = torch.where(rows.whole[:, None], ending, self.pad)
        places = rows.lengths[:, None] + torch.arange(2, device=real.device)
        tokens = tokens.scatter(1, places, ending)
        return tokens, tokens != self.pad, F.pad(order, (0, 2), value=math.inf)
