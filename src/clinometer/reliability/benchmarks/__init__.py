"""Bias benchmarks as statements: one loader a file, each for the files as published.

The benchmarks hold offensive sentences: that is their subject.
"""

from clinometer.reliability.benchmarks.load import FORMATS, load_statements

__all__ = ["FORMATS", "load_statements"]
