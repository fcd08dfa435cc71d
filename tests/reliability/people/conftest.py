"""The command line as a user calls it."""

from tests.cli.conftest import tiltmeter

__all__ = ["tiltmeter"]
