"""Runs made from numbers, as the tests of the report have them."""

from tests.report.conftest import changed, small

__all__ = ["changed", "small"]
