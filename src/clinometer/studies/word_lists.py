"""Other word lists that can be evaluated from the stored scores of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import RunError
from clinometer.runs import Run
from clinometer.runs.scores.accumulate import stored_scores, word_counts
from clinometer.runs.scores.shuffled_words import mean_probabilities
from clinometer.statistics.arrays import FloatArray

Ranked = dict[str, list[str]]


def by_probability(run: Run) -> Ranked:
    """The words of each category that count, from the most to the least probable."""
    words = run.record.scored_words.words
    counted = np.asarray(word_counts(run.record).any(axis=1))
    order = [words[i] for i in np.argsort(-mean_probabilities(run), kind="stable") if counted[i]]
    return {
        category: [w for w in order if w in members]
        for category, members in run.record.topic.attributes.items()
    }


def word_lists(run: Run, ranked: Ranked) -> dict[str, dict[str, Any]]:
    """Defensible word lists, as arguments of `word_counts`."""
    tokens = run.record.scored_words.tokens
    shared = run.record.topic.shared
    lists: dict[str, dict[str, Any]] = {
        "single-token words": {"keep": [w for w, t in tokens.items() if len(t) == 1]}
    }
    if run.record.scored_words.shared:
        other = "drop" if shared == "split" else "split"
        lists[f"shared words: {other}"] = {"shared": other}
    parts = {
        "without the most probable of each category": [w[1:] for w in ranked.values()],
        "more probable half": [w[: (len(w) + 1) // 2] for w in ranked.values()],
        "less probable half": [w[(len(w) + 1) // 2 :] for w in ranked.values()],
    }
    for name, kept in parts.items():
        lists[name] = {"keep": [word for words in kept for word in words]}
    return lists


def random_halves(ranked: Ranked, n: int, seed: int) -> list[list[str]]:
    """n lists of half the words: the same ranks in each category, so they stay comparable.

    None for lists of fewer than four words.
    """
    longest = max(len(words) for words in ranked.values())
    if min(len(words) for words in ranked.values()) < 4:
        return []
    rng = np.random.default_rng(seed)
    halves = []
    for _ in range(n):
        # Keep one of every two neighbouring ranks: each category keeps half of its words.
        ranks = {2 * i + int(second) for i, second in enumerate(rng.random(longest) < 0.5)}
        halves.append([w for words in ranked.values() for i, w in enumerate(words) if i in ranks])
    return halves


def risks_under(run: Run, counts: list[FloatArray]) -> FloatArray:
    """[S,3]: R, R^b, R^v of the stored scores under each count of the words, in one reading.

    Same as `decompose` of `recounted`, without the preferences of all counts in memory at once.
    """
    p = run.preferences
    (X, _, K), S = p.values.shape, len(counts)
    if isinstance(p.reference, str):
        raise RunError(
            f"{run.model}: word lists: expected a reference of fixed shares, found group-mean"
        )
    reference = np.full(K, 1.0 / K) if p.reference is None else p.reference
    criterion = run.risks.criterion
    weights = p.context_weights / p.context_weights.sum()
    stacked = np.concatenate(counts, axis=1)
    total, risk, mean = np.zeros((X, S)), np.zeros((X, S)), np.zeros((X, S, K))
    for x, c, log_probs in _blocks(run, width=S * K):
        top = log_probs.max(axis=1, keepdims=True)
        mass = np.exp(log_probs - np.where(np.isfinite(top), top, 0.0)) @ stacked
        mass = mass.reshape(-1, S, K)
        whole = mass.sum(axis=2)
        seen = whole > 0
        s = criterion.stereotypes(
            mass / np.where(seen, whole, 1.0)[..., None], reference[None, None]
        )
        w = weights[c][:, None] * seen
        np.add.at(total, x, w)
        np.add.at(risk, x, w * criterion(s))
        np.add.at(mean, x, w[..., None] * s)
    seen = total > 0
    divisor = np.where(seen, total, 1.0)
    bias = criterion(mean / divisor[..., None])
    share = p.group_weights[:, None] * seen
    share = share / share.sum(axis=0)
    R, R_bias = (share * risk / divisor).sum(axis=0), (share * bias).sum(axis=0)
    return np.stack([R, R_bias, R - R_bias], axis=1)


def _blocks(
    run: Run, *, width: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]]:
    """Stored cells in blocks, so that `width` numbers per cell stay within 32 MB."""
    step = max(1, (1 << 22) // width)
    for x, c, log_probs in stored_scores(run):
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            yield x[rows], c[rows], log_probs[rows].astype(np.float64)
