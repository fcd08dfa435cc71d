"""Attention over many short rows, with several rows per tile.

Attention kernels work on tiles of 64 positions or more; a prompt has ten. Row by row they waste
five sixths of each tile, and on a large GPU attention takes 36 % of a BERT's time (measured on an
H200). Rows of equal length can share a tile, with a mask between them: the same numbers, in a
fraction of the time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from clinometer.models.local.batches import BatchSize

NAME = "clinometer_short_rows"
#: Positions in a tile.
TILE = 128


def rows_in_tile(length: int) -> int:
    """How many rows of this length share a tile; 1 where only one fits.

    >>> rows_in_tile(10), rows_in_tile(32), rows_in_tile(40)
    (12, 4, 3)
    """
    return max(1, TILE // length)


def whole_tiles(rows: int, length: int) -> int:
    """Round a number of rows up to whole tiles, and the number of tiles to one of eight per octave:
    each new number of tiles costs about 40 ms on a GPU, probably to plan its attention.

    >>> whole_tiles(13, 10), whole_tiles(6_000, 10), whole_tiles(6_144, 10)
    (24, 6144, 6144)
    """
    tiles = -(-rows // rows_in_tile(length))
    step = 1 << max(0, tiles.bit_length() - 4)
    return -(-tiles // step) * step * rows_in_tile(length)


class TiledBatchSize(BatchSize):
    """A batch of whole tiles, as many as its tokens would fill."""

    def rows(self, length: int) -> int:
        return max(1, self.tokens // TILE) * rows_in_tile(length)


def use_short_attention(model: Any) -> bool:
    """Switch a model from the library's plain attention to tiles; False if it uses another."""
    if getattr(model.config, "_attn_implementation", None) != "sdpa":
        return False
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    AttentionInterface.register(NAME, short_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return True


def short_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """Attention of [rows, heads, length, width]; the result is [rows, length, heads, width].

    Rows fill up whole tiles when their number is a multiple of `rows_in_tile`; any others, and
    attention with its own mask, use the library's implementation.
    """
    rows, heads, length, width = query.shape
    packs = rows_in_tile(length)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    alike = key.shape == query.shape and value.shape == query.shape
    bare = attention_mask is None and more.get("position_bias") is None and not causal
    if not bare or not alike or packs < 2 or rows % packs:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        result: tuple[Tensor, None] = sdpa_attention_forward(
            module,
            query,
            key,
            value,
            attention_mask,
            dropout=dropout,
            scaling=scaling,
            is_causal=is_causal,
            **more,
        )
        return result

    def packed(x: Tensor) -> Tensor:
        by_place = x.transpose(1, 2)
        return by_place.reshape(rows // packs, packs * length, heads, width).transpose(1, 2)

    walls = _walls(packs, length, query.device, query.dtype)
    found = torch.nn.functional.scaled_dot_product_attention(
        packed(query),
        packed(key),
        packed(value),
        attn_mask=walls,
        dropout_p=dropout,
        scale=scaling,
    )
    return found.transpose(1, 2).reshape(rows, length, heads, width), None


@lru_cache(maxsize=64)
def _walls(packs: int, length: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """0 inside a row, minus infinity between rows [1, 1, places, places]."""
    row = torch.arange(packs * length, device=device) // length
    apart = row[:, None] != row[None, :]
    walls = torch.zeros(apart.shape, device=device, dtype=dtype)
    return walls.masked_fill(apart, -torch.inf)[None, None]
