"""The floor of an audit: its risks when the words of the categories are shuffled.

Even a meaningless category has a risk: its words are more or less probable than those of the
others. Risks are informative only compared with those of shuffled words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clinometer.measure import preference
from clinometer.measure.inference import group_split
from clinometer.measure.risk import decompose_grid
from clinometer.runs.folder.record import FloorRecord
from clinometer.runs.scores.accumulate import stored_cells, word_counts
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate, central_interval

if TYPE_CHECKING:
    from clinometer.runs.run import Run


SHUFFLES = 99
MOST_CELLS = 24_000
"""Larger audits sample contexts by weight: the variation between shuffles is far larger."""

#: Cells whose probabilities are in memory at a time.
_ROWS = 8_192


def word_floor(run: Run) -> FloorRecord:
    """What shuffled words give, from the stored scores of a run.

    Words are swapped with words of similar probability, so that each category keeps about the same
    total probability. A p-value is the share of shuffles, including the original words, whose risk
    is at least as high.
    """
    p = run.preferences
    X, C, _ = p.values.shape
    weights = np.asarray(p.context_weights / p.context_weights.sum())
    most = max(1, MOST_CELLS // X)
    if most < C:
        weights = np.random.default_rng(0).multinomial(most, weights).astype(float)
    kept = np.flatnonzero(weights)
    log_probs, mean = _read(run, kept)
    grid = replace(p.only(contexts=kept.tolist()), context_weights=weights[kept]).grid
    counts = [word_counts(run.record), *shuffled_counts(run, SHUFFLES, 0, mean)]
    # Every list contains the same words, so each has the same total: one matrix product.
    p_by_list = preference(log_probs, np.concatenate(counts, axis=1)).p * len(counts)
    found = []
    for values in np.split(p_by_list, len(counts), axis=2):
        shuffled = grid.holding(values)
        whole = decompose_grid(shuffled)
        split = group_split(shuffled)
        between = split["R_between"].value if split else 0.0
        found.append((whole.R.value, whole.R_bias.value, whole.R_volatility.value, between))
    measured, by_chance = np.array(found[0]), np.array(found[1:])
    level = 0.95
    ends = np.array(central_interval(by_chance, level))
    middle = by_chance.mean(axis=0)
    R, R_bias, R_volatility, R_between = (
        Estimate(float(v), float(min(a, v)), float(max(b, v)), level, "shuffled words")
        for v, a, b in zip(middle, ends[0], ends[1], strict=True)
    )
    above = (1 + (by_chance >= measured - 1e-9).sum(axis=0)) / (1 + SHUFFLES)
    alone = X < 2
    return FloorRecord(
        shuffles=SHUFFLES,
        R=R,
        R_bias=R_bias,
        R_volatility=R_volatility,
        R_between=None if alone else R_between,
        p=float(above[0]),
        p_between=None if alone else float(above[3]),
    )


def mean_probabilities(run: Run) -> FloatArray:
    """[V], the mean probability of each word over groups and contexts, by weight."""
    return _read(run, np.empty(0, dtype=np.intp))[1]


def _read(run: Run, kept: NDArray[np.intp]) -> tuple[NDArray[np.float32], FloatArray]:
    """Log-probabilities [X,C,V] in some contexts, and the mean probability of each word [V]."""
    p = run.preferences
    X, C, _ = p.values.shape
    weights = p.context_weights / p.context_weights.sum()
    groups = p.group_weights / p.group_weights.sum()
    row = np.full(C, -1)
    row[kept] = np.arange(kept.size)
    mean = np.zeros(len(run.record.scored_words.words))
    chosen = np.zeros((X, kept.size, len(mean)), dtype=np.float32)
    for x, c, scores in stored_cells(run):
        weight = groups[x] * weights[c]
        for start in range(0, len(x), _ROWS):
            some = slice(start, start + _ROWS)
            mean += weight[some] @ np.exp(scores.log_probs[some], dtype=np.float64)
        inside = row[c] >= 0
        chosen[x[inside], row[c[inside]]] = scores.log_probs[inside]
    return chosen, mean


def shuffled_counts(run: Run, n: int, seed: int, mean: FloatArray) -> list[FloatArray]:
    """n counts [V,Y] with words swapped between the categories.

    Only among words of similar probability (blocks of 2K neighbours in rank of `mean`, the words'
    mean probabilities), so that each category keeps about the same total probability.
    """
    counts = word_counts(run.record)
    used = np.flatnonzero(counts.any(axis=1))
    order = used[np.argsort(-mean[used], kind="stable")]
    size = 2 * counts.shape[1]
    rng = np.random.default_rng(seed)
    found: list[FloatArray] = []
    while len(found) < n:
        shuffled = np.zeros_like(counts)
        for start in range(0, len(order), size):
            block = order[start : start + size]
            shuffled[block] = counts[rng.permutation(block)]
        found.append(shuffled)
    return found
