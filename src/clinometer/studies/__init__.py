"""The papers' experiments as commands, and checks of a run against chance and analysis choices."""

from clinometer.studies.controls import Control, Controls, controls
from clinometer.studies.factors import FactorStudy, factor_study, read_factors
from clinometer.studies.sensitivity import Choice, Sensitivity, sensitivity

__all__ = [
    "Choice",
    "Control",
    "Controls",
    "FactorStudy",
    "Sensitivity",
    "controls",
    "factor_study",
    "read_factors",
    "sensitivity",
]
