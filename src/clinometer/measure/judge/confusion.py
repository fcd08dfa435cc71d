"""How often a judge says what people say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray

LEAST_LABELS = 5
"""Replies of each category, by people, that a matrix needs."""

WEAKEST = 0.1
"""The least singular value of a matrix that can be inverted with any use."""


@dataclass(frozen=True, eq=False)
class Confusion:
    """Replies by people's category (rows) and the judge's (columns).

    categories   K of them
    counts       [K, K]
    left_out     labelled replies that people or judge put into no category
    """

    categories: tuple[str, ...]
    counts: FloatArray
    left_out: int = 0

    def __post_init__(self) -> None:
        """Raise where the matrix could not be used."""
        K = len(self.categories)
        if self.counts.shape != (K, K):
            raise SettingsError(f"confusion: expected [{K}, {K}], found {self.counts.shape}")
        for name, n in zip(self.categories, self.counts.sum(axis=1).tolist(), strict=True):
            if n < LEAST_LABELS:
                raise SettingsError(
                    f"labels: expected at least {LEAST_LABELS} replies that people call {name!r}, "
                    f"found {n:g}; label more replies"
                )
        if (least := float(np.linalg.svd(self.matrix, compute_uv=False)[-1])) < WEAKEST:
            raise SettingsError(
                f"judge: its category hardly depends on people's (least singular value "
                f"{least:.2f} of their matrix, at least {WEAKEST:g} needed): use another judge"
            )

    @classmethod
    def of(
        cls, people: Sequence[str], judge: Sequence[str], categories: Sequence[str]
    ) -> Confusion:
        """Count pairs of labels; what is no category on either side is left out.

        >>> people, judge = ["yes"] * 10 + ["no"] * 10, ["yes"] * 11 + ["no"] * 9
        >>> Confusion.of(people, judge, ["yes", "no"]).matrix.round(2).tolist()
        [[1.0, 0.0], [0.1, 0.9]]
        """
        if len(people) != len(judge):
            raise SettingsError(
                f"labels: expected one of the judge for each of people, found {len(judge)} for "
                f"{len(people)}"
            )
        place = {name: i for i, name in enumerate(categories)}
        counts = np.zeros((len(place), len(place)))
        known = [(a, b) for a, b in zip(people, judge, strict=True) if a in place and b in place]
        for a, b in known:
            counts[place[a], place[b]] += 1
        return cls(tuple(categories), counts, len(people) - len(known))

    @property
    def matrix(self) -> FloatArray:
        """[K, K]: probability of the judge's category (column) given people's (row)."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def agreement(self) -> float:
        """Share of replies on which both say the same."""
        return float(np.trace(self.counts) / self.counts.sum())

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None where either side has one category only."""
        shares = self.counts / self.counts.sum()
        chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
        return None if chance > 1 - 1e-12 else (self.agreement - chance) / (1 - chance)

    def covariance(self, row: int) -> FloatArray:
        """[K, K]: of the shares of a row. A share of 0 is not certain: a label is added, spread
        evenly."""
        n = float(self.counts[row].sum())
        share = (self.counts[row] + 1.0 / len(self.categories)) / (n + 1.0)
        return np.asarray((np.diag(share) - np.outer(share, share)) / n)


def unlike(parts: Sequence[Confusion]) -> float:
    """p-value of the same errors in all parts (groups of people, say): a likelihood ratio.

    A small one means that one matrix for all is wrong: the judge errs more about some.

    >>> fair = Confusion(("a", "b"), np.array([[90.0, 10.0], [10.0, 90.0]]))
    >>> hard = Confusion(("a", "b"), np.array([[60.0, 40.0], [10.0, 90.0]]))
    >>> unlike([fair, fair]), round(unlike([fair, hard]), 6)
    (1.0, 3e-06)
    """
    tables = np.stack([one.counts for one in parts])
    pooled = tables.sum(axis=0)
    expected = pooled / pooled.sum(axis=1, keepdims=True) * tables.sum(axis=2, keepdims=True)
    seen = tables > 0
    ratio = 2 * float((tables[seen] * np.log(tables[seen] / expected[seen])).sum())
    free = int((np.count_nonzero(pooled, axis=1) - 1).sum()) * (len(parts) - 1)
    return 1.0 if free == 0 else float(chdtrc(free, max(ratio, 0.0)))
