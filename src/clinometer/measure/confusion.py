"""How often a judge says what people say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Replies by people's category (rows) and the judge's (columns)."""

    categories: tuple[str, ...]
    """K of them."""

    counts: FloatArray
    """[K,K], replies."""

    left_out: int = 0
    """Labelled replies that people or judge put into no category."""

    def __post_init__(self) -> None:
        """Raise where the matrix could not be used."""
        K = len(self.categories)
        if self.counts.shape != (K, K):
            raise SettingsError(
                f"confusion: expected [{K}, {K}], found {self.counts.shape}"
            )
        labelled = self.counts.sum(axis=1).tolist()
        for name, n in zip(self.categories, labelled, strict=True):
            if n < LEAST_LABELS:
                raise SettingsError(
                    f"labels: expected at least {LEAST_LABELS} replies that people call {name!r}, "
                    f"found {n:g}; label more replies"
                )
        least = _least_singular_value(self.matrix)
        if least < WEAKEST:
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
        position = {name: i for i, name in enumerate(categories)}
        counts = np.zeros((len(position), len(position)))
        left_out = 0
        for by_people, by_judge in zip(people, judge, strict=True):
            if by_people in position and by_judge in position:
                counts[position[by_people], position[by_judge]] += 1
            else:
                left_out += 1
        return cls(tuple(categories), counts, left_out)

    @property
    def matrix(self) -> FloatArray:
        """Return the probability of the judge's category (column) given people's (row), [K,K]."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def agreement(self) -> float:
        """Return the share of replies on which both say the same."""
        return float(np.trace(self.counts) / self.counts.sum())

    @property
    def kappa(self) -> float | None:
        """Return Cohen's kappa; None where either side has one category only."""
        shares = self.counts / self.counts.sum()
        by_chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
        if by_chance > 1 - 1e-12:
            return None
        return (self.agreement - by_chance) / (1 - by_chance)

    def like(self, n: int) -> Iterator[FloatArray]:
        """Yield n matrices [K,K] that could have given these counts.

        A share of 0 is not certain: a label is added to each row, spread evenly. Matrices that
        could hardly be inverted are left out.
        """
        rng = np.random.default_rng(0)
        K = len(self.categories)
        remaining = n
        while remaining:
            rows = [rng.dirichlet(row + 1.0 / K) for row in self.counts]
            matrix = np.stack(rows)
            if _least_singular_value(matrix) >= WEAKEST / 2:
                remaining -= 1
                yield matrix


def _least_singular_value(matrix: FloatArray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])


def unlike(parts: Sequence[Confusion]) -> float:
    """Return the p-value of the same errors in all parts (groups of people, say): a likelihood
    ratio.

    A small one means that one matrix for all is wrong: the judge errs more about some.

    >>> fair = Confusion(("a", "b"), np.array([[90.0, 10.0], [10.0, 90.0]]))
    >>> hard = Confusion(("a", "b"), np.array([[60.0, 40.0], [10.0, 90.0]]))
    >>> unlike([fair, fair]), round(unlike([fair, hard]), 6)
    (1.0, 3e-06)
    """
    tables = np.stack([part.counts for part in parts])
    pooled = tables.sum(axis=0)
    pooled_matrix = pooled / pooled.sum(axis=1, keepdims=True)
    expected = pooled_matrix * tables.sum(axis=2, keepdims=True)
    occurs = tables > 0
    terms = tables[occurs] * np.log(tables[occurs] / expected[occurs])
    ratio = 2 * float(terms.sum())
    categories_used = np.count_nonzero(pooled, axis=1)
    degrees = int((categories_used - 1).sum()) * (len(parts) - 1)
    if degrees == 0:
        return 1.0
    return float(chdtrc(degrees, max(ratio, 0.0)))
