"""Does a score agree with human judgement? (COBIAS, section 4.4)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.display.plain import plain
from clinometer.errors import TableError
from clinometer.reliability.people.agreement import Agreement, agreement
from clinometer.reliability.people.ratings import Ratings
from clinometer.reliability.people.regressions import RegressionFit, beyond, fit
from clinometer.reliability.statement import count_words
from clinometer.statistics.rank import RankCorrelation, spearman

LENGTH = "length"


@dataclass(frozen=True)
class Validation:
    """A score compared with human judgements.

    correlation     Spearman's correlation of the score and the mean judgement
    given_length    the same, controlling for the number of words; None without texts
    with_length     correlation of score and length
    outcome         items by their median judgement (the lower of two middle ones; for words, the
                    most frequent): the response of the regressions
    multinomial, ordinal
                    None if the judgements have no order or the score has nothing to explain
    length_added    what the score adds to length in the ordinal regression: chi-square, df, p
    unmatched       ids with only a score or only a judgement
    """

    score: str
    items: int
    unmatched: int
    agreement: Agreement
    correlation: RankCorrelation | None
    given_length: RankCorrelation | None
    with_length: RankCorrelation | None
    outcome: Mapping[str, int]
    multinomial: RegressionFit
    ordinal: RegressionFit | None
    length_added: tuple[float, int, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        people = self.agreement.to_dict()["summary"]
        added = self.length_added
        return {
            "summary": {
                "score": self.score,
                "items": self.items,
                "unmatched": self.unmatched,
                "spearman": plain(self.correlation),
                "spearman_given_length": plain(self.given_length),
                "spearman_score_length": plain(self.with_length),
                "fleiss_kappa": people["fleiss_kappa"],
                "krippendorff_alpha": people["krippendorff_alpha"],
            },
            "outcome": dict(self.outcome),
            "multinomial": plain(self.multinomial),
            "ordinal": plain(self.ordinal),
            "score_beyond_length": None
            if added is None
            else {"chi2": added[0], "df": added[1], "p": added[2]},
        }


def validate(
    ratings: Ratings,
    scores: Mapping[str, float],
    *,
    texts: Mapping[str, str] | None = None,
    score: str = "score",
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Validation:
    """Compare a score (id -> number) with judgements of the same ids; texts give the length.

    Judgements that are words (yes, no) have no mean, so there is no correlation, and no ordinal
    regression unless there are exactly two categories.
    """
    kept = [i for i, item in enumerate(ratings.items) if item in scores]
    judged = [i for i in kept if (ratings.codes[i] >= 0).any()]
    ids = [ratings.items[i] for i in judged]
    if len(ids) < 3:
        raise TableError(
            f"scores: expected at least three ids that are also judged, found {len(ids)}"
        )
    x = np.array([scores[item] for item in ids])
    if not np.isfinite(x).all():
        raise TableError(f"scores: expected numbers, found {x[~np.isfinite(x)][0]}")
    known = {**(texts or {}), **ratings.texts}
    words = None
    if all(item in known for item in ids):
        words = np.array([float(count_words(known[item])) for item in ids])
        words = words if np.ptp(words) > 0 else None
    outcome = _consensus(ratings, judged)
    ordered = ratings.numeric or len(ratings.categories) == 2
    draws: dict[str, Any] = {"replicates": replicates, "level": level, "seed": seed}
    means = ratings.means()[judged] if ratings.numeric else None
    factors = {score: x}
    options: dict[str, Any] = {"categories": ratings.categories, "level": level}
    ordinal = fit("ordinal", outcome, factors, **options) if ordered else None
    added = None
    if ordinal is not None and words is not None:
        length = fit("ordinal", outcome, {LENGTH: words}, **options)
        added = beyond(fit("ordinal", outcome, {LENGTH: words, **factors}, **options), length)
    places, counts = np.unique(outcome, return_counts=True)
    return Validation(
        score=score,
        items=len(ids),
        unmatched=len(ratings.items) + len(scores) - 2 * len(kept),
        agreement=agreement(ratings, **draws),
        correlation=None if means is None else spearman(x, means, **draws),
        given_length=None
        if means is None or words is None
        else spearman(x, means, given=words, **draws),
        with_length=None if words is None else spearman(x, words, **draws),
        outcome={ratings.categories[int(k)]: int(n) for k, n in zip(places, counts, strict=True)},
        multinomial=fit("multinomial", outcome, factors, **options),
        ordinal=ordinal,
        length_added=added,
    )


def _consensus(ratings: Ratings, chosen: list[int]) -> NDArray[np.int64]:
    """[n] one category per item: the median of numbers, the most frequent (or first) of words."""
    if not ratings.numeric:
        return np.asarray(ratings.counts[chosen].argmax(axis=1))
    codes = np.sort(ratings.codes[chosen], axis=1)  # missing judgements, -1, come first
    missing = (codes < 0).sum(axis=1)
    place = missing + (codes.shape[1] - missing - 1) // 2
    return np.asarray(np.take_along_axis(codes, place[:, None], axis=1)[:, 0])
