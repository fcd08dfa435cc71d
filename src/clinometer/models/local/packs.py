"""The layout of packs: heads as prefix trees, and what is asked behind them as new nodes.

A pack runs once, with a tree-shaped attention mask; what comes after its heads runs behind it. Here
is arithmetic on arrays alone: which node stands where, and which others it sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clinometer.models.scoring.heads import AskedContinuations, Heads
from clinometer.models.tokens import NO_CHILD, ROOT
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray

NO_NODE = -1
"""Marker of a node without a parent in its list: it stands right behind its head."""


def round_up(number: int, multiple: int) -> int:
    """Return a number rounded up to a multiple."""
    return -(-number // multiple) * multiple


def divide_up(numbers: IntArray, divisor: int) -> IntArray:
    """Return numbers divided and rounded up."""
    return -(-numbers // divisor)


@dataclass(frozen=True)
class Packs:
    """B packs of at most L nodes in the shape that a model reads."""

    tokens: IntArray
    """The token of each node [B, L]; unused entries are token 0."""

    positions: IntArray
    """The position of each node in its text [B, L]."""

    ancestors: IntArray
    """Indices in the pack of each node's ancestors and of itself [B, L, T], the root first; padded
    with the node's own index."""

    pack: IntArray
    """The pack of each head [H]."""

    place: IntArray
    """The index in its pack of each head's last token [H]."""

    lengths: IntArray
    """Tokens in each head [H]."""

    @classmethod
    def of(cls, heads: Heads, bounds: Sequence[int], *, multiple: int = 1) -> Packs:
        """Lay out the heads between the boundaries; L is rounded up to a multiple."""
        first = bounds[0]
        last = bounds[-1]
        lengths = heads.lengths[first:last]
        depth = int(lengths.max())
        tokens = heads.tokens[first:last, :depth]
        starts = np.array(bounds[:-1]) - first
        shared = heads.shared[first:last].copy()
        shared[starts] = 0
        column = np.arange(depth)
        is_new = (column >= shared[:, None]) & (column < lengths[:, None])
        number = np.cumsum(is_new).reshape(is_new.shape) - 1
        # A token shared with the row before keeps that row's node: the latest one in its column.
        path = np.maximum.accumulate(np.where(is_new, number, -1), axis=0)
        heads_per_pack = np.diff([*starts, last - first])
        pack_of_head = np.repeat(np.arange(len(starts)), heads_per_pack)
        offset = number[starts, 0]

        row, level = np.nonzero(is_new)
        pack_of_node = pack_of_head[row]
        place = np.arange(len(row)) - offset[pack_of_node]
        width = round_up(int(place.max()) + 1, multiple)
        shape = (len(starts), width)
        ancestors = _seeing_themselves(np.arange(width), (*shape, depth))
        path_in_pack = path[row] - offset[pack_of_node][:, None]
        ancestors[pack_of_node, place] = np.where(
            column <= level[:, None], path_in_pack, place[:, None]
        )
        token_grid = np.zeros(shape, dtype=np.int64)
        token_grid[pack_of_node, place] = tokens[row, level]
        positions = np.zeros_like(token_grid)
        positions[pack_of_node, place] = level
        last_nodes = path[np.arange(len(lengths)), lengths - 1]
        return cls(
            tokens=token_grid,
            positions=positions,
            ancestors=ancestors,
            pack=pack_of_head,
            place=last_nodes - offset[pack_of_head],
            lengths=lengths,
        )


def _seeing_themselves(places: IntArray, shape: tuple[int, int, int]) -> IntArray:
    """Return what nodes at these places [L] see [B, L, T] before anything is laid out: only
    themselves."""
    return np.broadcast_to(places[:, None], shape).copy()


@dataclass(frozen=True)
class Chunk:
    """Nodes in R rows and where to read: packs, or new nodes behind them."""

    packs: IntArray
    """The pack that each row is, or stands behind [R]."""

    tokens: IntArray
    """The token of each node [R, Q]."""

    positions: IntArray
    """The position of each node in its text [R, Q]."""

    visible: IntArray
    """Places that a node sees [R, Q, A]: below L in the pack, from L on among the new nodes."""

    rows: IntArray
    """The row of each read [n]."""

    places: IntArray
    """The place in its row of each read [n]."""

    wanted: IntArray
    """The tokens that are read there [n or 1, W]."""

    reads: IntArray
    """The number of each read in the whole list [n]."""


