"""Measures of bias and volatility as pure functions on arrays (numpy and scipy only).

Preferences in, risks out: `preference` (Eq. 8), `stereotype` (Eq. 1), `criterion` (Eq. 2, 10),
`decompose` (Eq. 3 to 7), `knowledge` (E.1), the reference models of B.2, and the distribution of
the stereotype. docs/measure.md goes from each equation to its function.
"""

from clinometer.measure.comparison.compare import compare
from clinometer.measure.comparison.result import Comparison, Difference, Rank
from clinometer.measure.description.distribution import (
    StereotypeDistribution,
    WeightedECDF,
    stereotype_distribution,
    weighted_density,
    weighted_ecdf,
    weighted_quantile,
)
from clinometer.measure.description.influence import context_influence
from clinometer.measure.description.shape import (
    Characteristics,
    ShapeTest,
    distribution_characteristics,
)
from clinometer.measure.description.variance_components import (
    Components,
    LabelShare,
    Pull,
    pulls,
    variance_components,
)
from clinometer.measure.equations.bounds import RiskBounds, preference_bounds, risk_bounds
from clinometer.measure.equations.criterion import criterion
from clinometer.measure.equations.curve import RiskCurve, risk_curve
from clinometer.measure.equations.knowledge import KnowledgeReport, knowledge
from clinometer.measure.equations.preference import PreferenceResult, membership, preference
from clinometer.measure.equations.reference_models import (
    REFERENCE_MODELS,
    RandomOutcomes,
    ReferenceRisks,
    random_outcomes,
    reference_preferences,
    reference_risks,
)
from clinometer.measure.equations.risk import decompose
from clinometer.measure.equations.stereotype import resolve_reference, scale, stereotype
from clinometer.measure.inference.bootstrap import bootstrap
from clinometer.measure.inference.correction import Correction, corrected
from clinometer.measure.inference.counting_noise import sampled_correction
from clinometer.measure.inference.sample_size import (
    contexts_needed,
    enough,
    half_widths,
    next_size,
    verdict,
)
from clinometer.measure.results import GroupIntervals, RiskReport
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.multiplicity import holm
from clinometer.statistics.regression import Coefficient, Regression, regress, regress_each
from clinometer.statistics.weights import effective_size, normalize_weights

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
