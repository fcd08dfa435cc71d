"""Do annotators agree? Percent agreement, how much of it is chance, who deviates, and which items
enough of them accept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.display.numbers import percent
from clinometer.display.text import plain
from clinometer.errors import SettingsError, TableError
from clinometer.measure import Estimate
from clinometer.reliability.people import coefficients
from clinometer.reliability.people.ratings import Ratings
from clinometer.settings import COUNT, LEVEL, REPLICATES, SEED, SHARE_ABOVE_0
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import percentile_estimate, resampled_counts

NO_MAJORITY = "no majority"
#: Above this share of one category, kappa says more about the skew than about the annotators.
SKEWED = 0.75
#: Annotators whose shares of a category are this far apart use the categories differently.
APART = 0.25

_METHOD = "bootstrap over items"
_Statistic = Callable[[coefficients.Sums, NDArray[np.int64]], FloatArray]


@dataclass(frozen=True)
class PairKappa:
    """Cohen's kappa of two annotators over the n items both have judged."""

    a: str
    b: str
    n: int
    kappa: Estimate | None


@dataclass(frozen=True)
class AnnotatorRow:
    """One annotator's judgements, and how often the majority disagreed (Figure 4).

    shares        of each category in the annotator's judgements
    against       category -> items with this majority for which the annotator chose another
    with_majority category -> items with this majority that the annotator judged
    """

    annotator: str
    n: int
    shares: Mapping[str, float]
    against: Mapping[str, int]
    with_majority: Mapping[str, int]


@dataclass(frozen=True)
class Agreement:
    """Agreement of annotators about items.

    levels       (category, its share of the judgements, items): Table 1; ties are NO_MAJORITY
    observed     share of pairs of judgements of an item that agree
    fleiss       agreement beyond chance; None where it is not defined
    alpha        Krippendorff's, by interval for numbers, else nominal
    prevalence   share of each category, mean over items
    by_chance    expected agreement of two people who ignore the items (Fleiss)
    notes        sentences that explain how to read the numbers
    """

    items: int
    judged_twice: int
    annotators: tuple[AnnotatorRow, ...]
    judgements: int
    levels: tuple[tuple[str, Fraction, int], ...]
    observed: Estimate | None
    fleiss: Estimate | None
    alpha: Estimate | None
    cohen: tuple[PairKappa, ...]
    prevalence: Mapping[str, float]
    by_chance: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
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
            "levels": [
                {"category": c, "agreement": float(share), "items": n}
                for c, share, n in self.levels
            ],
            "prevalence": plain(self.prevalence),
            "cohen_kappa": plain(self.cohen),
            "annotators": plain(self.annotators),
            "notes": plain(self.notes),
        }


def agreement(
    ratings: Ratings, *, replicates: int = 2000, level: float = 0.95, seed: int = 0
) -> Agreement:
    """Every statistic with a percentile bootstrap over items; replicates 0: no intervals."""
    if len(ratings.annotators) < 2:
        raise TableError(
            f"judgements: expected two annotators or more, found {len(ratings.annotators)}"
        )
    if not ratings.categories:
        raise TableError("judgements: expected at least one, found none")
    REPLICATES.check("replicates", replicates)
    LEVEL.check("level", level)
    SEED.check("seed", seed)
    sums = coefficients.Sums.of(ratings.codes, ratings.values)
    times = replicates if sums.counts.sum() > 1 else 0
    draws = resampled_counts(sums.counts, times, np.random.default_rng(seed))

    def estimate(statistic: _Statistic) -> Estimate | None:
        value = float(statistic(sums, sums.counts))
        if not np.isfinite(value):
            return None
        drawn = statistic(sums, draws)
        return percentile_estimate(value, drawn, level=level, method=_METHOD, contain=True)

    shares = coefficients.category_shares(sums, sums.counts)
    prevalence = dict(zip(ratings.categories, shares.tolist(), strict=True))
    alpha_level: coefficients.Level = "interval" if ratings.numeric else "nominal"
    rows = tuple(_annotator(ratings, j) for j in range(len(ratings.annotators)))
    fleiss = estimate(coefficients.fleiss_kappa)
    observed = estimate(coefficients.observed_agreement)
    by_chance = float((shares**2).sum())
    return Agreement(
        items=len(ratings.items),
        judged_twice=int((ratings.counts.sum(axis=1) >= 2).sum()),
        annotators=rows,
        judgements=int((ratings.codes >= 0).sum()),
        levels=_levels(ratings),
        observed=observed,
        fleiss=fleiss,
        alpha=estimate(partial(coefficients.krippendorff_alpha, level=alpha_level)),
        cohen=tuple(_pairs(ratings, estimate)),
        prevalence=prevalence,
        by_chance=by_chance,
        notes=tuple(_notes(prevalence, by_chance, observed, fleiss, rows)),
    )


