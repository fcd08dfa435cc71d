"""Permutation models (XLNet): every position sees what the prediction order allows.

The slot's unknown positions are predicted last: hidden from all others, while they see the text on
both sides and the known tokens of the word. The number of positions is part of the query, as for
masked models.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from clinometer.models.local.batches import Batch, to_device
from clinometer.models.local.masked import MaskedScorer


class PermutationScorer(MaskedScorer):
    """XLNet: a permutation mask hides the slot, a target mapping reads it."""

    kind = "permutation"

    @staticmethod
    def auto_class(transformers: Any) -> Any:
        return transformers.AutoModelForCausalLM

    def prepare(self) -> None:
        super().prepare()
        # XLNet's closing <cls> is a separate segment, and its attention depends on segments.
        types = self.tokenizer("", return_token_type_ids=True)["token_type_ids"]
        closing = len(self.marker.closing)
        self.closing_types = list(types[len(types) - closing :]) if closing else []

    def slot_logits(self, batch: Batch) -> Tensor:
        tokens = to_device(batch.tokens, self.device)
        n, length = tokens.shape
        rows = torch.arange(n, device=self.device)
        first = to_device(batch.positions, self.device)[:, None]
        places = torch.arange(length, device=self.device)
        hidden = (places >= first) & (places < first + batch.unknown)
        dtype = self.model.dtype
        types = torch.zeros_like(tokens)
        if self.closing_types:
            types[:, -len(self.closing_types) :] = torch.tensor(
                self.closing_types, device=self.device
            )
        logits, _ = self.project(
            rows,
            torch.zeros_like(rows),
            input_ids=tokens,
            token_type_ids=types,
            perm_mask=hidden[:, None, :].expand(n, length, length).to(dtype),
            target_mapping=(places == first)[:, None, :].to(dtype),
            use_mems=False,
        )
        return logits
