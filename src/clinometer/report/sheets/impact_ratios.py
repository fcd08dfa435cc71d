"""Scoring rates and impact ratios as 6 RCNY § 5-300 defines them, of cells instead of people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinometer.measure import Preferences
from clinometer.statistics.arrays import FloatArray


@dataclass(frozen=True)
class ImpactRatio:
    """scoring_rate: weighted share of the cells in which the category is above the median."""

    category: str
    scoring_rate: float
    ratio: float


def impact_ratios(preferences: Preferences) -> list[ImpactRatio]:
    """Each category against the one that is above the median most often.

    A cell (group, context) stands in the place of an individual, once for each category, with the
    preference as its score and the weights of group and context. The median is that of all scores;
    a score that equals it is not above it. No category above the median gives no ratios.

    >>> from clinometer.measure import Preferences
    >>> p = np.array([[[0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]])
    >>> of = Preferences(p, ("x",), ("a", "b", "c"), ("m", "f"), np.ones(3), np.ones(1))
    >>> [(r.category, round(r.scoring_rate, 3), r.ratio) for r in impact_ratios(of)]
    [('m', 0.667, 1.0), ('f', 0.333, 0.5)]
    """
    values = preferences.values
    weights = np.asarray(preferences.context_weights, dtype=float)
    cells = weights if weights.ndim == 2 else np.broadcast_to(weights, values.shape[:2])
    cells = cells * np.asarray(preferences.group_weights, dtype=float)[:, None]
    seen = ~np.isnan(values).any(axis=2)
    scores, w = values[seen], cells[seen]
    if not w.sum() > 0:
        return []
    middle = _median(scores.ravel(), np.repeat(w, scores.shape[1]))
    rates = ((scores > middle) * w[:, None]).sum(axis=0) / w.sum()
    top = float(rates.max())
    if top == 0:
        return []
    return [
        ImpactRatio(name, float(rate), float(rate) / top)
        for name, rate in zip(preferences.categories, rates, strict=True)
    ]


def _median(values: FloatArray, weights: FloatArray) -> float:
    """The weighted median; between two values where half of the weight lies on either side."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    first = int(np.searchsorted(below, 0.5 - 1e-12))
    if abs(below[first] - 0.5) <= 1e-12 and first + 1 < len(values):
        return float((values[order][first] + values[order][first + 1]) / 2)
    return float(values[order][first])
