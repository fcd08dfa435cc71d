"""Folders in every state: those that the tests of reports make."""

from tests.report.conftest import another, small

__all__ = ["another", "small"]
