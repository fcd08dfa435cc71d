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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinometer.models.protocol import WordScores
from clinometer.models.tokens import ROOT, Trie
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray

#: Most mass of unexpanded words, in multiples of the tolerance times the finished mass: single
#: words, and words that are counted for other categories later, stay that close.
MOST_MASS = 10.0


class AnyCategory:
    """The rule without categories: two words may count in any way."""

    def __init__(self, trees: Sequence[Trie]) -> None:
        #: terminals with no terminal above them: disjoint events whose union is all words
        self._tops = [
            [n for n in t.terminal if t.nearest_terminal_above(t.parent[n]) is None] for t in trees
        ]

    def mass(self, log_p: Sequence[FloatArray]) -> FloatArray:
        """The mass of all finished words [P]."""
        return np.asarray(
            sum(np.exp(t[top]).sum(axis=0) for t, top in zip(log_p, self._tops, strict=True))
        )

    def judge(
        self, log_p: Sequence[FloatArray], bounds: FloatArray, tolerance: float
    ) -> tuple[BoolArray, FloatArray]:
        """Judge prefixes by the upper bounds [N, P] of the words under them: those that must be
        expanded [N, P], and the bound of the others' effect on any preference, times the finished
        mass [P].

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
        self, trees: Sequence[Trie], inner: Sequence[tuple[int, int]], counts: FloatArray
    ) -> None:
        super().__init__(trees)
        first = np.cumsum([0, *(len(t.terminal) for t in trees)])
        self._signs = [
            _signs(t, counts[a:b]) for t, a, b in zip(trees, first[:-1], first[1:], strict=True)
        ]
        gains: list[FloatArray] = []
        starts: list[int] = []
        for k, node in inner:
            starts.append(len(gains))
            gains += _gains(trees[k], node, counts[first[k] : first[k + 1]])
        #: m_w - m_v [E, Y] and t_w - t_v [E] of the words under the prefixes, prefix by prefix
        self._gain = np.array(gains).reshape(len(gains), counts.shape[1])
        self._growth = self._gain.sum(axis=1)
        self._starts = np.array(starts, dtype=np.int64)

    def judge(
        self, log_p: Sequence[FloatArray], bounds: FloatArray, tolerance: float
    ) -> tuple[BoolArray, FloatArray]:
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

        def running(values: FloatArray) -> FloatArray:
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
        return expand, bound * mass

    def _most(self, values: FloatArray) -> FloatArray:
        """The largest of the words under each prefix, [E, P] -> [N, P]."""
        return np.asarray(np.maximum.reduceat(values, self._starts, axis=0))


def _signs(trie: Trie, counts: FloatArray) -> FloatArray:
    """[nodes, Y]: with the nodes' masses, the mass of each category. A word is the mass of its node
    less that of the longer words."""
    signs = np.zeros((len(trie.prefix), counts.shape[1]))
    for node, count in zip(trie.terminal, counts, strict=True):
        signs[node] += count
        signs[list(trie.nearest_terminals_below(node))] -= count
    return signs


def _gains(trie: Trie, node: int, counts: FloatArray) -> list[FloatArray]:
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


def _unsorted(values: BoolArray, order: IntArray) -> BoolArray:
    """Rows that were sorted by `order`, each column on its own, in their own places."""
    out = np.empty_like(values)
    np.put_along_axis(out, order, values, axis=0)
    return out


@dataclass(frozen=True)
class WordQuery:
    """Query: what follows `node` of tree `tree`, for each of these prompts?"""

    tree: int
    node: int
    prompts: IntArray


#: Answers questions: for each, log-probabilities [len(prompts), number of children of the node].
Ask = Callable[[Sequence[WordQuery]], Sequence[FloatArray]]


def scattered(parts: Iterable[tuple[IntArray, WordScores]], n_prompts: int) -> WordScores:
    """Scatter parts into one array as they arrive; each comes with the indices of its prompts."""
    whole: dict[str, Any] = {}
    for members, part in parts:
        for name, values in vars(part).items():
            if values is not None:
                if name not in whole:
                    whole[name] = np.empty((n_prompts, *values.shape[1:]))
                whole[name][members] = values
    if not whole:
        raise ValueError("there are no parts")
    return WordScores(**whole)


def expand(
    trees: Sequence[Trie],
    n_prompts: int,
    ask: Ask,
    *,
    tolerance: float = 0.0,
    counts: FloatArray | None = None,
    ask_upper: Ask | None = None,
) -> WordScores:
    """Walk the trees of words for P prompts.

    Masked models need a tree for each length of word (the number of mask tokens is part of the
    question); the others have one tree. With `tolerance` 0 every word is exact. `counts` [V, Y] is
    how much each word counts for each category, tree by tree; without it any word may count for
    any. Where the answers of `ask` are lower bounds, `ask_upper` gives the upper ones of every node
    (0, probability one, where `ask` was not called), at no cost.

    The nodes of one call of `ask` have one depth.
    """
    log_p = [np.full((len(t.prefix), n_prompts), -np.inf) for t in trees]
    for table in log_p:
        table[ROOT] = 0.0
    inner = [(k, n) for k, t in enumerate(trees) for n in t.inner if n != ROOT]
    depth = np.array([len(trees[k].prefix[n]) for k, n in inner])
    rule = AnyCategory(trees)
    if counts is not None and tolerance > 0 and ask_upper is None and inner:
        rule = KnownCategories(trees, inner, counts)
    pending = np.zeros((len(inner), n_prompts), dtype=bool)
    number = {node: i for i, node in enumerate(inner)}
    skipped, everyone = np.zeros(n_prompts), np.arange(n_prompts)
    questions = [WordQuery(k, ROOT, everyone) for k, t in enumerate(trees) if t.children[ROOT]]
    while questions:
        for q, answer in zip(questions, ask(questions), strict=True):
            table, below = log_p[q.tree], list(trees[q.tree].children[q.node])
            found = table[q.node, q.prompts] + answer.T
            if len(q.prompts) == n_prompts:
                table[below] = found
            else:
                table[np.array(below)[:, None], q.prompts] = found
            for node in {(q.tree, q.node), *((q.tree, n) for n in below)} & number.keys():
                pending[number[node], q.prompts] = node[1] != q.node
        if not inner:
            break
        bounds = np.exp(np.stack([log_p[k][n] for k, n in inner]))
        rest, skipped = rule.judge(log_p, np.where(pending, bounds, 0.0), tolerance)
        queried = rest.any(axis=1)
        queried &= depth == depth[queried].min(initial=depth.max())
        questions = [WordQuery(*inner[i], np.flatnonzero(rest[i])) for i in np.flatnonzero(queried)]
    with np.errstate(divide="ignore"):
        coverage = np.log(rule.mass(log_p))
    log_u = log_p if ask_upper is None else _upper_tables(trees, n_prompts, ask_upper)
    pairs = list(zip(trees, log_p, log_u, strict=True))
    lower = np.concatenate([_terminal_log_probs(t, low, high) for t, low, high in pairs], axis=0).T
    if ask_upper is None:
        return WordScores(lower, coverage, skipped)
    upper = np.concatenate([_terminal_log_probs(t, high, low) for t, low, high in pairs], axis=0).T
    return WordScores(lower, coverage, skipped, np.minimum(np.maximum(upper, lower), 0.0))


def _upper_tables(trees: Sequence[Trie], n_prompts: int, ask: Ask) -> list[FloatArray]:
    """Upper bounds of every node's log-probability: the most its prefix allows."""
    everyone = np.arange(n_prompts)
    tables = []
    for k, trie in enumerate(trees):
        table = np.zeros((len(trie.prefix), n_prompts))
        questions = [WordQuery(k, n, everyone) for n in trie.inner]
        for q, answer in zip(questions, ask(questions), strict=True):
            for j, child in enumerate(trie.children[q.node]):
                table[child] = table[q.node] + answer[:, j]
        tables.append(table)
    return tables


def _terminal_log_probs(trie: Trie, log_p: FloatArray, log_longer: FloatArray) -> FloatArray:
    """Log-probability of each sequence [words, P]; a lower bound of it where `log_p` is a lower and
    `log_longer` an upper bound, and the other way round.

    A word whose tokens begin another listed word ("her" before "her|s") stands for "this word and
    none of the longer ones", so that the events stay disjoint and no probability counts twice.
    """
    out = np.empty((len(trie.terminal), log_p.shape[1]))
    for i, node in enumerate(trie.terminal):
        longer = trie.nearest_terminals_below(node)
        if longer:
            rest = np.exp(log_p[node]) - np.exp(log_longer[list(longer)]).sum(axis=0)
            with np.errstate(divide="ignore"):
                out[i] = np.log(np.maximum(rest, 0.0))
        else:
            out[i] = log_p[node]
    return out
