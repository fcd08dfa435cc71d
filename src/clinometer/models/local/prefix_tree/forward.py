"""Run a causal model on a batch of prefix-tree packs.

The packs run once, with a tree-shaped attention mask, and leave their keys and values in a cache;
what follows the heads runs against copies of that cache, which are dropped afterwards.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from clinometer.models.local.batches import fetch, to_device
from clinometer.models.local.prefix_tree.layout import Ints, Packs
from clinometer.models.local.slot_logits import SlotProjection, read_log_probs
from clinometer.models.scoring.continuations import AskedContinuations, Below, Floats
from clinometer.models.tokens.word_trie import ROOT


class TreeRun:
    """One batch of packs and its model. The first query is what follows the heads themselves.

    limit, rows   bounds on the new nodes in a row and on the rows of a batch
    boundary      the tokens that end a word
    keep          whether anything below the heads will be queried
    turn          lock held while the model runs
    """

    def __init__(
        self,
        project: SlotProjection,
        packs: Packs,
        *,
        limit: int,
        rows: int = 1,
        boundary: Tensor | None = None,
        keep: bool = True,
        turn: contextlib.AbstractContextManager[Any] | None = None,
    ) -> None:
        parameter = next(project.model.parameters())
        self.device, self.dtype = parameter.device, parameter.dtype
        self.project, self.packs = project, packs
        self.limit, self.rows, self.boundary = limit, rows, boundary
        self.turn = turn or contextlib.nullcontext()
        #: the longest row of keys so far, and how far a node that was read stood from its position
        self.longest = self.farthest = 0
        # No config: a sliding-window layer must keep every key, since neighbours in a pack are not
        # neighbours in the text. Not kept where nothing will be asked beyond the heads.
        self.cache: Any = DynamicCache() if keep else None

    def ask(self, parts: Sequence[AskedContinuations]) -> list[Floats]:
        """Log-probabilities of the children of every queried node, one answer [N, H] per part."""
        if parts[0].nodes[ROOT].any():
            return [self._ask_heads(part) for part in parts]
        below = Below(parts, self.packs)
        reads, values = [], []
        multiple = row_multiple(self.device)
        for chunk in below.chunks(limit=self.limit, rows=self.rows, multiple=multiple):
            places = (chunk.rows, chunk.places)
            found = self._forward(
                chunk.tokens,
                chunk.positions,
                chunk.visible,
                places,
                chunk.wanted,
                cache=self._behind(chunk.packs),
            )
            reads.append(chunk.reads)
            values.append(found)
        return below.answers(np.concatenate(reads), np.concatenate(values))

    def _behind(self, packs: Ints) -> Any:
        """A copy of the cache of some packs, which may grow without affecting the original."""
        chosen = copy.copy(self.cache)
        chosen.layers = [copy.copy(layer) for layer in chosen.layers]
        chosen.batch_select_indices(to_device(packs, self.device))
        return chosen

    def _ask_heads(self, part: AskedContinuations) -> Floats:
        packs, heads = self.packs, part.heads
        places = (packs.pack[heads], packs.place[heads])
        wanted = part.tree.wanted(np.array([ROOT]))
        values = self._forward(
            packs.tokens, packs.positions, packs.ancestors, places, wanted, cache=self.cache
        )
        answer = part.blank()
        answer[list(part.tree.trie.children[ROOT])] = values.T
        return answer

    def _forward(
        self,
        tokens: Ints,
        positions: Ints,
        visible: Ints,
        places: tuple[Ints, Ints],
        wanted: Ints,
        *,
        cache: Any,
    ) -> Floats:
        """Log-probabilities [n, W] of the wanted tokens [n or 1, W] at n positions."""
        n_new = tokens.shape[1]
        known = 0 if cache is None else cache.get_seq_length()
        self.longest = max(self.longest, known + n_new)
        distances = known + places[1] - positions[places]
        self.farthest = max(self.farthest, int(distances.max(initial=0)))
        # One thread at a time: the hook that picks positions belongs to the model.
        with torch.inference_mode(), self.turn:
            inputs: dict[str, Any] = {
                "input_ids": to_device(tokens, self.device),
                "position_ids": to_device(positions, self.device),
                "attention_mask": self._mask(visible, known + n_new),
                "use_cache": cache is not None,
            }
            if cache is not None:
                inputs["past_key_values"] = cache
            rows, columns = (to_device(place, self.device) for place in places)
            steady = tokens.shape == (self.rows, self.limit)
            logits, _ = self.project(rows, columns, steady=steady, **inputs)
            wants = to_device(wanted, self.device).expand(len(rows), -1)
            values = fetch(read_log_probs(logits, wants, self.boundary))
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
    """Pad rows to a multiple: fused attention on a GPU needs aligned masks."""
    return 16 if device.type == "cuda" else 1