def _levels(ratings: Ratings) -> tuple[tuple[str, Fraction, int], ...]:
    votes = zip(ratings.majority().tolist(), ratings.counts.tolist(), strict=True)
    items = Counter((k, Fraction(max(n), sum(n))) for k, n in votes if sum(n) >= 2)
    names = (*ratings.categories, NO_MAJORITY)  # -1 is the last
    ordered = sorted(items.items(), key=lambda x: (x[0][0] < 0, *x[0]))
    return tuple((names[k], share, n) for (k, share), n in ordered)


def _annotator(ratings: Ratings, j: int) -> AnnotatorRow:
    own = ratings.codes[:, j]
    majority = np.where(ratings.counts.sum(axis=1) >= 2, ratings.majority(), -1)
    n = int((own >= 0).sum())
    named = list(enumerate(ratings.categories))
    return AnnotatorRow(
        annotator=ratings.annotators[j],
        n=n,
        shares={c: float((own == k).sum() / n) if n else 0.0 for k, c in named},
        against={c: int(((majority == k) & (own >= 0) & (own != k)).sum()) for k, c in named},
        with_majority={c: int(((majority == k) & (own >= 0)).sum()) for k, c in named},
    )


def _pairs(ratings: Ratings, estimate: Callable[[_Statistic], Estimate | None]) -> list[PairKappa]:
    pairs = []
    for a, b in combinations(range(len(ratings.annotators)), 2):
        both = int((ratings.codes[:, [a, b]] >= 0).all(axis=1).sum())
        kappa = partial(coefficients.cohen_kappa, a=a, b=b)
        names = ratings.annotators[a], ratings.annotators[b]
        pairs.append(PairKappa(*names, both, estimate(kappa)))
    return pairs


def _notes(
    prevalence: Mapping[str, float],
    by_chance: float,
    observed: Estimate | None,
    fleiss: Estimate | None,
    rows: tuple[AnnotatorRow, ...],
) -> list[str]:
    """Warnings about misleading values of kappa."""
    found = []
    top, share = max(prevalence.items(), key=lambda x: x[1])
    if observed is None:
        return ["No item was judged by two people: there is no agreement to measure."]
    if fleiss is None:
        return [f"Every judgement is {top!r}: agreement beyond chance is not defined."]
    if share >= SKEWED:
        found.append(
            f"Kappa paradox: {percent(share)} of the judgements are {top!r}, so people who ignored "
            f"the items would agree on {percent(by_chance)} of them. These agree on "
            f"{percent(observed.value)}; kappa ({fleiss.value:.2f}) sees only the "
            f"{percent(1 - by_chance)} that chance leaves. "
            "Read it next to the observed agreement, which the skew does not push down."
        )
    for category in prevalence:
        shares = [(row.shares[category], row.annotator) for row in rows if row.n]
        (low, least), (high, most) = min(shares), max(shares)
        if high - low >= APART:
            found.append(
                f"{most} chose {category!r} for {percent(high)} of the items, {least} for "
                f"{percent(low)}: they use the categories differently. Review the guidelines with "
                "them first."
            )
            break
    return found


@dataclass(frozen=True)
class Rule:
    """An item is accepted when `share` of its judgements are in `categories`.

    judgements: an item with fewer is not accepted. Shares are fractions, so that two of three is
    exactly two thirds.
    """

    categories: tuple[str, ...] = ("yes",)
    share: Fraction = Fraction(2, 3)
    judgements: int = 2

    def __post_init__(self) -> None:
        SHARE_ABOVE_0.check("share", self.share)
        COUNT.check("judgements", self.judgements)


def accepted(ratings: Ratings, rule: Rule) -> tuple[str, ...]:
    """Ids of the accepted items, in their order.

    >>> said = {"a": {"1": "yes", "2": "yes", "3": "no"}, "b": {"1": "yes", "2": "no", "3": "no"}}
    >>> accepted(Ratings.of(said), Rule())
    ('a',)
    """
    places = [k for k, c in enumerate(ratings.categories) if c in rule.categories]
    if not places:
        raise SettingsError(
            f"accept: expected one of {', '.join(ratings.categories)}; found "
            f"{', '.join(rule.categories)}"
        )
    counts = ratings.counts
    votes, judged = counts[:, places].sum(axis=1), counts.sum(axis=1)
    return tuple(
        item
        for item, yes, n in zip(ratings.items, votes.tolist(), judged.tolist(), strict=True)
        if n >= rule.judgements and yes >= rule.share * n
    )


def parse_share(text: str) -> Fraction:
    """2/3, 0.75 or 75% as a fraction.

    >>> parse_share("2/3"), parse_share("75%")
    (Fraction(2, 3), Fraction(3, 4))
    """
    try:
        number = text.strip().removesuffix("%")
        return Fraction(number) / (100 if number != text.strip() else 1)
    except (ValueError, ZeroDivisionError) as error:
        raise SettingsError(
            f"share: expected a share such as 2/3 or 0.75, found {text!r}"
        ) from error
