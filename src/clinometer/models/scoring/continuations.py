"""Continuations of the heads as trees, and their layout behind the packs.

A continuation is a prefix of a word, or a word with some of the text after the slot. The nodes
queried after each head, and the nodes that lead to them, are laid out as rows of new tree nodes,
each row behind one pack, in chunks of bounded size. They attend to the head's tokens in the pack's
cache and to their own ancestors; nothing attends to them later, so the cache never grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np

from clinometer.models.tokens import ROOT, Tokens, Trie
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray

#: Padding in the table of heads, past the end of a sequence.
NOTHING = -1


@dataclass(frozen=True)
class Heads:
    """Distinct token sequences in lexicographic order.

    tokens [H, T]   padded with NOTHING
    lengths [H]
    shared [H]      leading tokens in common with the row before (0 for the first)
    """

    tokens: IntArray
    lengths: IntArray
    shared: IntArray

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> tuple[Heads, IntArray]:
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

    tokens: IntArray
    positions: IntArray
    ancestors: IntArray
    pack: IntArray
    place: IntArray
    lengths: IntArray
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


NO_CHILD = -1


class Continuations:
    """A trie of continuations as arrays; node 0 is the head itself.

    token, parent, top [N]   of each node; `top` is its ancestor at depth 1 (itself there)
    order [N - 1]            all nodes but the root, depth first, so that subtrees are contiguous
    """

    def __init__(self, trie: Trie) -> None:
        self.trie = trie
        self.token = np.array([0, *(p[-1] for p in trie.prefix[1:])], dtype=np.int64)
        self.parent = np.array(trie.parent, dtype=np.int64)
        self.depth = max(map(len, trie.prefix))
        stack, order = list(reversed(trie.children[ROOT])), []
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(reversed(trie.children[node]))
        self.order = np.array(order, dtype=np.int64)
        self.top = np.arange(len(trie.prefix))
        for node in order:
            if trie.parent[node] != ROOT:
                self.top[node] = self.top[trie.parent[node]]

    def __len__(self) -> int:
        return len(self.trie.prefix)

    @cached_property
    def children(self) -> IntArray:
        """[N, most children], padded with NO_CHILD."""
        kids = self.trie.children
        table = np.full((len(kids), max(map(len, kids))), NO_CHILD, dtype=np.int64)
        for node, row in enumerate(kids):
            table[node, : len(row)] = row
        return table

    def wanted(self, nodes: IntArray) -> IntArray:
        """Tokens to read after each node [n, W], padded with the first of them."""
        kids = self.children[nodes]
        kids = kids[:, : max(1, int((kids != NO_CHILD).sum(axis=1).max(initial=0)))]
        return self.token[np.where(kids == NO_CHILD, kids[:, :1], kids)]


@dataclass(frozen=True)
class AskedContinuations:
    """Which nodes of a tree of continuations are queried after which heads.

    heads [H]       rows of the heads
    nodes [N, H]    true where the tokens after this node are queried
    """

    tree: Continuations
    heads: IntArray
    nodes: BoolArray

    def blank(self) -> FloatArray:
        """An answer without values [N, H]: log p(the node's token | head, the nodes above it)."""
        return np.full(self.nodes.shape, -np.inf)


class Answers(Protocol):
    """Backend that returns next-token log-probabilities after a set of heads."""

    def ask(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        """One answer [N, H] per part; only children of queried nodes have a value."""


@dataclass(frozen=True)
class Chunk:
    """New nodes in R rows, each behind a pack, and where to read.

    packs [R]             the pack that each row stands behind
    tokens, positions [R, Q]
    visible [R, Q, A]     places that a node sees: below L in the pack, from L on among the new
    rows, places [n]      where the model is read
    wanted [n, W]         what is read there
    reads [n]             numbers of these reads in the whole list
    """

    packs: IntArray
    tokens: IntArray
    positions: IntArray
    visible: IntArray
    rows: IntArray
    places: IntArray
    wanted: IntArray
    reads: IntArray


class _Nodes(NamedTuple):
    """Columns of a list of nodes, one entry per node."""

    part: IntArray
    node: IntArray
    column: IntArray  # of the part's heads
    head: IntArray
    above: IntArray  # index in the list of the parent node, -1 for the head
    token: IntArray
    top: IntArray
    read: BoolArray
    wanted: IntArray  # [n, W]

    @classmethod
    def of(cls, part: AskedContinuations, number: int) -> _Nodes:
        """The queried nodes of a part and those that lead to them, head by head."""
        tree = part.tree
        need = part.nodes.copy()
        for node in tree.order[::-1]:
            need[tree.parent[node]] |= need[node]
        columns, rank = np.nonzero(need[tree.order].T)
        nodes = tree.order[rank]
        listed = np.full(need.shape, -1)
        listed[nodes, columns] = np.arange(len(nodes))
        parents = tree.parent[nodes]
        return cls(
            part=np.full(len(nodes), number),
            node=nodes,
            column=columns,
            head=part.heads[columns],
            above=np.where(parents == ROOT, -1, listed[parents, columns]),
            token=tree.token[nodes],
            top=tree.top[nodes],
            read=part.nodes[nodes, columns],
            wanted=tree.wanted(nodes),
        )

    @classmethod
    def joined(cls, lists: Sequence[_Nodes]) -> _Nodes:
        width = max(nodes.wanted.shape[1] for nodes in lists)
        start, moved = 0, []
        for nodes in lists:
            above = np.where(nodes.above < 0, -1, nodes.above + start)
            fill = np.repeat(nodes.wanted[:, :1], width - nodes.wanted.shape[1], axis=1)
            wanted = np.concatenate([nodes.wanted, fill], axis=1)
            moved.append(nodes._replace(above=above, wanted=wanted))
            start += len(above)
        return cls._make(np.concatenate(column) for column in zip(*moved, strict=True))

    def sorted_by(self, key: IntArray) -> _Nodes:
        order = np.argsort(key, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        here = _Nodes._make(column[order] for column in self)
        return here._replace(above=np.where(here.above < 0, -1, place[here.above]))


class ContinuationBatcher:
    """All nodes that the parts need, listed pack by pack and cut into chunks."""

    def __init__(self, parts: Sequence[AskedContinuations], packs: Packs) -> None:
        self.parts, self.packs = parts, packs
        nodes = _Nodes.joined([_Nodes.of(part, k) for k, part in enumerate(parts)])
        self.nodes = nodes.sorted_by(packs.pack[nodes.head])

    def chunks(self, *, limit: int, rows: int, multiple: int = 1) -> Iterator[Chunk]:
        """Chunks of at most `rows` rows of about `limit` new nodes.

        A pack with many queries gets several rows; rows of similar size go together, so that no row
        waits for a longer one.
        """
        nodes, packs = self.nodes, self.packs
        width = packs.tokens.shape[1]
        pack = packs.pack[nodes.head]
        per_pack = np.bincount(pack, minlength=len(packs.tokens))
        rows_of_pack = -(-per_pack // limit)
        rank = np.arange(len(pack)) - np.cumsum([0, *per_pack])[pack]
        share = rank[self._unit_starts()] * rows_of_pack[pack] // per_pack[pack]
        row = np.cumsum([0, *rows_of_pack])[pack] + share
        place = np.arange(len(row)) - np.searchsorted(row, row)
        chain = self._chains()
        position = packs.lengths[nodes.head] + (chain[:, 1:] != chain[:, :-1]).sum(axis=1)
        in_pack = packs.ancestors[pack, packs.place[nodes.head]]
        visible = np.concatenate([in_pack, width + place[chain]], axis=1)
        sizes = np.bincount(row)
        by_size = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]
        of_row = np.repeat(np.arange(len(packs.tokens)), rows_of_pack)
        for first in range(0, len(by_size), rows):
            chosen = by_size[first : first + rows]
            line = np.full(len(sizes), -1)
            line[chosen] = np.arange(len(chosen))
            here = np.flatnonzero(line[row] >= 0)
            n_new = round_up(int(sizes[chosen[0]]), multiple)
            tokens = np.zeros((len(chosen), n_new), dtype=np.int64)
            positions = np.zeros_like(tokens)
            own = width + np.arange(n_new)
            sees = np.broadcast_to(own[:, None], (len(chosen), n_new, visible.shape[1])).copy()
            at = (line[row[here]], place[here])
            tokens[at], positions[at], sees[at] = nodes.token[here], position[here], visible[here]
            reads = here[nodes.read[here]]
            yield Chunk(
                packs=of_row[chosen],
                tokens=tokens,
                positions=positions,
                visible=sees,
                rows=line[row[reads]],
                places=place[reads],
                wanted=nodes.wanted[reads],
                reads=reads,
            )

    def _unit_starts(self) -> IntArray:
        """The first node of each node's unit. A unit is everything under one head that shares a
        first token; it attends only to itself and is never split."""
        changed = np.ones(len(self.nodes.head), dtype=bool)
        keys = (self.nodes.head, self.nodes.part, self.nodes.top)
        changed[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
        starts: IntArray = np.flatnonzero(changed)[np.cumsum(changed) - 1]
        return starts

    def _chains(self) -> IntArray:
        """Each node and its new ancestors [n, D], padded with the topmost."""
        columns = [np.arange(len(self.nodes.above))]
        while True:
            above = self.nodes.above[columns[-1]]
            if (above < 0).all():
                return np.stack(columns, axis=1)
            columns.append(np.where(above < 0, columns[-1], above))

    def answers(self, reads: IntArray, values: FloatArray) -> list[FloatArray]:
        """Sort the values [n, W] read at nodes `reads` back into one answer per part."""
        part = self.nodes.part[reads]
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(len(self.parts) + 1))
        out = []
        for k, asked in enumerate(self.parts):
            here = order[ends[k] : ends[k + 1]]
            answer = asked.blank()
            nodes, columns = self.nodes.node[reads[here]], self.nodes.column[reads[here]]
            kids = asked.tree.children[nodes][:, : values.shape[1]]
            read, which = np.nonzero(kids != NO_CHILD)
            answer[kids[read, which], columns[read]] = values[here][read, which]
            out.append(answer)
        return out
