"""Words as token sequences in one tree, so that a shared prefix is computed once.

"grandson" and "granddaughter" both start with the token "Ġgrand": the model is queried once for
what follows it, and both words read their next token from that answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

Tokens = tuple[int, ...]

ROOT = 0

#: Marker instead of a token: the word ends here (the next token starts something else).
END_OF_WORD = -1


@dataclass(frozen=True)
class Trie:
    """A prefix tree over token sequences; node 0 is the empty sequence.

    prefix[n]    the tokens that lead to node n
    parent[n]    its parent (-1 for the root)
    children[n]  its children, in order of insertion
    depth order  nodes are numbered so that a parent comes before its children, level by level
    terminal[i]  the node at which sequence i ends
    """

    prefix: tuple[Tokens, ...]
    parent: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    terminal: tuple[int, ...]

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
        prefixes: dict[Tokens, None] = {(): None}
        for depth in range(1, max((len(s) for s in sequences), default=0) + 1):
            prefixes.update((s[:depth], None) for s in sequences if len(s) >= depth)
        number = {p: i for i, p in enumerate(prefixes)}
        children: list[list[int]] = [[] for _ in number]
        parent = [-1] * len(number)
        for p, i in number.items():
            if p:
                parent[i] = number[p[:-1]]
                children[parent[i]].append(i)
        return cls(
            prefix=tuple(number),
            parent=tuple(parent),
            children=tuple(map(tuple, children)),
            terminal=tuple(number[s] for s in sequences),
        )

    @property
    def inner(self) -> tuple[int, ...]:
        """Nodes that have children: those the model must be queried about."""
        return tuple(n for n, kids in enumerate(self.children) if kids)

    @cached_property
    def ends(self) -> frozenset[int]:
        """The terminal nodes."""
        return frozenset(self.terminal)

    def nearest_terminal_above(self, node: int) -> int | None:
        """The nearest terminal on the way to the root, `node` itself included; None without one."""
        while node > ROOT:
            if node in self.ends:
                return node
            node = self.parent[node]
        return None

    def child_tokens(self, node: int) -> Tokens:
        """The tokens to read after a node."""
        return tuple(self.prefix[c][-1] for c in self.children[node])

    def nearest_terminals_below(self, node: int) -> tuple[int, ...]:
        """Terminal nodes under `node` with no other terminal between: the listed words that this
        one is a prefix of."""
        found: list[int] = []
        stack = list(self.children[node])
        while stack:
            n = stack.pop()
            if n in self.ends:
                found.append(n)
            else:
                stack.extend(self.children[n])
        return tuple(sorted(found))
