"""The papers' experiments as commands."""

from tiltmeter.studies.factors import FactorStudy, factor_study, read_factors

__all__ = ["FactorStudy", "factor_study", "read_factors"]
