"""A model's CrowS-Pairs or StereoSet score, and how it changes without unreliable statements.

CrowS-Pairs compares how likely the shared words are in each sentence (the differing ones are
visible); StereoSet compares how likely the differing words are. The score is the percentage of
pairs in which the stereotype is preferred: 50 is even. Statements of low stability can be left out,
or all statements weighted by stability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from clinometer.display.text import Plain
from clinometer.errors import SettingsError, TableError
from clinometer.extras import require
from clinometer.measure import Estimate
from clinometer.models import Scorer
from clinometer.models.texts.types import MarkedText, TextOptions
from clinometer.reliability.pair_merge import differing_characters
from clinometer.reliability.statement import Span, Statement
from clinometer.settings import PART
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import percentile_estimate, resampled_counts

METRICS = ("shared", "differing")
_REPLICATES, _LEVEL = 2000, 0.95


def stereotype_preferred(
    scorer: Scorer, statements: Sequence[Statement], *, metric: str = "shared"
) -> FloatArray:
    """1 if the model prefers the stereotype of a pair, 0 if not, 0.5 for a tie; NaN for a statement
    without a pair, or with a sentence that cannot be scored.

    `metric`: shared (CrowS-Pairs; sum over the words both sentences share) or differing
    (StereoSet; mean over the words that differ).
    """
    require("scoring with a language model", "torch", "transformers")
    from clinometer.models.texts.likelihood import score_texts

    if metric not in METRICS:
        raise SettingsError(f"metric: expected one of {', '.join(METRICS)}; found {metric!r}")
    texts: list[MarkedText] = []
    for s in statements:
        pair = (s.text, s.other or "")
        for text, spans in zip(pair, differing_characters(*pair), strict=True):
            kept = spans if metric == "shared" else _complement(spans, len(text))
            texts.append(MarkedText(text, kept))
    found = score_texts(scorer, texts, TextOptions(masking="original"))
    values = found.log_prob if metric == "shared" else found.log_prob / found.tokens
    first, second = values[0::2], values[1::2]
    preferred = np.where(first == second, 0.5, (first > second).astype(float))
    anti = np.array([s.direction == "antistereo" for s in statements])
    preferred = np.where(anti, 1.0 - preferred, preferred)
    there = np.array([s.other is not None for s in statements])
    return np.where(there & np.isfinite(first) & np.isfinite(second), preferred, np.nan)


def _complement(spans: Sequence[Span], length: int) -> tuple[Span, ...]:
    edges = [0, *(e for span in spans for e in span), length]
    return tuple((a, b) for a, b in zip(edges[0::2], edges[1::2], strict=True) if a < b)


@dataclass(frozen=True)
class PairScore(Plain):
    """A score in percent under one treatment of unreliable statements.

    change is the difference from the score of all pairs, with its interval; by_chance is the same
    difference when the treatment falls on pairs at random, with the range of 95 % of such draws: a
    change inside that range says nothing about reliability.
    """

    treatment: str
    pairs: int
    score: Estimate
    change: Estimate | None
    by_chance: Estimate | None = None


def pair_scores(
    preferred: FloatArray,
    stability: FloatArray,
    *,
    leave_out: Sequence[float] = (0.25, 0.5),
    seed: int = 0,
) -> list[PairScore]:
    """The score of all pairs; without the least stable share, for each share of `leave_out`; and
    weighted by stability. Bootstrap over pairs, with the same resamples for every treatment; the
    control gives the same weights to random pairs."""
    good = np.isfinite(preferred) & np.isfinite(stability)
    if not good.any():
        raise TableError("pairs: expected pairs with a preference and a stability, found none")
    y, s = 100.0 * preferred[good], stability[good]
    treatments = {"all pairs": np.ones(len(y))}
    for share in leave_out:
        PART.check("leave_out", share)
        treatments[f"without the least stable {share:.0%}"] = (s >= np.quantile(s, share)).astype(
            float
        )
    treatments["weighted by stability"] = s
    rng = np.random.default_rng(seed)
    drawn = resampled_counts(np.ones(len(y)), _REPLICATES, rng)
    shuffled = rng.permuted(np.tile(y, (_REPLICATES, 1)), axis=1)
    estimate = partial(percentile_estimate, level=_LEVEL, method="bootstrap over pairs")
    base_value, base_draws = float(y.mean()), drawn @ y / len(y)
    scores = []
    for name, weights in treatments.items():
        value = float(weights @ y / weights.sum())
        totals = drawn @ weights
        draws = np.divide(
            drawn @ (weights * y), totals, out=np.full(_REPLICATES, np.nan), where=totals > 0
        )
        change = by_chance = None
        if name != "all pairs":
            change = estimate(value - base_value, draws - base_draws)
            moved = shuffled @ weights / weights.sum() - base_value
            by_chance = percentile_estimate(
                float(moved.mean()), moved, level=_LEVEL, method="random pairs"
            )
        pairs = int((weights > 0).sum())
        scores.append(PairScore(name, pairs, estimate(value, draws), change, by_chance))
    return scores
