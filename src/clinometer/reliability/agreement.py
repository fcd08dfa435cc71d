"""Do annotators agree? Percent agreement, how much of it is chance, and who deviates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np

from clinometer.display.numbers import percent
from clinometer.display.text import plain
from clinometer.errors import TableError
from clinometer.reliability.beyond_chance import (
    Patterns,
    category_shares,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    observed_agreement,
)
from clinometer.reliability.ratings import Ratings
from clinometer.settings import LEVEL, REPLICATES, SEED
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.percentile import (
    percentile_estimate,
    resampled_counts,
)

NO_MAJORITY = "no majority"

SKEWED = 0.75
"""Above this share of one category, kappa says more about the skew than about the annotators."""

MIN_GAP = 0.25
"""Annotators whose shares of a category are this far apart use the categories differently."""


@dataclass(frozen=True)
class PairKappa:
    """Cohen's kappa of two annotators over the n items both have judged."""

    a: str
    b: str
    n: int
    kappa: Estimate | None


@dataclass(frozen=True)
class AnnotatorRow:
    """One annotator's judgements, and how often the majority disagreed (Figure 4)."""

    annotator: str

    n: int
    """Items that the annotator judged."""

    shares: Mapping[str, float]
    """The share of each category in the annotator's judgements."""

    against: Mapping[str, int]
    """Category -> items with this majority for which the annotator chose another."""

    with_majority: Mapping[str, int]
    """Category -> items with this majority that the annotator judged."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of annotators about items."""

    items: int
    judged_twice: int
    annotators: tuple[AnnotatorRow, ...]
    judgements: int

    levels: tuple[tuple[str, Fraction, int], ...]
    """(Category, its share of the judgements, items): Table 1; ties are NO_MAJORITY."""

    observed: Estimate | None
    """The share of pairs of judgements of an item that agree."""

    fleiss: Estimate | None
    """Agreement beyond chance; None where it is not defined."""

    alpha: Estimate | None
    """Krippendorff's, by interval for numbers, else nominal."""

    cohen: tuple[PairKappa, ...]

    prevalence: Mapping[str, float]
    """The share of each category, mean over items."""

    by_chance: float
    """The expected agreement of two people who ignore the items (Fleiss)."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that explain how to read the numbers: warnings about misleading kappas."""
        category = max(self.prevalence, key=lambda name: self.prevalence[name])
        if self.observed is None:
            return (
                "No item was judged by two people: there is no agreement to measure.",
            )
        if self.fleiss is None:
            return (
                f"Every judgement is {category!r}: agreement beyond chance is not defined.",
            )
        notes = []
        share = self.prevalence[category]
        if share >= SKEWED:
            notes.append(
                f"Kappa paradox: {percent(share)} of the judgements are {category!r}, so people "
                f"who ignored the items would agree on {percent(self.by_chance)} of them. These "
                f"agree on {percent(self.observed.value)}; kappa ({self.fleiss.value:.2f}) sees "
                f"only the {percent(1 - self.by_chance)} that chance leaves. "
                "Read it next to the observed agreement, which the skew does not push down."
            )
        for category in self.prevalence:
            note = self._note_on_different_use(category)
            if note:
                notes.append(note)
                break
        return tuple(notes)

    def _note_on_different_use(self, category: str) -> str:
        """Return who uses a category most and least, if that is far apart; else ""."""
        shares = [
            (row.shares[category], row.annotator) for row in self.annotators if row.n
        ]
        low, lowest = min(shares)
        high, highest = max(shares)
        if high - low < MIN_GAP:
            return ""
        return (
            f"{highest} chose {category!r} for {percent(high)} of the items, {lowest} for "
            f"{percent(low)}: they use the categories differently. Review the guidelines with "
            "them first."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        levels = []
        for category, share, items in self.levels:
            level = {"category": category, "agreement": float(share), "items": items}
            levels.append(level)
        return {
            "summary": {
                "observed": plain(self.observed),
                "fleiss_kappa": plain(self.fleiss),
                "krippendorff_alpha": plain(self.alpha),
                "by_chance": self.by_chance,
                "items": self.items,
                "judged_twice": self.judged_twice,
                "judgements": self.judgements,
            },
            "levels": levels,
            "prevalence": plain(self.prevalence),
            "cohen_kappa": plain(self.cohen),
            "annotators": plain(self.annotators),
            "notes": plain(self.notes),
        }


def agreement(
    ratings: Ratings, *, replicates: int = 2000, level: float = 0.95, seed: int = 0
) -> Agreement:
    """Return every statistic with a percentile bootstrap over items; replicates 0: no intervals."""
    if len(ratings.annotators) < 2:
        raise TableError(
            f"judgements: expected two annotators or more, found {len(ratings.annotators)}"
        )
    if not ratings.categories:
        raise TableError("judgements: expected at least one, found none")
    REPLICATES.check("replicates", replicates)
    LEVEL.check("level", level)
    SEED.check("seed", seed)
    patterns = Patterns.of(ratings.codes, ratings.values)
    if len(ratings.items) < 2:
        replicates = 0
    rng = np.random.default_rng(seed)
    samples = resampled_counts(patterns.counts, replicates, rng)

    def estimate(
        statistic: Callable[[Patterns, IntArray], FloatArray],
    ) -> Estimate | None:
        value = float(statistic(patterns, patterns.counts))
        if not np.isfinite(value):
            return None
        return percentile_estimate(
            value,
            statistic(patterns, samples),
            level=level,
            method="bootstrap over items",
            contain=True,
        )

    pairs = []
    for a, b in combinations(range(len(ratings.annotators)), 2):
        pair = PairKappa(
            a=ratings.annotators[a],
            b=ratings.annotators[b],
            n=int((ratings.codes[:, [a, b]] >= 0).all(axis=1).sum()),
            kappa=estimate(partial(cohen_kappa, a=a, b=b)),
        )
        pairs.append(pair)
    shares = category_shares(patterns, patterns.counts)
    scale: Literal["nominal", "interval"] = "interval" if ratings.numeric else "nominal"
    return Agreement(
        items=len(ratings.items),
        judged_twice=int((ratings.counts.sum(axis=1) >= 2).sum()),
        annotators=_annotator_rows(ratings),
        judgements=int((ratings.codes >= 0).sum()),
        levels=_levels(ratings),
        observed=estimate(observed_agreement),
        fleiss=estimate(fleiss_kappa),
        alpha=estimate(partial(krippendorff_alpha, level=scale)),
        cohen=tuple(pairs),
        prevalence=dict(zip(ratings.categories, shares.tolist(), strict=True)),
        by_chance=float((shares**2).sum()),
    )


def _levels(ratings: Ratings) -> tuple[tuple[str, Fraction, int], ...]:
    """Return how many items have which share of judgements for their majority; ties are last."""
    items = Counter[tuple[int, Fraction]]()
    majorities = ratings.majority().tolist()
    for code, votes in zip(majorities, ratings.counts.tolist(), strict=True):
        n = sum(votes)
        if n >= 2:
            # Ties have the code -1, and stand last as the last of the names.
            items[code % (len(votes) + 1), Fraction(max(votes), n)] += 1
    names = (*ratings.categories, NO_MAJORITY)
    return tuple((names[k], share, n) for (k, share), n in sorted(items.items()))


def _annotator_rows(ratings: Ratings) -> tuple[AnnotatorRow, ...]:
    """Return each annotator's judgements next to the majorities of items judged twice."""
    is_judged_twice = ratings.counts.sum(axis=1) >= 2
    majority = np.where(is_judged_twice, ratings.majority(), -1)
    rows = []
    for j, annotator in enumerate(ratings.annotators):
        codes = ratings.codes[:, j]
        has_judged = codes >= 0
        n = int(has_judged.sum())
        shares = {}
        against = {}
        with_majority = {}
        for k, category in enumerate(ratings.categories):
            is_majority = (majority == k) & has_judged
            shares[category] = float((codes == k).sum() / max(n, 1))
            against[category] = int((is_majority & (codes != k)).sum())
            with_majority[category] = int(is_majority.sum())
        rows.append(AnnotatorRow(annotator, n, shares, against, with_majority))
    return tuple(rows)
