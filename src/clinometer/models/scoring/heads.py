"""Queries of causal models: what is read before the slot, and which words are asked behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from clinometer.models.tokens import Tokens, Trie
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray

NOTHING = -1
"""Padding in the table of heads, past the end of a sequence."""


@dataclass(frozen=True)
class Heads:
    """Distinct token sequences in lexicographic order."""

    tokens: IntArray
    """The sequences [H, T], padded with NOTHING."""

    lengths: IntArray
    """Tokens in each sequence [H]."""

    shared: IntArray
    """Leading tokens in common with the row before [H]; 0 for the first."""

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> tuple[Heads, IntArray]:
        """Sort and merge; also return the row of each given sequence.

        >>> heads, row = Heads.of([(1, 5, 7), (1, 5, 6), (1, 5, 7)])
        >>> heads.tokens.tolist(), heads.shared.tolist(), row.tolist()
        ([[1, 5, 6], [1, 5, 7]], [0, 2], [1, 0, 1])
        """
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        width = int(lengths.max(initial=0))
        all_tokens = chain.from_iterable(sequences)
        table = np.full((len(sequences), width), NOTHING)
        is_token = np.arange(width) < lengths[:, None]
        table[is_token] = np.fromiter(all_tokens, np.int64, int(lengths.sum()))
        order = np.lexsort(table.T[::-1])
        table = table[order]
        lengths = lengths[order]
        equal_so_far = np.cumprod(table[1:] == table[:-1], axis=1)
        shared = np.concatenate([[0], equal_so_far.sum(axis=1)])[: len(table)]
        is_first = np.ones(len(table), dtype=bool)
        is_first[1:] = shared[1:] < width
        row = np.empty(len(table), dtype=np.int64)
        row[order] = np.cumsum(is_first) - 1
        heads = cls(table[is_first], lengths[is_first], shared[is_first])
        return heads, row

    def __len__(self) -> int:
        return len(self.lengths)

    def path(self, row: int) -> Tokens:
        """Return the tokens of one head."""
        return tuple(self.tokens[row, : self.lengths[row]].tolist())

    def cut(self, start: int, *, nodes: int, packs: int) -> list[int]:
        """Return where the next packs begin and end: boundaries of at most `packs` packs from row
        `start`, each of at most `nodes` tree nodes (or of one head that is longer).

        Packs of a batch are as wide as the widest of them, so the last heads are spread evenly.
        """
        total = np.cumsum(self.lengths - self.shared)
        remaining = int(total[-1] - total[start] + self.lengths[start])
        if remaining < nodes * packs:
            # Each pack repeats what its first head shares with the pack before.
            longest = int(self.lengths[start:].max())
            remaining += (remaining // nodes) * longest
            n_packs = -(-remaining // nodes)
            nodes = min(nodes, -(-remaining // n_packs))
        bounds = [start]
        while len(bounds) <= packs and bounds[-1] < len(self):
            first = bounds[-1]
            # The first head of a pack brings all of its tokens, the others what they do not share.
            room = nodes - self.lengths[first] + total[first]
            end = int(np.searchsorted(total, room, side="right"))
            bounds.append(max(first + 1, end))
        return bounds


@dataclass(frozen=True)
class AskedContinuations:
    """Which nodes of a tree of continuations are queried after which heads."""

    tree: Trie

    heads: IntArray
    """Rows of the heads [H]."""

    nodes: BoolArray
    """True where the tokens after this node are queried [N, H]."""

    def blank(self) -> FloatArray:
        """Return an answer without values [N, H]: log p(the node's token | head, the nodes above
        it)."""
        return np.full(self.nodes.shape, -np.inf)


Answers = Callable[[Sequence[AskedContinuations]], list[FloatArray]]
"""One answer [N, H] per part, of which the children of queried nodes have a value."""

Follow = Callable[[Sequence[Tokens], Sequence[Tokens]], list[FloatArray]]
"""Log-probabilities of the wanted tokens after each path of tokens."""


@dataclass(frozen=True)
class Rest:
    """A text after the slot behind every word."""

    tree: Trie

    asked: BoolArray
    """The nodes from each word's end on [N]."""

    steps: IntArray
    """For each word, the nodes of the text's tokens behind it [V, len]."""

    @classmethod
    def of(cls, rest: Tokens, words: Sequence[Tokens]) -> Rest:
        tree = Trie.of([word + rest for word in words])
        number = {prefix: node for node, prefix in enumerate(tree.prefix)}
        ends = range(1, len(rest) + 1)
        steps = np.empty((len(words), len(rest)), dtype=np.int64)
        for row, word in enumerate(words):
            steps[row] = [number[word + rest[:end]] for end in ends]
        asked = np.zeros(len(tree.prefix), dtype=bool)
        asked[tree.parent[steps]] = True
        return cls(tree, asked, steps)


class Rows:
    """Plain rows: one row per head and continuation, for any model that scores tokens after a path
    of tokens."""

    start: int
    """The head that has number 0 in the queries."""

    def __init__(self, follow: Follow, heads: Heads, start: int = 0) -> None:
        self.follow = follow
        self.heads = heads
        self.start = start

    def ask(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        """Return log-probabilities of the children of every queried node, one answer [N, H] per
        part."""
        paths: list[Tokens] = []
        wanted: list[Tokens] = []
        queries: list[tuple[int, int, int]] = []
        for number, part in enumerate(parts):
            for node, column in np.argwhere(part.nodes).tolist():
                paths.append(self.head(part.heads[column]) + part.tree.prefix[node])
                wanted.append(part.tree.child_tokens(node))
                queries.append((number, node, column))
        answers = [part.blank() for part in parts]
        rows = self.follow(paths, wanted)
        for (number, node, column), values in zip(queries, rows, strict=True):
            children = list(parts[number].tree.children[node])
            answers[number][children, column] = values
        return answers

    def head(self, row: int) -> Tokens:
        """Return the tokens of a head, numbered from `start` on."""
        return self.heads.path(self.start + row)
