"""COBIAS: how reliable is a statement of a bias benchmark, or does adding context change it?

Importing this package loads no model library; scoring does.
"""

from clinometer.reliability.benchmarks import load_statements
from clinometer.reliability.pairs import Merged, merge, target_term
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.score import cobias, context_variance, stability
from clinometer.reliability.scoring import score_reliability
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.statement import Blanks, Statement
from clinometer.reliability.variants import read_variants

__all__ = [
    "Blanks",
    "Merged",
    "ReliabilityRun",
    "ReliabilitySettings",
    "Statement",
    "cobias",
    "context_variance",
    "load_statements",
    "merge",
    "read_variants",
    "score_reliability",
    "stability",
    "target_term",
]
