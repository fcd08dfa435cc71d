"""Word lists of a language: the file lexicon.toml in its folder."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_lexicon(package: str) -> dict[str, Any]:
    """The lists and tables of the language in `package`."""
    return tomllib.loads(files(package).joinpath("lexicon.toml").read_text(encoding="utf-8"))


@cache
def word_list(package: str, name: str) -> frozenset[str]:
    """The words of one list, separated by white space in the file; _ stands for a space.

    >>> "tell" in word_list("clinometer.contexts.mining.languages.english", "needs_whom")
    True
    """
    return frozenset(word.replace("_", " ") for word in read_lexicon(package)[name].split())
