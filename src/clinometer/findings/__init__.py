"""Findings: what the tool says of results, as data, and the parts of their sentences."""
