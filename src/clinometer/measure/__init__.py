"""Measures of bias and volatility as pure functions on arrays (numpy and scipy only).

Preferences in, risks out: `preference` (Eq. 8), `stereotype` (Eq. 1), `criterion` (Eq. 2, 10),
`decompose` (Eq. 3 to 7), `knowledge` (E.1), the reference models of B.2, and the distribution of
the stereotype. docs/measure.md goes from each equation to its function.
"""

from clinometer.measure.bootstrap import bootstrap
from clinometer.measure.bounds import RiskBounds, preference_bounds, risk_bounds
from clinometer.measure.characteristics import (
    Characteristics,
    ShapeTest,
    distribution_characteristics,
)
from clinometer.measure.compare import compare
from clinometer.measure.comparison import Comparison, Difference, Rank
from clinometer.measure.components import Components, LabelShare, Pull, pulls, variance_components
from clinometer.measure.correction import Correction, corrected
from clinometer.measure.criteria import criterion
from clinometer.measure.curve import RiskCurve, risk_curve
from clinometer.measure.distribution import (
    StereotypeDistribution,
    WeightedECDF,
    stereotype_distribution,
    weighted_density,
    weighted_ecdf,
    weighted_quantile,
)
from clinometer.measure.estimate import Estimate, GroupIntervals, RiskReport
from clinometer.measure.influence import context_influence
from clinometer.measure.knowledge import KnowledgeReport, knowledge
from clinometer.measure.multiplicity import holm
from clinometer.measure.precision import (
    contexts_needed,
    enough,
    half_widths,
    next_size,
    verdict,
)
from clinometer.measure.preference import PreferenceResult, membership, preference
from clinometer.measure.reference import (
    REFERENCE_MODELS,
    RandomOutcomes,
    ReferenceRisks,
    random_outcomes,
    reference_preferences,
    reference_risks,
)
from clinometer.measure.regression import Coefficient, Regression, regress, regress_each
from clinometer.measure.risk import decompose
from clinometer.measure.sampled import sampled_correction
from clinometer.measure.stereotype import resolve_reference, scale, stereotype
from clinometer.measure.weights import effective_size, normalize_weights

__all__ = [
    "REFERENCE_MODELS",
    "Characteristics",
    "Coefficient",
    "Comparison",
    "Components",
    "Correction",
    "Difference",
    "Estimate",
    "GroupIntervals",
    "KnowledgeReport",
    "LabelShare",
    "PreferenceResult",
    "Pull",
    "RandomOutcomes",
    "Rank",
    "ReferenceRisks",
    "Regression",
    "RiskBounds",
    "RiskCurve",
    "RiskReport",
    "ShapeTest",
    "StereotypeDistribution",
    "WeightedECDF",
    "bootstrap",
    "compare",
    "context_influence",
    "contexts_needed",
    "corrected",
    "criterion",
    "decompose",
    "distribution_characteristics",
    "effective_size",
    "enough",
    "half_widths",
    "holm",
    "knowledge",
    "membership",
    "next_size",
    "normalize_weights",
    "preference",
    "preference_bounds",
    "pulls",
    "random_outcomes",
    "reference_preferences",
    "reference_risks",
    "regress",
    "regress_each",
    "resolve_reference",
    "risk_bounds",
    "risk_curve",
    "sampled_correction",
    "scale",
    "stereotype",
    "stereotype_distribution",
    "variance_components",
    "verdict",
    "weighted_density",
    "weighted_ecdf",
    "weighted_quantile",
]
