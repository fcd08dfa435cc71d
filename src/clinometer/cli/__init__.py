"""The command line: a thin layer that reads arguments, calls the library, and prints."""

from clinometer.cli.app import main

__all__ = ["main"]
