"""Exact word probabilities by the chain rule, with no more queries than a tolerance needs.

A word's probability is the product of its tokens' probabilities along a path of the tree of words.
The tree is walked level by level. A word cannot be more probable than its own prefix, so after each
level every unfinished prefix has a known upper bound; prefixes that together cannot move any
preference by more than the tolerance are not expanded, and the bound is reported.

Why `U / M` is the bound, with finished mass M, of which N_y in category y, and unfinished words of
true mass at most U. Those that extend no finished word have a mass A, of which a_y in y, and move
the preference from N_y / M to (N_y + a_y) / (M + A), at most A / (M + A) away. Those that extend a
finished word ("hers" from "her") take their mass B from it: M stays, N_y moves by at most B.
Together that is at most (A + B) / (M + A) <= U / M.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from clinometer.models.protocol import WordScores
from clinometer.models.tokens.word_trie import ROOT, Trie

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WordQuery:
    """Query: what follows `node` of tree `tree`, for each of these prompts?"""

    tree: int
    node: int
    prompts: NDArray[np.intp]


#: Answers questions: for each, log-probabilities [len(prompts), number of children of the node].
Ask = Callable[[Sequence[WordQuery]], Sequence[Floats]]


def scattered(parts: Iterable[tuple[NDArray[np.intp], WordScores]], n_prompts: int) -> WordScores:
    """Scatter parts into one array as they arrive; each comes with the indices of its prompts."""
    whole: WordScores | None = None
    for members, part in parts:
        if whole is None:
            whole = part.room_for(n_prompts)
        for field in fields(WordScores):
            place, values = getattr(whole, field.name), getattr(part, field.name)
            if values is not None:
                place[members] = values
    if whole is None:
        raise ValueError("there are no parts")
    return whole


def expand(
    trees: Sequence[Trie],
    n_prompts: int,
    ask: Ask,
    *,
    tolerance: float = 0.0,
    ask_upper: Ask | None = None,
) -> WordScores:
    """Walk the trees of words for P prompts.

    Masked models need a tree for each length of word (the number of mask tokens is part of the
    question); the others have one tree. With `tolerance` 0 every word is exact. Where the answers
    of `ask` are lower bounds, `ask_upper` gives the upper ones of every node (0, probability one,
    where `ask` was not called), at no cost.
    """
    log_p = [np.full((len(t.prefix), n_prompts), -np.inf) for t in trees]
    for table in log_p:
        table[ROOT] = 0.0
    tops = [_topmost_terminals(t) for t in trees]
    skipped = np.zeros(n_prompts)
    everyone = np.arange(n_prompts)
    levels = [t.levels() for t in trees]
    for depth in range(max((len(level) for level in levels), default=0)):
        nodes = [
            (k, n) for k, level in enumerate(levels) if depth < len(level) for n in level[depth]
        ]
        if depth == 0:
            questions = [WordQuery(k, n, everyone) for k, n in nodes]
        else:
            mass = sum(
                np.exp(table[top]).sum(axis=0) for table, top in zip(log_p, tops, strict=True)
            )
            bounds = np.exp(np.stack([log_p[k][n] for k, n in nodes]))
            keep = _worth_asking(bounds, tolerance * mass - skipped)
            skipped += np.where(keep, 0.0, bounds).sum(axis=0)
            questions = [
                WordQuery(k, n, np.flatnonzero(row))
                for (k, n), row in zip(nodes, keep, strict=True)
                if row.any()
            ]
        for q, answer in zip(questions, ask(questions), strict=True):
            table, below = log_p[q.tree], list(trees[q.tree].children[q.node])
            found = table[q.node, q.prompts] + answer.T
            if len(q.prompts) == n_prompts:
                table[below] = found
            else:
                table[np.array(below)[:, None], q.prompts] = found
    with np.errstate(divide="ignore"):
        coverage = np.log(
            sum(np.exp(table[top]).sum(axis=0) for table, top in zip(log_p, tops, strict=True))
        )
    log_u = log_p if ask_upper is None else _upper_tables(trees, n_prompts, ask_upper)
    pairs = list(zip(trees, log_p, log_u, strict=True))
    lower = np.concatenate([_terminal_log_probs(t, low, high) for t, low, high in pairs], axis=0).T
    if ask_upper is None:
        return WordScores(lower, coverage, skipped)
    upper = np.concatenate([_terminal_log_probs(t, high, low) for t, low, high in pairs], axis=0).T
    return WordScores(lower, coverage, skipped, np.minimum(np.maximum(upper, lower), 0.0))


def _upper_tables(trees: Sequence[Trie], n_prompts: int, ask: Ask) -> list[Floats]:
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


def _worth_asking(bounds: Floats, budget: Floats) -> NDArray[np.bool_]:
    """Which of the pending prefixes [N, P] must be expanded for the rest to stay in the budget.

    The smallest are skipped first; a prefix of probability 0 costs nothing and is never expanded.
    """
    order = np.argsort(bounds, axis=0, kind="stable")
    running = np.cumsum(np.take_along_axis(bounds, order, axis=0), axis=0)
    keep_sorted = running > np.maximum(budget, 0.0)
    keep = np.empty_like(keep_sorted)
    np.put_along_axis(keep, order, keep_sorted, axis=0)
    return keep


def _topmost_terminals(trie: Trie) -> list[int]:
    """Terminals with no terminal above them: disjoint events whose union is all words."""
    ends = set(trie.terminal)

    def has_terminal_above(node: int) -> bool:
        node = trie.parent[node]
        while node > 0:
            if node in ends:
                return True
            node = trie.parent[node]
        return False

    return [n for n in trie.terminal if not has_terminal_above(n)]


def _terminal_log_probs(trie: Trie, log_p: Floats, log_longer: Floats) -> Floats:
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
