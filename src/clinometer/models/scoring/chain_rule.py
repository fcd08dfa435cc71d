"""Exact word probabilities by the chain rule, with no more queries than a tolerance needs.

A word's probability is the product of its tokens' probabilities along a path of the tree of words.
A word cannot be more probable than its own prefix, so every prefix that is not expanded yet has a
known upper bound; prefixes that together cannot move any preference by more than the tolerance are
not expanded, and the bound is reported. `unexpanded` says which.

Why `U / M` is the bound, with finished mass M, of which N_y in category y, and unfinished words of
true mass at most U. Those that extend no finished word have a mass A, of which a_y in y, and move
the preference from N_y / M to (N_y + a_y) / (M + A), at most A / (M + A) away. Those that extend a
finished word ("hers" from "her") take their mass B from it: M stays, N_y moves by at most B.
Together that is at most (A + B) / (M + A) <= U / M. Where the categories are known, less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from clinometer.models.protocol import WordScores
from clinometer.models.tokens import ROOT, Trie
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray

MOST_MASS = 10.0
"""Most mass of unexpanded words, in multiples of the tolerance times the finished mass: single
words, and words that are counted for other categories later, stay that close."""


class AnyCategory:
    """The rule without categories: two words may count in any way."""

    def __init__(self, trees: Sequence[Trie]) -> None:
        # Terminals with no terminal above them: disjoint events whose union is all words.
        self._tops = [tree.longer[ROOT] for tree in trees]

    def mass(self, log_p: Sequence[FloatArray]) -> FloatArray:
        """Return the mass of all finished words [P]."""
        pairs = zip(log_p, self._tops, strict=True)
        return np.asarray(sum(np.exp(table[top]).sum(axis=0) for table, top in pairs))

    def judge(
        self, log_p: Sequence[FloatArray], bounds: FloatArray, tolerance: float
    ) -> tuple[BoolArray, FloatArray]:
        """Judge prefixes by the upper bounds [N, P] of the words under them: return those that must
        be expanded [N, P], and the bound of the others' effect on any preference, times the
        finished mass [P].

        The smallest are skipped first; one without probability costs nothing and never is expanded.
        """
        order = np.argsort(bounds, axis=0, kind="stable")
        running = np.cumsum(np.take_along_axis(bounds, order, axis=0), axis=0)
        expand = _unsorted(running > tolerance * self.mass(log_p), order)
        return expand, np.where(expand, 0.0, bounds).sum(axis=0)


class KnownCategories(AnyCategory):
    """The rule where it is known how much each word counts for each category.

    inner      (tree, node) of the prefixes
    counts     [V, Y] of the words, in the order of the trees and of their terminals
    """

    def __init__(
        self,
        trees: Sequence[Trie],
        inner: Sequence[tuple[int, int]],
        counts: FloatArray,
    ) -> None:
        super().__init__(trees)
        ends = np.cumsum([len(tree.terminal) for tree in trees])
        counts_of_tree = np.split(counts, ends[:-1])
        pairs = zip(trees, counts_of_tree, strict=True)
        self._signs = [_signs(tree, table) for tree, table in pairs]
        gains: list[FloatArray] = []
        starts: list[int] = []
        for k, node in inner:
            starts.append(len(gains))
            gains += _gains(trees[k], node, counts_of_tree[k])
        # m_w - m_v [E, Y] and t_w - t_v [E] of the words under the prefixes, prefix by prefix.
        self._gain = np.array(gains).reshape(len(gains), counts.shape[1])
        self._growth = self._gain.sum(axis=1)
        self._starts = np.array(starts, dtype=np.int64)

    def judge(
        self, log_p: Sequence[FloatArray], bounds: FloatArray, tolerance: float
    ) -> tuple[BoolArray, FloatArray]:
        mass = self.mass(log_p)
        pairs = zip(self._signs, log_p, strict=True)
        finished = np.asarray(sum(signs.T @ np.exp(table) for signs, table in pairs))
        total = finished.sum(axis=0)
        is_finished = total > 0
        share = np.zeros_like(finished)
        np.divide(finished, total, out=share, where=is_finished)
        lost = bounds * self._most(np.maximum(-self._growth, 0.0)[:, None])
        moves = []
        # Of two categories, one moves as the other does.
        for y in range(len(share) if len(share) > 2 else 1):
            gain = self._gain[:, y, None] - self._growth[:, None] * share[y]
            moves.append(bounds * self._most(np.maximum(gain, 0.0)))
            moves.append(bounds * self._most(np.maximum(-gain, 0.0)))
        cost = np.maximum.reduce([*moves, lost, bounds / MOST_MASS])
        order = np.argsort(cost, axis=0, kind="stable")

        def running(values: FloatArray) -> FloatArray:
            return np.cumsum(np.take_along_axis(values, order, axis=0), axis=0)

        room = tolerance * (total - running(lost))
        over = running(bounds) > MOST_MASS * tolerance * mass
        for move in moves:
            over |= running(move) > room
        expand = _unsorted(over | ~is_finished, order) & (bounds > 0)
        is_skipped = ~expand
        most = np.maximum.reduce([(move * is_skipped).sum(axis=0) for move in moves])
        rest = total - (lost * is_skipped).sum(axis=0)
        bound = np.where(most > 0, 1.0, 0.0)
        np.divide(most, rest, out=bound, where=rest > most)
        return expand, bound * mass

    def _most(self, values: FloatArray) -> FloatArray:
        """Return the largest of the words under each prefix, [E, P] -> [N, P]."""
        return np.asarray(np.maximum.reduceat(values, self._starts, axis=0))


def _signs(trie: Trie, counts: FloatArray) -> FloatArray:
    """Return what gives, with the nodes' masses, the mass of each category [nodes, Y].

    A word is the mass of its node less that of the longer words.
    """
    signs = np.zeros((len(trie.prefix), counts.shape[1]))
    for node, count in zip(trie.terminal, counts, strict=True):
        signs[node] += count
        signs[trie.longer[node]] -= count
    return signs


def _gains(trie: Trie, node: int, counts: FloatArray) -> list[FloatArray]:
    """Return what a category gains if mass goes to a word under `node`, each kind of word once."""
    word = {terminal: i for i, terminal in enumerate(trie.terminal)}
    above = trie.word_at[node]
    loss = np.zeros(counts.shape[1]) if above == ROOT else counts[word[above]]
    gains = {}
    stack = list(trie.children[node])
    while stack:
        below = stack.pop()
        if below in word:
            gain = counts[word[below]] - loss
            gains[gain.tobytes()] = gain
        stack.extend(trie.children[below])
    return list(gains.values())


def _unsorted(values: BoolArray, order: IntArray) -> BoolArray:
    """Return rows that were sorted by `order`, each column on its own, in their own places."""
    unsorted = np.empty_like(values)
    np.put_along_axis(unsorted, order, values, axis=0)
    return unsorted


Ask = Callable[[Sequence[BoolArray]], Sequence[FloatArray]]
"""Answers for each tree which nodes are queried for which prompts [N, P], all of one depth: with
log p(a node's token | the nodes above it) [N, P], of which the children of these nodes are read."""


def expand(
    trees: Sequence[Trie],
    n_prompts: int,
    ask: Ask,
    *,
    tolerance: float = 0.0,
    counts: FloatArray | None = None,
    ask_upper: Ask | None = None,
) -> WordScores:
    """Walk the trees of words for P prompts, and return the words' scores.

    Masked models need a tree for each length of word (the number of mask tokens is part of the
    question); the others have one tree. With `tolerance` 0 every word is exact. `counts` [V, Y] is
    how much each word counts for each category, tree by tree; without it any word may count for
    any. Where the answers of `ask` are lower bounds, `ask_upper` gives the upper ones of every node
    (0, probability one, where `ask` was not called), at no cost.
    """
    log_p = [np.full((len(tree.prefix), n_prompts), -np.inf) for tree in trees]
    for table in log_p:
        table[ROOT] = 0.0
    inner = [
        (k, node) for k, tree in enumerate(trees) for node in tree.inner if node != ROOT
    ]
    depth = np.array([len(trees[k].prefix[node]) for k, node in inner])
    rule = AnyCategory(trees)
    if counts is not None and tolerance > 0 and ask_upper is None and inner:
        rule = KnownCategories(trees, inner, counts)
    skipped = np.zeros(n_prompts)
    answered = [np.zeros(table.shape, dtype=bool) for table in log_p]
    queries = [np.zeros_like(nodes) for nodes in answered]
    for tree, nodes in zip(trees, queries, strict=True):
        nodes[ROOT] = bool(tree.children[ROOT])
    while any(nodes.any() for nodes in queries):
        for k, answer in enumerate(ask(queries)):
            below = trees[k].below(queries[k])
            np.add(log_p[k][trees[k].parent], answer, out=log_p[k], where=below)
            answered[k] |= queries[k]
            queries[k] = np.zeros_like(below)
        if not inner:
            break
        bounds = np.exp(np.stack([log_p[k][node] for k, node in inner]))
        pending = np.stack(
            [
                answered[k][trees[k].parent[node]] & ~answered[k][node]
                for k, node in inner
            ]
        )
        rest, skipped = rule.judge(log_p, np.where(pending, bounds, 0.0), tolerance)
        is_queried = rest.any(axis=1)
        is_queried &= depth == depth[is_queried].min(initial=depth.max())
        for i in np.flatnonzero(is_queried):
            k, node = inner[i]
            queries[k][node] = rest[i]
    with np.errstate(divide="ignore"):
        coverage = np.log(rule.mass(log_p))
    log_u = log_p if ask_upper is None else _upper_tables(trees, n_prompts, ask_upper)
    lower = _word_log_probs(trees, log_p, log_u)
    if ask_upper is None:
        return WordScores(lower, coverage, skipped)
    upper = _word_log_probs(trees, log_u, log_p)
    return WordScores(
        lower, coverage, skipped, np.minimum(np.maximum(upper, lower), 0.0)
    )


def _upper_tables(trees: Sequence[Trie], n_prompts: int, ask: Ask) -> list[FloatArray]:
    """Return upper bounds of every node's log-probability: the most its prefix allows."""
    all_nodes = [np.zeros((len(tree.prefix), n_prompts), dtype=bool) for tree in trees]
    for tree, nodes in zip(trees, all_nodes, strict=True):
        nodes[list(tree.inner)] = True
    tables = [np.array(answer) for answer in ask(all_nodes)]
    for tree, table in zip(trees, tables, strict=True):
        table[ROOT] = 0.0
        for node in range(1, len(table)):
            table[node] += table[tree.parent[node]]
    return tables


def _word_log_probs(
    trees: Sequence[Trie], log_p: Sequence[FloatArray], log_longer: Sequence[FloatArray]
) -> FloatArray:
    """Return the log-probability of the words of all trees [P, words]."""
    triples = zip(trees, log_p, log_longer, strict=True)
    tables = [_terminal_log_probs(*triple) for triple in triples]
    return np.concatenate(tables, axis=0).T


def _terminal_log_probs(
    trie: Trie, log_p: FloatArray, log_longer: FloatArray
) -> FloatArray:
    """Return the log-probability of each sequence [words, P]; a lower bound of it where `log_p` is
    a lower and `log_longer` an upper bound, and the other way round.

    A word whose tokens begin another listed word ("her" before "her|s") stands for "this word and
    none of the longer ones", so that the events stay disjoint and no probability counts twice.
    """
    log_probs = np.empty((len(trie.terminal), log_p.shape[1]))
    for i, node in enumerate(trie.terminal):
        longer = trie.longer[node]
        if not longer:
            log_probs[i] = log_p[node]
            continue
        rest = np.exp(log_p[node]) - np.exp(log_longer[longer]).sum(axis=0)
        with np.errstate(divide="ignore"):
            log_probs[i] = np.log(np.maximum(rest, 0.0))
    return log_probs
