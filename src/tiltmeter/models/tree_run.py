"""Ask a causal model about a batch of prefix-tree packs.

The packs run once, with a tree-shaped attention mask, and leave their keys and values in a cache;
what follows the heads runs against that cache, which is cut back afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from tiltmeter.models.prefix_tree import Ints, Packs
from tiltmeter.models.project import SlotProjection, read_log_probs
from tiltmeter.models.rows import fetch, to_device
from tiltmeter.models.tree_ask import Asked, Below, Floats
from tiltmeter.models.trie import ROOT


class TreeRun:
    """One batch of packs before a model. The first question is what follows the heads themselves.

    `limit` bounds the new nodes a pack and chunk; `boundary` are the tokens that end a word;
    `keep` says that something will be asked below the heads; `turn` is held while the model runs.
    """

    def __init__(
        self,
        project: SlotProjection,
        packs: Packs,
        *,
        limit: int,
        boundary: Tensor | None = None,
        keep: bool = True,
        turn: contextlib.AbstractContextManager[Any] | None = None,
    ) -> None:
        parameter = next(project.model.parameters())
        self.device, self.dtype = parameter.device, parameter.dtype
        self.project, self.packs = project, packs
        self.limit, self.boundary = limit, boundary
        self.turn = turn or contextlib.nullcontext()
        #: the longest row of keys so far, and how far a node that was read stood from its position
        self.longest = self.farthest = 0
        # No config: a sliding-window layer must keep every key, since neighbours in a pack are not
        # neighbours in the text. Not kept where nothing will be asked beyond the heads.
        self.cache = DynamicCache() if keep else None

    def ask(self, parts: Sequence[Asked]) -> list[Floats]:
        """Log-probabilities of the children of every asked node, one answer [N, H] a part."""
        if parts[0].nodes[ROOT].any():
            return [self._ask_heads(part) for part in parts]
        below = Below(parts, self.packs)
        reads, values = [], []
        for chunk in below.chunks(self.limit, multiple=row_multiple(self.device)):
            found = self._forward(
                chunk.tokens,
                chunk.positions,
                chunk.visible,
                (chunk.rows, chunk.places),
                chunk.wanted,
            )
            if self.cache is not None:
                self.cache.crop(-chunk.tokens.shape[1])
            reads.append(chunk.reads)
            values.append(found)
        return below.answers(np.concatenate(reads), np.concatenate(values))

    def _ask_heads(self, part: Asked) -> Floats:
        packs, heads = self.packs, part.heads
        places = (packs.pack[heads], packs.place[heads])
        wanted = part.tree.wanted(np.array([ROOT]))
        values = self._forward(packs.tokens, packs.positions, packs.ancestors, places, wanted)
        answer = part.blank()
        answer[list(part.tree.trie.children[ROOT])] = values.T
        return answer

    def _forward(
        self, tokens: Ints, positions: Ints, visible: Ints, places: tuple[Ints, Ints], wanted: Ints
    ) -> Floats:
        """Log-probabilities [n, W] of the wanted tokens [n or 1, W] at n places."""
        n_new = tokens.shape[1]
        # One thread at a time: the hook that picks positions belongs to the model.
        with torch.inference_mode(), self.turn:
            known = 0 if self.cache is None else self.cache.get_seq_length()
            inputs: dict[str, Any] = {
                "input_ids": to_device(tokens, self.device),
                "position_ids": to_device(positions, self.device),
                "attention_mask": self._mask(visible, known + n_new),
                "use_cache": self.cache is not None,
            }
            if self.cache is not None:
                inputs["past_key_values"] = self.cache
            rows, columns = (to_device(place, self.device) for place in places)
            logits, _ = self.project(rows, columns, **inputs)
            wants = to_device(wanted, self.device).expand(len(rows), -1)
            values = fetch(read_log_probs(logits, wants, self.boundary))
        self.longest = max(self.longest, known + n_new)
        distances = known + places[1] - positions[places]
        self.farthest = max(self.farthest, int(distances.max(initial=0)))
        return values()

    def _mask(self, visible: Ints, keys: int) -> Tensor:
        """What is added to the attention scores [B, 1, Q, keys]: 0 where a node may look, the least
        finite number elsewhere. Numbers rather than booleans because every implementation of
        attention adds them in the same way."""
        places = to_device(visible, self.device)
        shape = (*visible.shape[:2], keys)
        mask = torch.full(shape, torch.finfo(self.dtype).min, dtype=self.dtype, device=self.device)
        return mask.scatter_(2, places, 0.0).unsqueeze(1)


def row_multiple(device: torch.device) -> int:
    """Rows are filled up to a multiple: the fused attention of a GPU needs aligned masks."""
    return 16 if device.type == "cuda" else 1
