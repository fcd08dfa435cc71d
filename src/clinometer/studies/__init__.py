"""The papers' experiments as commands, and a run under other analysis choices."""

from clinometer.studies.factors import factor_findings, read_factors
from clinometer.studies.framework import Findings
from clinometer.studies.sensitivity import sensitivity

__all__ = [
    "Findings",
    "factor_findings",
    "read_factors",
    "sensitivity",
]
