"""A prefix tree over token sequences: the words that are scored, as the model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clinometer.statistics.arrays import BoolArray, IntArray

Tokens = tuple[int, ...]

ROOT = 0
"""The node of the empty sequence."""

NO_CHILD = -1
"""Padding in the table of children."""


@dataclass(frozen=True, eq=False)
class Trie:
    """A prefix tree over token sequences; node 0 is the empty sequence.

    Nodes are numbered so that a parent comes before its children, level by level.
    """

    prefix: tuple[Tokens, ...]
    """The tokens that lead to each node."""

    parent: IntArray
    """The node above each node [N]; -1 for the root."""

    children: tuple[tuple[int, ...], ...]
    """The children of each node, in order of insertion."""

    terminal: tuple[int, ...]
    """The node at which each sequence ends."""

    @classmethod
    def of(cls, sequences: Sequence[Tokens]) -> Trie:
        """Build the tree.

        >>> tree = Trie.of([(7,), (5, 6), (5, 8), (5, 6, 9)])
        >>> tree.prefix
        ((), (7,), (5,), (5, 6), (5, 8), (5, 6, 9))
        >>> tree.inner
        (0, 2, 3)
        >>> tree.terminal
        (1, 3, 4, 5)
        """
        longest = max((len(tokens) for tokens in sequences), default=0)
        prefixes: dict[Tokens, None] = {(): None}
        for depth in range(1, longest + 1):
            for tokens in sequences:
                if len(tokens) >= depth:
                    prefixes[tokens[:depth]] = None
        number = {prefix: node for node, prefix in enumerate(prefixes)}
        children: list[list[int]] = [[] for _ in number]
        parent = [-1] * len(number)
        for prefix, node in number.items():
            if prefix:
                above = number[prefix[:-1]]
                parent[node] = above
                children[above].append(node)
        return cls(
            prefix=tuple(number),
            parent=np.array(parent, dtype=np.int64),
            children=tuple(tuple(nodes) for nodes in children),
            terminal=tuple(number[tokens] for tokens in sequences),
        )

    @property
    def inner(self) -> tuple[int, ...]:
        """The nodes that have children: those the model must be queried about."""
        return tuple(node for node, below in enumerate(self.children) if below)

    @cached_property
    def word_at(self) -> list[int]:
        """The nearest terminal on the way from each node to the root, itself included; ROOT without
        one."""
        terminals = set(self.terminal)
        nearest = [ROOT] * len(self.prefix)
        for node in range(1, len(nearest)):
            nearest[node] = node if node in terminals else nearest[self.parent[node]]
        return nearest

    @cached_property
    def longer(self) -> dict[int, list[int]]:
        """Below each terminal, and below the root, the terminals with no other between: the listed
        words that this one is a prefix of."""
        longer: dict[int, list[int]] = {node: [] for node in (ROOT, *self.terminal)}
        for node in sorted(self.terminal):
            longer[self.word_at[self.parent[node]]].append(node)
        return longer

    @cached_property
    def token(self) -> IntArray:
        """The last token of each node [N]; of the root, which has none, 0."""
        last_tokens = [prefix[-1] for prefix in self.prefix[1:]]
        return np.array([0, *last_tokens], dtype=np.int64)

    def child_tokens(self, node: int) -> Tokens:
        """Return the tokens to read after a node."""
        return tuple(self.prefix[child][-1] for child in self.children[node])

    @cached_property
    def child_table(self) -> IntArray:
        """The children of each node [N, most children], padded with NO_CHILD."""
        width = max(len(nodes) for nodes in self.children)
        table = np.full((len(self.prefix), width), NO_CHILD, dtype=np.int64)
        for node, children in enumerate(self.children):
            table[node, : len(children)] = children
        return table

    def wanted(self, nodes: IntArray) -> IntArray:
        """Return the tokens to read after each of these nodes [n, W], padded with the first of
        them."""
        children = self.child_table[nodes]
        n_children = (children != NO_CHILD).sum(axis=1)
        width = max(1, int(n_children.max(initial=0)))
        children = children[:, :width]
        padded = np.where(children == NO_CHILD, children[:, :1], children)
        return self.token[padded]

    @cached_property
    def depth_first(self) -> IntArray:
        """All nodes but the root [N - 1], so that subtrees are contiguous."""
        order: list[int] = []
        stack = list(reversed(self.children[ROOT]))
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(reversed(self.children[node]))
        return np.array(order, dtype=np.int64)

    @cached_property
    def top(self) -> IntArray:
        """The ancestor at depth 1 of each node [N], itself there."""
        top = np.arange(len(self.prefix))
        for node in np.flatnonzero(self.parent > ROOT):
            top[node] = top[self.parent[node]]
        return top

    def below(self, nodes: BoolArray) -> BoolArray:
        """Return the children of some nodes, by prompt, [N, P] -> [N, P]."""
        children = nodes[self.parent]
        children[ROOT] = False
        return children
