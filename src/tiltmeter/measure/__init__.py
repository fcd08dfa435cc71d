"""Measures of bias and volatility as pure functions on arrays (numpy and scipy only).

Preferences in, risks out: `preference` (Eq. 8), `stereotype` (Eq. 1), `criterion` (Eq. 2, 10),
`decompose` (Eq. 3 to 7), `knowledge` (E.1), the reference models of B.2, and the distribution of
the stereotype. docs/measure.md goes from each equation to its function.
"""

from tiltmeter.measure.criteria import criterion
from tiltmeter.measure.distribution import (
    StereotypeDistribution,
    WeightedECDF,
    stereotype_distribution,
    weighted_density,
    weighted_ecdf,
    weighted_quantile,
)
from tiltmeter.measure.estimate import Estimate, GroupIntervals, RiskReport
from tiltmeter.measure.influence import context_influence
from tiltmeter.measure.knowledge import KnowledgeReport, knowledge
from tiltmeter.measure.preference import PreferenceResult, membership, preference
from tiltmeter.measure.reference import (
    REFERENCE_MODELS,
    RandomOutcomes,
    ReferenceRisks,
    random_outcomes,
    reference_preferences,
    reference_risks,
)
from tiltmeter.measure.risk import decompose
from tiltmeter.measure.stereotype import resolve_reference, scale, stereotype
from tiltmeter.measure.weights import effective_size, normalize_weights

__all__ = [
    "REFERENCE_MODELS",
    "Estimate",
    "GroupIntervals",
    "KnowledgeReport",
    "PreferenceResult",
    "RandomOutcomes",
    "ReferenceRisks",
    "RiskReport",
    "StereotypeDistribution",
    "WeightedECDF",
    "context_influence",
    "criterion",
    "decompose",
    "effective_size",
    "knowledge",
    "membership",
    "normalize_weights",
    "preference",
    "random_outcomes",
    "reference_preferences",
    "reference_risks",
    "resolve_reference",
    "scale",
    "stereotype",
    "stereotype_distribution",
    "weighted_density",
    "weighted_ecdf",
    "weighted_quantile",
]
