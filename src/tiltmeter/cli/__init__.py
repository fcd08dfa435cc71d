"""The command line: thin. It reads arguments, calls the library, and prints."""

from tiltmeter.cli.app import main

__all__ = ["main"]
