"""Queries about trees of words as plain rows: one row per path of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from clinometer.models.local.prefix_tree.layout import Heads
from clinometer.models.scoring.continuations import AskedContinuations, Floats
from clinometer.models.tokens.word_trie import Tokens

if TYPE_CHECKING:
    from clinometer.models.local.prefix_tree.verify import Probe


class Follower(Protocol):
    """Protocol for models that score tokens after a path of tokens."""

    def follow(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[Floats]:
        """Log-probabilities of the wanted tokens after each path."""


class Rows:
    """Plain rows: one row per head and continuation."""

    def __init__(self, follower: Follower, heads: Heads, start: int = 0) -> None:
        self.follower, self.heads, self.start = follower, heads, start

    def ask(self, parts: Sequence[AskedContinuations]) -> list[Floats]:
        places = [tuple(map(np.ravel, np.nonzero(part.nodes))) for part in parts]
        paths: list[Tokens] = []
        wanted: list[Tokens] = []
        for part, (nodes, columns) in zip(parts, places, strict=True):
            trie = part.tree.trie
            children = [trie.child_tokens(n) for n in range(len(part.tree))]
            paths += [
                self._head(h) + trie.prefix[n]
                for n, h in zip(nodes.tolist(), part.heads[columns].tolist(), strict=True)
            ]
            wanted += [children[n] for n in nodes.tolist()]
        values = iter(self.follower.follow(paths, wanted))
        answers = [part.blank() for part in parts]
        for part, (nodes, columns), found in zip(parts, places, answers, strict=True):
            for n, column in zip(nodes.tolist(), columns.tolist(), strict=True):
                found[list(part.tree.trie.children[n]), column] = next(values)
        return answers

    def answer_sample(self, sample: Probe) -> list[Floats]:
        heads = map(self._head, sample.heads)
        paths = [head + suffix for head, suffix in zip(heads, sample.suffixes, strict=True)]
        return self.follower.follow(paths, sample.wanted)

    def _head(self, row: int) -> Tokens:
        return self.heads.path(self.start + row)
