"""Word lists, tables and numbers of a language, read from .toml files of its package."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_toml(package: str, file: str) -> dict[str, Any]:
    """Read a file of lists or numbers in `package`."""
    return tomllib.loads(files(package).joinpath(file).read_text(encoding="utf-8"))


def read_lexicon(package: str) -> dict[str, Any]:
    """Read the lists and tables of the language in `package`."""
    return read_toml(package, "lexicon.toml")


@cache
def word_list(package: str, name: str) -> frozenset[str]:
    """Return the words of one list, separated by white space in the file; _ stands for a space.

    >>> "tell" in word_list("clinometer.contexts.mining.languages.english", "needs_whom")
    True
    """
    words = read_lexicon(package)[name].split()
    return frozenset(word.replace("_", " ") for word in words)
