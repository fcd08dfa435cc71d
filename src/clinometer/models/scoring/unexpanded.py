"""How far words that are not expanded can move a preference, and which have to be.

Where a word is not expanded, only its prefix is known: the word's own mass a lies between 0 and the
prefix's mass u. Let N_y be the mass of the finished words of category y, T their sum and p = N / T.
A word w of which m_wy counts for y (t_w in all) adds a m_w to N; if it extends a finished word v
("hers" from "her"), it takes a m_v away. So a preference moves by

    p'_y - p_y = (sum of a g_wy) / T',   g_wy = (m_wy - m_vy) - (t_w - t_v) p_y,

with T' >= T - S, where S is what the words that count for less than what they extend take away
(m_v = t_v = 0 without such a word; S = 0 unless some words count for nothing). With u in place of a
and the largest g of the words under a prefix, the positive and the negative terms bound the move
either way. "boyfriend" moves nothing from "boy", a word of both categories little, one of the
category that has nine tenths already only a tenth of its mass.

Without the categories every g could be 1: the sum of all u, over the finished mass M.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinometer.models.tokens.word_trie import Trie

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

#: Most mass of unexpanded words, in multiples of the tolerance times the finished mass: single
#: words, and words that are counted for other categories later, stay that close.
MOST_MASS = 10.0


@dataclass(frozen=True)
class Pending:
    """What may stay unexpanded of N prefixes [N, P], and how far that moves a preference.

    expand [N, P]   prefixes that must be expanded
    skipped [P]     the bound of the others' effect on any preference, times the finished mass
    """

    expand: Bools
    skipped: Floats


class AnyCategory:
    """The rule without categories: two words may count in any way."""

    def __init__(self, trees: Sequence[Trie]) -> None:
        #: terminals with no terminal above them: disjoint events whose union is all words
        self._tops = [
            [n for n in t.terminal if t.nearest_terminal_above(t.parent[n]) is None] for t in trees
        ]

    def mass(self, log_p: Sequence[Floats]) -> Floats:
        """The mass of all finished words [P]."""
        return np.asarray(
            sum(np.exp(t[top]).sum(axis=0) for t, top in zip(log_p, self._tops, strict=True))
        )

    def judge(self, log_p: Sequence[Floats], bounds: Floats, tolerance: float) -> Pending:
        """Judge prefixes by the upper bounds [N, P] of the words under them.

        The smallest are skipped first; one without probability costs nothing and never is expanded.
        """
        order = np.argsort(bounds, axis=0, kind="stable")
        running = np.cumsum(np.take_along_axis(bounds, order, axis=0), axis=0)
        expand = _unsorted(running > tolerance * self.mass(log_p), order)
        return Pending(expand, np.where(expand, 0.0, bounds).sum(axis=0))


class KnownCategories(AnyCategory):
    """The rule where it is known how much each word counts for each category.

    inner      (tree, node) of the prefixes
    counts     [V, Y] of the words, in the order of the trees and of their terminals
    """

    def __init__(
        self, trees: Sequence[Trie], inner: Sequence[tuple[int, int]], counts: Floats
    ) -> None:
        super().__init__(trees)
        first = np.cumsum([0, *(len(t.terminal) for t in trees)])
        self._signs = [
            _signs(t, counts[a:b]) for t, a, b in zip(trees, first[:-1], first[1:], strict=True)
        ]
        gains: list[Floats] = []
        starts: list[int] = []
        for k, node in inner:
            starts.append(len(gains))
            gains += _gains(trees[k], node, counts[first[k] : first[k + 1]])
        #: m_w - m_v [E, Y] and t_w - t_v [E] of the words under the prefixes, prefix by prefix
        self._gain = np.array(gains).reshape(len(gains), counts.shape[1])
        self._growth = self._gain.sum(axis=1)
        self._starts = np.array(starts, dtype=np.int64)

    def judge(self, log_p: Sequence[Floats], bounds: Floats, tolerance: float) -> Pending:
        mass = self.mass(log_p)
        finished = np.asarray(sum(s.T @ np.exp(t) for s, t in zip(self._signs, log_p, strict=True)))
        total = finished.sum(axis=0)
        known = total > 0
        share = np.divide(finished, total, out=np.zeros_like(finished), where=known)
        lost = bounds * self._most(np.maximum(-self._growth, 0.0)[:, None])
        moves = []
        for y in range(len(share) if len(share) > 2 else 1):  # of two, one moves as the other does
            g = self._gain[:, y, None] - self._growth[:, None] * share[y]
            moves += [bounds * self._most(np.maximum(g, 0.0))]
            moves += [bounds * self._most(np.maximum(-g, 0.0))]
        cost = np.maximum.reduce([*moves, lost, bounds / MOST_MASS])
        order = np.argsort(cost, axis=0, kind="stable")

        def running(values: Floats) -> Floats:
            return np.cumsum(np.take_along_axis(values, order, axis=0), axis=0)

        room = tolerance * (total - running(lost))
        over = running(bounds) > MOST_MASS * tolerance * mass
        for move in moves:
            over |= running(move) > room
        expand = _unsorted(over | ~known, order) & (bounds > 0)
        left = ~expand
        most = np.maximum.reduce([(move * left).sum(axis=0) for move in moves])
        rest = total - (lost * left).sum(axis=0)
        bound = np.where(most > 0, 1.0, 0.0)
        np.divide(most, rest, out=bound, where=rest > most)
        return Pending(expand, bound * mass)

    def _most(self, values: Floats) -> Floats:
        """The largest of the words under each prefix, [E, P] -> [N, P]."""
        return np.asarray(np.maximum.reduceat(values, self._starts, axis=0))


def _signs(trie: Trie, counts: Floats) -> Floats:
    """[nodes, Y]: with the nodes' masses, the mass of each category. A word is the mass of its node
    less that of the longer words."""
    signs = np.zeros((len(trie.prefix), counts.shape[1]))
    for node, count in zip(trie.terminal, counts, strict=True):
        signs[node] += count
        signs[list(trie.nearest_terminals_below(node))] -= count
    return signs


def _gains(trie: Trie, node: int, counts: Floats) -> list[Floats]:
    """What a category gains if mass goes to a word under `node`, each kind of word once."""
    word = {n: i for i, n in enumerate(trie.terminal)}
    above = trie.nearest_terminal_above(node)
    taken = np.zeros(counts.shape[1]) if above is None else counts[word[above]]
    found = {}
    stack = list(trie.children[node])
    while stack:
        n = stack.pop()
        if n in word:
            gain = counts[word[n]] - taken
            found[gain.tobytes()] = gain
        stack.extend(trie.children[n])
    return list(found.values())


def _unsorted(values: Bools, order: Ints) -> Bools:
    """Rows that were sorted by `order`, each column on its own, in their own places."""
    out = np.empty_like(values)
    np.put_along_axis(out, order, values, axis=0)
    return out
