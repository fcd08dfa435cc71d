"""The papers' experiments as commands, and a run under other analysis choices."""

from clinometer.studies.factors import FactorStudy, factor_study, read_factors
from clinometer.studies.framework import Findings
from clinometer.studies.sensitivity import sensitivity

__all__ = [
    "FactorStudy",
    "Findings",
    "factor_study",
    "read_factors",
    "sensitivity",
]