class _Nodes(NamedTuple):
    """Columns of a list of nodes, one entry per node."""

    part: IntArray

    node: IntArray
    """The node in the part's tree."""

    column: IntArray
    """The column among the part's heads."""

    head: IntArray

    above: IntArray
    """Index in the list of the parent node, NO_NODE for one right behind the head."""

    token: IntArray

    top: IntArray
    """The ancestor at depth 1."""

    read: BoolArray
    """Whether the model is read at this node."""

    wanted: IntArray
    """The tokens to read there [n, W]."""

    @classmethod
    def of(cls, part: AskedContinuations, number: int) -> _Nodes:
        """List the queried nodes of a part and those that lead to them, head by head."""
        tree = part.tree
        needed = part.nodes.copy()
        for node in tree.depth_first[::-1]:
            needed[tree.parent[node]] |= needed[node]
        columns, rank = np.nonzero(needed[tree.depth_first].T)
        nodes = tree.depth_first[rank]
        index = np.full(needed.shape, NO_NODE)
        index[nodes, columns] = np.arange(len(nodes))
        parents = tree.parent[nodes]
        return cls(
            part=np.full(len(nodes), number),
            node=nodes,
            column=columns,
            head=part.heads[columns],
            above=np.where(parents == ROOT, NO_NODE, index[parents, columns]),
            token=tree.token[nodes],
            top=tree.top[nodes],
            read=part.nodes[nodes, columns],
            wanted=tree.wanted(nodes),
        )

    @classmethod
    def joined(cls, lists: Sequence[_Nodes]) -> _Nodes:
        """Return one list after another, each with as many wanted tokens as the widest."""
        width = max(nodes.wanted.shape[1] for nodes in lists)
        start = 0
        shifted: list[_Nodes] = []
        for nodes in lists:
            missing = width - nodes.wanted.shape[1]
            padding = np.repeat(nodes.wanted[:, :1], missing, axis=1)
            wanted = np.concatenate([nodes.wanted, padding], axis=1)
            is_first = nodes.above == NO_NODE
            above = np.where(is_first, NO_NODE, nodes.above + start)
            shifted.append(nodes._replace(above=above, wanted=wanted))
            start += len(above)
        columns = zip(*shifted, strict=True)
        return cls._make(np.concatenate(column) for column in columns)

    def sorted_by(self, key: IntArray) -> _Nodes:
        """Return the list in the order of the keys; equal ones keep theirs."""
        order = np.argsort(key, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        nodes = _Nodes._make(column[order] for column in self)
        is_first = nodes.above == NO_NODE
        return nodes._replace(above=np.where(is_first, NO_NODE, rank[nodes.above]))


class ContinuationBatcher:
    """All nodes that the parts need, listed pack by pack and cut into chunks."""

    def __init__(self, parts: Sequence[AskedContinuations], packs: Packs) -> None:
        self.parts = parts
        self.packs = packs
        lists = [_Nodes.of(part, number) for number, part in enumerate(parts)]
        nodes = _Nodes.joined(lists)
        self.nodes = nodes.sorted_by(packs.pack[nodes.head])

    def chunks(self, *, limit: int, rows: int, multiple: int = 1) -> Iterator[Chunk]:
        """Yield chunks of at most `rows` rows of about `limit` new nodes.

        A pack with many queries gets several rows; rows of similar size go together, so that no row
        waits for a longer one.
        """
        nodes = self.nodes
        n_packs = len(self.packs.tokens)
        width = self.packs.tokens.shape[1]
        pack = self.packs.pack[nodes.head]
        nodes_per_pack = np.bincount(pack, minlength=n_packs)
        rows_per_pack = divide_up(nodes_per_pack, limit)
        row = self._rows(pack, nodes_per_pack, rows_per_pack)
        place = np.arange(len(row)) - np.searchsorted(row, row)
        position, visible = self._view(pack, place)
        sizes = np.bincount(row)
        n_filled = int((sizes > 0).sum())
        largest_first = np.argsort(-sizes, kind="stable")[:n_filled]
        pack_of_row = np.repeat(np.arange(n_packs), rows_per_pack)
        for start in range(0, n_filled, rows):
            chosen = largest_first[start : start + rows]
            row_in_chunk = np.full(len(sizes), -1)
            row_in_chunk[chosen] = np.arange(len(chosen))
            members = np.flatnonzero(row_in_chunk[row] >= 0)
            n_new = round_up(int(sizes[chosen[0]]), multiple)
            shape = (len(chosen), n_new)
            cells = (row_in_chunk[row[members]], place[members])
            tokens = np.zeros(shape, dtype=np.int64)
            tokens[cells] = nodes.token[members]
            positions = np.zeros_like(tokens)
            positions[cells] = position[members]
            sees = _seeing_themselves(
                width + np.arange(n_new), (*shape, visible.shape[1])
            )
            sees[cells] = visible[members]
            reads = members[nodes.read[members]]
            yield Chunk(
                packs=pack_of_row[chosen],
                tokens=tokens,
                positions=positions,
                visible=sees,
                rows=row_in_chunk[row[reads]],
                places=place[reads],
                wanted=nodes.wanted[reads],
                reads=reads,
            )

    def _rows(
        self, pack: IntArray, nodes_per_pack: IntArray, rows_per_pack: IntArray
    ) -> IntArray:
        """Return the row of each node: the rows of a pack share its nodes evenly, and a unit stays
        in one row."""
        first_node = np.cumsum([0, *nodes_per_pack])
        first_row = np.cumsum([0, *rows_per_pack])
        rank = np.arange(len(pack)) - first_node[pack]
        rank_of_unit = rank[self._unit_starts()]
        row_in_pack = rank_of_unit * rows_per_pack[pack] // nodes_per_pack[pack]
        rows: IntArray = first_row[pack] + row_in_pack
        return rows

    def _view(self, pack: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
        """Return the position of each node in its text, and the places that it sees [n, A]."""
        packs = self.packs
        head = self.nodes.head
        chains = self._chains()
        depth = (chains[:, 1:] != chains[:, :-1]).sum(axis=1)
        position = packs.lengths[head] + depth
        in_pack = packs.ancestors[pack, packs.place[head]]
        behind_pack = packs.tokens.shape[1] + place[chains]
        return position, np.concatenate([in_pack, behind_pack], axis=1)

    def _unit_starts(self) -> IntArray:
        """Return the first node of each node's unit.

        A unit is everything under one head that shares a first token; it attends only to itself and
        is never split.
        """
        is_start = np.ones(len(self.nodes.head), dtype=bool)
        keys = (self.nodes.head, self.nodes.part, self.nodes.top)
        is_start[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
        unit = np.cumsum(is_start) - 1
        starts: IntArray = np.flatnonzero(is_start)[unit]
        return starts

    def _chains(self) -> IntArray:
        """Return each node and its new ancestors [n, D], padded with the topmost."""
        columns = [np.arange(len(self.nodes.above))]
        while True:
            above = self.nodes.above[columns[-1]]
            is_top = above == NO_NODE
            if is_top.all():
                return np.stack(columns, axis=1)
            columns.append(np.where(is_top, columns[-1], above))

    def answers(self, reads: IntArray, values: FloatArray) -> list[FloatArray]:
        """Sort the values [n, W] read at nodes `reads` back into one answer per part."""
        part_of_read = self.nodes.part[reads]
        order = np.argsort(part_of_read, kind="stable")
        ends = np.searchsorted(part_of_read[order], np.arange(len(self.parts) + 1))
        answers = []
        for number, part in enumerate(self.parts):
            members = order[ends[number] : ends[number + 1]]
            nodes = self.nodes.node[reads[members]]
            columns = self.nodes.column[reads[members]]
            children = part.tree.child_table[nodes][:, : values.shape[1]]
            read, child = np.nonzero(children != NO_CHILD)
            answer = part.blank()
            answer[children[read, child], columns[read]] = values[members][read, child]
            answers.append(answer)
        return answers
