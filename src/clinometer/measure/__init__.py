"""Measures of bias and volatility on arrays (numpy and scipy only).

`Preferences` in, risks out: `preference` (Eq. 8), `stereotype` (Eq. 1), `criterion` (Eq. 2, 10),
`decompose` (Eq. 3 to 7), `knowledge` (E.1), the reference models of B.2. `read_preferences` reads
arrays once for everything else, which is imported from its own module. docs/measure.md goes from
each equation to its function.
"""

from clinometer.measure.comparison import compare
from clinometer.measure.criterion import criterion
from clinometer.measure.differences import Comparison
from clinometer.measure.grid import PreferenceGrid, read_preferences
from clinometer.measure.inference import estimate_risks
from clinometer.measure.knowledge import KnowledgeReport, knowledge
from clinometer.measure.preference import membership, preference
from clinometer.measure.preferences import Preferences
from clinometer.measure.reference_models import reference_risks
from clinometer.measure.risk import RiskReport, decompose
from clinometer.measure.stereotype import stereotype
from clinometer.statistics.estimate import Estimate

__all__ = [
    "Comparison",
    "Estimate",
    "KnowledgeReport",
    "PreferenceGrid",
    "Preferences",
    "RiskReport",
    "compare",
    "criterion",
    "decompose",
    "estimate_risks",
    "knowledge",
    "membership",
    "preference",
    "read_preferences",
    "reference_risks",
    "stereotype",
]
