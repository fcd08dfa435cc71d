"""COBIAS: is a statement of a bias benchmark a reliable judge, or does context change it all?

Importing this package loads no model library; scoring does.
"""

from tiltmeter.reliability.benchmarks import load_statements
from tiltmeter.reliability.blanks import Blanks
from tiltmeter.reliability.merge import Merged, merge, target_term
from tiltmeter.reliability.result import ReliabilityRun
from tiltmeter.reliability.run import score_reliability
from tiltmeter.reliability.score import cobias, context_variance, stability
from tiltmeter.reliability.settings import ReliabilitySettings
from tiltmeter.reliability.statement import Statement, VariantSet
from tiltmeter.reliability.versions import read_variants

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
