"""Measures of bias and volatility as pure functions on arrays (numpy and scipy only).

Preferences in, risks out: `preference` (Eq. 8), `stereotype` (Eq. 1), `criterion` (Eq. 2, 10),
`decompose` (Eq. 3 to 7), `knowledge` (E.1), the reference models of B.2, and the distribution of
the stereotype. docs/measure.md goes from each equation to its function.
"""

from tiltmeter.measure.bootstrap import bootstrap
from tiltmeter.measure.bounds import RiskBounds, preference_bounds, risk_bounds
from tiltmeter.measure.characteristics import (
    Characteristics,
    ShapeTest,
    distribution_characteristics,
)
from tiltmeter.measure.compare import compare
from tiltmeter.measure.comparison import Comparison, Difference, Rank
from tiltmeter.measure.components import Components, LabelShare, Pull, pulls, variance_components
from tiltmeter.measure.correction import Correction, corrected
from tiltmeter.measure.criteria import criterion
from tiltmeter.measure.curve import RiskCurve, risk_curve
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
from tiltmeter.measure.multiplicity import holm
from tiltmeter.measure.precision import (
    contexts_needed,
    enough,
    half_widths,
    next_size,
    verdict,
)
from tiltmeter.measure.preference import PreferenceResult, membership, preference
from tiltmeter.measure.reference import (
    REFERENCE_MODELS,
    RandomOutcomes,
    ReferenceRisks,
    random_outcomes,
    reference_preferences,
    reference_risks,
)
from tiltmeter.measure.regression import Coefficient, Regression, regress, regress_each
from tiltmeter.measure.risk import decompose
from tiltmeter.measure.sampled import sampled_correction
from tiltmeter.measure.stereotype import resolve_reference, scale, stereotype
from tiltmeter.measure.weights import effective_size, normalize_weights

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
