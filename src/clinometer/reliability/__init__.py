"""COBIAS: is a statement of a bias benchmark a reliable judge, or does context change it all?

Importing this package loads no model library; scoring does.
"""

from clinometer.reliability.benchmarks import load_statements
from clinometer.reliability.blanks import Blanks
from clinometer.reliability.merge import Merged, merge, target_term
from clinometer.reliability.result import ReliabilityRun
from clinometer.reliability.run import score_reliability
from clinometer.reliability.score import cobias, context_variance, stability
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, VariantSet
from clinometer.reliability.versions import read_variants

__all__ = [
    "Blanks",
    "Merged",
    "ReliabilityRun",
    "ReliabilitySettings",
    "Statement",
    "VariantSet",
    "cobias",
    "context_variance",
    "load_statements",
    "merge",
    "read_variants",
    "score_reliability",
    "stability",
    "target_term",
]
