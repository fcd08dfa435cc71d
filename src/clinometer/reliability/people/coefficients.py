"""Agreement beyond chance: Fleiss, Cohen and Krippendorff.

Each statistic is a function of sums over items. `Sums` holds what one item adds, for each pattern
of judgements once; a bootstrap over items is then one product of counts [B, patterns] and these.
Every function takes `counts` of the patterns, shape [...], and returns an array of that shape; NaN
if the statistic is not defined (no item was judged twice, or all judgements are the same).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clinometer.statistics.arrays import FloatArray

Level = Literal["nominal", "interval"]


@dataclass(frozen=True, eq=False)
class Sums:
    """The distinct patterns [P, m] of judgements (-1 missing)."""

    patterns: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: FloatArray

    @classmethod
    def of(cls, codes: NDArray[np.int64], values: FloatArray) -> Sums:
        patterns, counts = np.unique(codes, axis=0, return_counts=True)
        return cls(patterns, counts, values)

    @cached_property
    def votes(self) -> FloatArray:
        """[P, K] judgements of each category in a pattern."""
        places = range(len(self.values))
        found = np.stack([(self.patterns == k).sum(axis=1) for k in places], axis=1)
        return found.astype(float)

    @cached_property
    def judged(self) -> FloatArray:
        """[P] judgements in a pattern."""
        return np.asarray(self.votes.sum(axis=1))


def observed_agreement(sums: Sums, counts: NDArray[np.int64]) -> FloatArray:
    """Share of pairs of judgements of an item that are the same, mean over items judged twice."""
    n = sums.judged
    twice = n >= 2
    same = (sums.votes * (sums.votes - 1)).sum(axis=1) / np.where(twice, n * (n - 1), 1)
    return _ratio(counts @ (same * twice), counts @ twice.astype(float))


def category_shares(sums: Sums, counts: NDArray[np.int64]) -> FloatArray:
    """[..., K] mean over items of the share of judgements in each category."""
    shares = sums.votes / np.maximum(sums.judged, 1)[:, None]
    any_ = counts @ (sums.judged >= 1).astype(float)
    return _ratio(counts @ shares, any_[..., None])


def fleiss_kappa(sums: Sums, counts: NDArray[np.int64]) -> FloatArray:
    """(P - P_e) / (1 - P_e) with P_e the sum of squared category shares (Fleiss 1971).

    Items may be judged by different numbers of people (Gwet 2014): each counts once in P if it was
    judged twice, and once in the shares if it was judged at all. 1: always the same judgement of
    an item; 0: as often as chance; negative: less.
    """
    by_chance = (category_shares(sums, counts) ** 2).sum(axis=-1)
    return _beyond(observed_agreement(sums, counts), by_chance)


def krippendorff_alpha(
    sums: Sums, counts: NDArray[np.int64], level: Level = "nominal"
) -> FloatArray:
    """1 - D_o / D_e, observed over expected disagreement; items judged once do not count.

    `level` says how far two categories are apart: the same or not, or by their difference.
    """
    n, votes = sums.judged, sums.votes
    twice = n >= 2
    pairs = votes[:, :, None] * votes[:, None, :] - votes[:, :, None] * np.eye(votes.shape[1])
    share = pairs * (twice / np.where(twice, n - 1, 1))[:, None, None]
    flat = counts @ share.reshape(len(share), -1)
    table = flat.reshape(*flat.shape[:-1], *share.shape[1:])  # coincidences [..., K, K]
    margin = table.sum(axis=-1)
    total = margin.sum(axis=-1)
    gaps = sums.values[:, None] - sums.values[None, :]
    apart = 1.0 - np.eye(len(gaps)) if level == "nominal" else gaps**2
    seen = (table * apart).sum(axis=(-2, -1))
    by_chance = (margin[..., :, None] * margin[..., None, :] * apart).sum(axis=(-2, -1))
    return 1 - _ratio(seen * (total - 1), by_chance)


def cohen_kappa(sums: Sums, counts: NDArray[np.int64], a: int, b: int) -> FloatArray:
    """Cohen's kappa of annotators a and b over the items that both have judged."""
    K = len(sums.values)
    x, y = sums.patterns[:, a], sums.patterns[:, b]
    cells = np.zeros((len(x), K * K))
    both = np.flatnonzero((x >= 0) & (y >= 0))
    cells[both, x[both] * K + y[both]] = 1
    flat = counts @ cells
    table = flat.reshape(*flat.shape[:-1], K, K)
    total = table.sum(axis=(-2, -1))
    apart = 1.0 - np.eye(K)
    margins = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    return 1 - _ratio(
        (table * apart).sum(axis=(-2, -1)) * total, (margins * apart).sum(axis=(-2, -1))
    )


def _beyond(observed: FloatArray, by_chance: FloatArray) -> FloatArray:
    return _ratio(observed - by_chance, 1 - by_chance)


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    """a / b; NaN if b is 0 up to rounding."""
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    return np.asarray(np.divide(a, b, out=np.full(a.shape, np.nan), where=np.abs(b) > 1e-12))
