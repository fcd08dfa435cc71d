"""Agreement of annotators beyond chance: Fleiss' and Cohen's kappa, and Krippendorff's alpha.

Every statistic takes `counts` of the patterns of judgements, shape [...], and returns an array of
that shape; NaN where it is not defined (no item was judged twice, or all judgements are the same).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from clinometer.reliability.ratings import count_votes
from clinometer.statistics.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Patterns:
    """Each pattern of judgements that items have, once: a bootstrap over items is then one product
    of counts [B, P] and what an item of each pattern adds to a statistic."""

    codes: IntArray
    """[P, m] the judgements of a pattern, one an annotator; -1 missing."""

    counts: IntArray
    """[P] the items that have it."""

    values: FloatArray
    """[K] the value of each category."""

    @classmethod
    def of(cls, codes: IntArray, values: FloatArray) -> Patterns:
        patterns, counts = np.unique(codes, axis=0, return_counts=True)
        return cls(patterns, counts, values)

    @cached_property
    def votes(self) -> FloatArray:
        """[P, K] judgements of each category in a pattern."""
        return count_votes(self.codes, len(self.values)).astype(float)

    @cached_property
    def judgements(self) -> FloatArray:
        """[P] judgements in a pattern."""
        return np.asarray(self.votes.sum(axis=1))


def observed_agreement(patterns: Patterns, counts: IntArray) -> FloatArray:
    """Return the share of pairs of judgements of an item that are the same, mean over items judged
    twice."""
    n = patterns.judgements
    is_paired = n >= 2
    equal_pairs = (patterns.votes * (patterns.votes - 1)).sum(axis=1)
    share = equal_pairs / np.where(is_paired, n * (n - 1), 1)
    return _ratio(counts @ (share * is_paired), counts @ is_paired.astype(float))


def category_shares(patterns: Patterns, counts: IntArray) -> FloatArray:
    """Return the mean over items of the share of judgements in each category [..., K]."""
    n = patterns.judgements
    shares = patterns.votes / np.maximum(n, 1)[:, None]
    items = counts @ (n >= 1).astype(float)
    return _ratio(counts @ shares, items[..., None])


def fleiss_kappa(patterns: Patterns, counts: IntArray) -> FloatArray:
    """Return (P - P_e) / (1 - P_e) with P_e the sum of squared category shares (Fleiss 1971).

    Items may be judged by different numbers of people (Gwet 2014): each counts once in P if it was
    judged twice, and once in the shares if it was judged at all. 1: always the same judgement of
    an item; 0: as often as chance; negative: less.
    """
    by_chance = (category_shares(patterns, counts) ** 2).sum(axis=-1)
    return _ratio(observed_agreement(patterns, counts) - by_chance, 1 - by_chance)


def krippendorff_alpha(
    patterns: Patterns,
    counts: IntArray,
    level: Literal["nominal", "interval"] = "nominal",
) -> FloatArray:
    """Return 1 - D_o / D_e, observed over expected disagreement; items judged once do not count.

    `level` says how far two categories are apart: the same or not, or by their difference.
    """
    n = patterns.judgements
    votes = patterns.votes
    is_paired = n >= 2
    identity = np.eye(len(patterns.values))
    pairs = votes[:, :, None] * votes[:, None, :] - votes[:, :, None] * identity
    weights = is_paired / np.where(is_paired, n - 1, 1)
    distances = 1.0 - identity
    if level == "interval":
        distances = (patterns.values[:, None] - patterns.values[None, :]) ** 2
    coincidences = pairs * weights[:, None, None]
    return _beyond_chance(coincidences, counts, distances, degrees_lost=1)


def cohen_kappa(patterns: Patterns, counts: IntArray, a: int, b: int) -> FloatArray:
    """Return Cohen's kappa of annotators a and b over the items that both have judged."""
    x = patterns.codes[:, a]
    y = patterns.codes[:, b]
    K = len(patterns.values)
    cells = np.zeros((len(x), K, K))
    both = np.flatnonzero((x >= 0) & (y >= 0))
    cells[both, x[both], y[both]] = 1
    return _beyond_chance(cells, counts, 1.0 - np.eye(K), degrees_lost=0)


def _beyond_chance(
    pairs: FloatArray, counts: IntArray, distances: FloatArray, *, degrees_lost: int
) -> FloatArray:
    """Return 1 - observed over expected disagreement of the pairs [P, K, K] of each pattern.

    `distances` [K, K] say how far two categories are apart. `degrees_lost` is 1 where a judgement
    is not paired with itself.
    """
    flat = counts @ pairs.reshape(len(pairs), -1)
    table = flat.reshape(*flat.shape[:-1], *pairs.shape[1:])
    rows = table.sum(axis=-1)
    columns = table.sum(axis=-2)
    observed = (table * distances).sum(axis=(-2, -1))
    expected_table = rows[..., :, None] * columns[..., None, :]
    expected = (expected_table * distances).sum(axis=(-2, -1))
    return 1 - _ratio(observed * (rows.sum(axis=-1) - degrees_lost), expected)


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return numerator / denominator; NaN if the denominator is 0 up to rounding."""
    is_zero = np.abs(denominator) <= 1e-12
    return np.asarray(numerator / np.where(is_zero, np.nan, denominator))
