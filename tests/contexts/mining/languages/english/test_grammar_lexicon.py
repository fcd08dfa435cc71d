"""The word lists: complete, used, and without a word twice."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import clinometer.contexts.mining.languages.english.grammar as lexicon

PACKAGE = Path(lexicon.__file__).parent


def test_every_list_is_there_and_is_used() -> None:
    text = files("clinometer.contexts.mining.languages.english").joinpath("lexicon.toml")
    names = set(tomllib.loads(text.read_text(encoding="utf-8")))
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    mentioned = set(re.findall(r'"([a-z_]+)"', source))
    called = set(re.findall(r'(?:listed|mapped|found)\("([a-z_]+)"\)', source))
    assert called <= names
    assert names <= mentioned


def test_words_that_only_look_as_if_they_gave_gender_away() -> None:
    assert not lexicon.gives_gender_away("specimen")
    assert lexicon.gives_gender_away("batsman")
