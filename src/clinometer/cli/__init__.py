"""The command line: thin. It reads arguments, calls the library, and prints."""

from clinometer.cli.app import main

__all__ = ["main"]
