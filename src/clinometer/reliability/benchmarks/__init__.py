"""Bias benchmarks as statements: one module per benchmark, which reads the files as published.

The benchmarks contain offensive sentences: that is their subject.
"""

from clinometer.reliability.benchmarks.load import FORMATS, load_statements

__all__ = ["FORMATS", "load_statements"]
