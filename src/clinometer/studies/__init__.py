"""The papers' experiments as commands, and a run under other analysis choices."""

from clinometer.studies.factors import FactorStudy, factor_study, read_factors
from clinometer.studies.sensitivity import Choice, Sensitivity, sensitivity

__all__ = [
    "Choice",
    "FactorStudy",
    "Sensitivity",
    "factor_study",
    "read_factors",
    "sensitivity",
]
