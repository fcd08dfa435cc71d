"""Attention in tiles: short rows side by side, for masked models on a GPU.

A GPU computes attention in blocks of 64 places, so a row of ten leaves most of a block empty. Rows
of one length fit side by side in a tile, with a mask that keeps them apart. Nothing but PyTorch's
own attention is called, and the model's modules stay as they are: transformers looks up the
function by its name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from clinometer.statistics.arrays import IntArray

NAME = "clinometer_tiles"
"""The name under which transformers finds this attention."""

_PLACES = 64
"""Places in a block of PyTorch's attention."""


def attend_in_tiles(model: Any) -> bool:
    """Have a bidirectional model attend in tiles where its rows are short, if it lets others
    attend for it; return whether it does."""
    # transformers has no public name for the attention in use.
    uses_sdpa = model.config._attn_implementation == "sdpa"
    if not uses_sdpa or not model.is_backend_compatible():
        return False
    AttentionInterface.register(NAME, tile_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return True


def whole_tiles(tokens: IntArray) -> IntArray:
    """Return rows [n, L] with some of them repeated at the end, so that they fill whole tiles.

    >>> whole_tiles(np.zeros((28, 10), dtype=np.int64)).shape  # six rows of ten fill a tile
    (30, 10)
    """
    n, length = tokens.shape
    missing = -n % rows_in_a_tile(length)
    return np.concatenate([tokens, np.resize(tokens, (missing, length))])


def rows_in_a_tile(length: int) -> int:
    """Return how many rows of this length fit into a tile, at least one."""
    return max(1, _PLACES // max(length, 1))


def tile_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Return what transformers' attention returns [B, L, H, D].

    Rows without a mask stand in tiles if they fill whole ones.
    """
    n, heads, length, size = query.shape
    rows = rows_in_a_tile(length)
    is_plain = attention_mask is None and not module.is_causal
    same_shape = query.shape == key.shape == value.shape
    if not is_plain or not same_shape or rows == 1 or n % rows:
        states, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **options
        )
        return states, None

    def tiled(x: Tensor) -> Tensor:
        places_first = x.transpose(1, 2)
        tiles = places_first.reshape(n // rows, rows * length, heads, size)
        return tiles.transpose(1, 2)

    row = torch.arange(rows * length, device=query.device) // length
    same_row = row[:, None] == row
    mask = torch.where(same_row, 0.0, -torch.inf).to(query.dtype)
    states = torch.nn.functional.scaled_dot_product_attention(
        tiled(query), tiled(key), tiled(value), attn_mask=mask, scale=scaling
    )
    return states.transpose(1, 2).reshape(n, length, heads, size), None
