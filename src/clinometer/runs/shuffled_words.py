"""The floor of an audit: its risks when the words of the categories are shuffled.

Even a meaningless category has a risk: its words are more or less probable than those of the
others. Risks are informative only compared with those of shuffled words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clinometer.measure import PreferenceGrid, Preferences, preference
from clinometer.measure.context_means import unit_means
from clinometer.measure.risk import decompose_grid
from clinometer.measure.risks import CONTEXT_RISKS, MEASURES
from clinometer.runs.folder.record import FloorRecord
from clinometer.runs.scores import word_counts
from clinometer.runs.stored_scores import stored_cells
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.percentile import central_interval

if TYPE_CHECKING:
    from clinometer.runs.run import Run

COMPARED_MEANS = tuple(risk for risk in CONTEXT_RISKS if risk.compared)
"""The means over contexts that are measured with shuffled words, too."""

SHUFFLES = 99
"""How often the words are shuffled."""

MOST_CELLS = 24_000
"""Larger audits sample contexts by weight: the variation between shuffles is far larger."""

LEVEL = 0.95
"""The share of the shuffles between the ends of an interval."""

CELLS_IN_MEMORY = 8_192
"""Cells whose probabilities are in memory at a time."""

ROUNDING = 1e-9
"""A risk of shuffled words that is lower by less counts as just as high."""


def word_floor(run: Run) -> FloorRecord:
    """Return what shuffled words give, from the stored scores of a run.

    Words are swapped with words of similar probability, so that each category keeps about the same
    total probability. A p-value is the share of shuffles, including the original words, whose risk
    is at least as high.
    """
    weights = _sampled_weights(run.preferences)
    contexts = np.flatnonzero(weights)
    log_probs, mean = _read_log_probs(run, contexts)
    part = run.preferences.only(contexts=contexts.tolist())
    grid = replace(part, context_weights=weights[contexts]).grid
    counts = [word_counts(run.record), *shuffled_counts(run, SHUFFLES, 0, mean)]
    risks = _risks_of_lists(grid, log_probs, counts)
    floor: dict[str, Any] = {"shuffles": SHUFFLES}
    for name in MEASURES:
        floor[name] = _chance_estimate(risks[name][1:])
    floor["p"] = _share_as_high(risks["R"])
    several_groups = len(run.preferences.groups) > 1
    for risk in COMPARED_MEANS:
        p_name = f"p_{risk.name.removeprefix('R_')}"
        floor[risk.name] = None
        floor[p_name] = None
        if several_groups or not risk.needs_groups:
            floor[risk.name] = _chance_estimate(risks[risk.name][1:])
            floor[p_name] = _share_as_high(risks[risk.name])
    return FloorRecord(**floor)


def _sampled_weights(p: Preferences) -> FloatArray:
    """Return the weights of the contexts [C], of a large audit those of a sample: most are 0."""
    X, C, _ = p.values.shape
    weights = np.asarray(p.context_weights / p.context_weights.sum())
    affordable = max(1, MOST_CELLS // X)
    if affordable >= C:
        return weights
    return np.random.default_rng(0).multinomial(affordable, weights).astype(float)


def _risks_of_lists(
    grid: PreferenceGrid, log_probs: NDArray[np.float32], counts: list[FloatArray]
) -> dict[str, FloatArray]:
    """Return the risks that runs are compared by, each [L] under L lists of words.

    Every list contains the same words, so each has the same total: one matrix product.
    """
    n_lists = len(counts)
    p_by_list = preference(log_probs, np.concatenate(counts, axis=1)).p * n_lists
    rows = []
    for values in np.split(p_by_list, n_lists, axis=2):
        shuffled = grid.holding(values)
        summary = decompose_grid(shuffled).summary
        means = unit_means(shuffled, COMPARED_MEANS).means
        rows.append([*(summary[name].value for name in MEASURES), *means])
    names = [*MEASURES, *(risk.name for risk in COMPARED_MEANS)]
    return dict(zip(names, np.array(rows).T, strict=True))


def _chance_estimate(by_chance: FloatArray) -> Estimate:
    """Return the mean of a risk over the shuffles with their interval, which contains the mean."""
    mean = float(by_chance.mean())
    low, high = central_interval(by_chance, LEVEL).tolist()
    return Estimate(mean, min(low, mean), max(high, mean), LEVEL, "shuffled words")


def _share_as_high(risks: FloatArray) -> float:
    """Return the share of the lists whose risk is at least that of the first, the measured one."""
    return float((risks >= risks[0] - ROUNDING).mean())


def mean_probabilities(run: Run) -> FloatArray:
    """Return the mean probability of each word [V] over groups and contexts, by weight."""
    _, mean = _read_log_probs(run, np.empty(0, dtype=np.intp))
    return mean


def _read_log_probs(
    run: Run, contexts: NDArray[np.intp]
) -> tuple[NDArray[np.float32], FloatArray]:
    """Return log-probabilities [X,c,V] in some contexts [c], and the mean probability of each word
    [V] in all of them."""
    p = run.preferences
    X, C, _ = p.values.shape
    context_weights = p.context_weights / p.context_weights.sum()
    group_weights = p.group_weights / p.group_weights.sum()
    position = np.full(C, -1)
    position[contexts] = np.arange(contexts.size)
    mean = np.zeros(len(run.record.scored_words.words))
    log_probs = np.zeros((X, contexts.size, len(mean)), dtype=np.float32)
    for x, c, scores in stored_cells(run):
        weights = group_weights[x] * context_weights[c]
        for start in range(0, len(x), CELLS_IN_MEMORY):
            rows = slice(start, start + CELLS_IN_MEMORY)
            mean += weights[rows] @ np.exp(scores.log_probs[rows], dtype=np.float64)
        wanted = position[c] >= 0
        log_probs[x[wanted], position[c[wanted]]] = scores.log_probs[wanted]
    return log_probs, mean


def shuffled_counts(run: Run, n: int, seed: int, mean: FloatArray) -> list[FloatArray]:
    """Return n counts [V,Y] with words swapped between the categories.

    Only among words of similar probability (blocks of 2K neighbours in rank of `mean`, the words'
    mean probabilities), so that each category keeps about the same total probability.
    """
    counts = word_counts(run.record)
    used = np.flatnonzero(counts.any(axis=1))
    by_probability = used[np.argsort(-mean[used], kind="stable")]
    size = 2 * counts.shape[1]
    rng = np.random.default_rng(seed)
    lists: list[FloatArray] = []
    for _ in range(n):
        shuffled = np.zeros_like(counts)
        for start in range(0, len(by_probability), size):
            block = by_probability[start : start + size]
            shuffled[block] = counts[rng.permutation(block)]
        lists.append(shuffled)
    return lists
