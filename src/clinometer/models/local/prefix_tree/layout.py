"""Texts before the slot as prefix trees, so that a shared prefix is computed once.

"The nurse said that" and "The nurse stated that" share "The nurse". Heads (the token sequences
before the slot) are sorted, neighbours share their prefixes, and a run of neighbours becomes a
*pack*: one row of tree nodes for the model, each with its token, its depth as position, and its
ancestors, the only nodes it may attend to.

Everything is numpy on whole batches: a GPU scores 10,000 prompts per second, so a prompt may cost
the host some tens of microseconds and no Python loop over its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from clinometer.models.tokens.word_trie import Tokens

Ints = NDArray[np.int64]

#: Padding in the table of heads, past the end of a sequence.
NOTHING = -1


@dataclass(frozen=True)
class Heads:
    """Distinct token sequences in lexicographic order.

    tokens [H, T]   padded with NOTHING
    lengths [H]
    shared [H]      leading tokens in common with the row before (0 for the first)
    """

    tokens: Ints
    lengths: Ints
    shared: Ints

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> tuple[Heads, Ints]:
        """Sort and merge; also returns the row of each given sequence.

        >>> heads, row = Heads.of([(1, 5, 7), (1, 5, 6), (1, 5, 7)])
        >>> heads.tokens.tolist(), heads.shared.tolist(), row.tolist()
        ([[1, 5, 6], [1, 5, 7]], [0, 2], [1, 0, 1])
        """
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        table = np.full((len(sequences), int(lengths.max(initial=0))), NOTHING)
        flat = np.fromiter(chain.from_iterable(sequences), np.int64, int(lengths.sum()))
        table[np.arange(table.shape[1]) < lengths[:, None]] = flat
        order = np.lexsort(table.T[::-1])
        table, lengths = table[order], lengths[order]
        equal = np.cumprod(table[1:] == table[:-1], axis=1)
        shared = np.concatenate([[0], equal.sum(axis=1)])[: len(table)]
        first = np.ones(len(table), dtype=bool)
        first[1:] = shared[1:] < table.shape[1]
        row = np.empty(len(table), dtype=np.int64)
        row[order] = np.cumsum(first) - 1
        return cls(table[first], lengths[first], shared[first]), row

    def __len__(self) -> int:
        return len(self.lengths)

    def path(self, row: int) -> Tokens:
        """The tokens of one head."""
        return tuple(self.tokens[row, : self.lengths[row]].tolist())

    def cut(self, start: int, *, nodes: int, packs: int) -> list[int]:
        """Where the next packs begin and end: boundaries of at most `packs` packs from row `start`,
        each of at most `nodes` tree nodes (or of one head that is longer).

        Packs of a batch are as wide as the widest of them, so the last heads are spread evenly.
        """
        total = np.cumsum(self.lengths - self.shared)
        left = int(total[-1] - total[start] + self.lengths[start])
        if left < nodes * packs:
            # Each pack repeats what its first head shares with the pack before.
            left += (left // nodes) * int(self.lengths[start:].max())
            nodes = min(nodes, -(-left // -(-left // nodes)))
        bounds = [start]
        while len(bounds) <= packs and bounds[-1] < len(self):
            at = bounds[-1]
            # The first head of a pack brings all of its tokens, the others what they do not share.
            room = nodes - self.lengths[at] + total[at]
            bounds.append(max(at + 1, int(np.searchsorted(total, room, side="right"))))
        return bounds


@dataclass(frozen=True)
class Packs:
    """B packs of at most L nodes in the shape that a model reads.

    tokens, positions [B, L]   of each node; unused entries are token 0
    ancestors [B, L, T]        indices in the pack of each node's ancestors and of itself, the root
                               first; padded with the node's own index
    pack, place [H]            pack and index of the last token of each head
    lengths [H]                tokens in each head
    nodes                      number of entries used
    """

    tokens: Ints
    positions: Ints
    ancestors: Ints
    pack: Ints
    place: Ints
    lengths: Ints
    nodes: int

    @classmethod
    def of(cls, heads: Heads, bounds: Sequence[int], *, multiple: int = 1) -> Packs:
        """Lay out the heads between the boundaries; L is rounded up to a multiple."""
        first, last = bounds[0], bounds[-1]
        lengths = heads.lengths[first:last]
        depth = int(lengths.max())
        tokens = heads.tokens[first:last, :depth]
        starts = np.array(bounds[:-1]) - first
        shared = heads.shared[first:last].copy()
        shared[starts] = 0
        column = np.arange(depth)
        new = (column >= shared[:, None]) & (column < lengths[:, None])
        number = np.cumsum(new).reshape(new.shape) - 1
        # A token shared with the row before keeps that row's node: the latest one in its column.
        path = np.maximum.accumulate(np.where(new, number, -1), axis=0)
        pack = np.repeat(np.arange(len(starts)), np.diff([*starts, last - first]))
        offset = number[starts, 0]
        row, level = np.nonzero(new)
        of_node = pack[row]
        place = np.arange(len(row)) - offset[of_node]
        width = round_up(int(place.max()) + 1, multiple)
        own = np.arange(width)
        ancestors = np.broadcast_to(own[:, None], (len(starts), width, depth)).copy()
        above = path[row] - offset[of_node][:, None]
        ancestors[of_node, place] = np.where(column <= level[:, None], above, place[:, None])
        token_grid = np.zeros((len(starts), width), dtype=np.int64)
        token_grid[of_node, place] = tokens[row, level]
        positions = np.zeros_like(token_grid)
        positions[of_node, place] = level
        end = path[np.arange(len(lengths)), lengths - 1] - offset[pack]
        return cls(token_grid, positions, ancestors, pack, end, lengths, len(row))


def round_up(number: int, multiple: int) -> int:
    """A number rounded up to a multiple."""
    return -(-number // multiple) * multiple
