"""The French word lists: complete, used, and each person in one list of gender only."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import clinometer.contexts.mining.languages.french.grammar as lexicon

PACKAGE = Path(lexicon.__file__).parent


def test_every_list_is_there_and_is_used() -> None:
    names = set(tomllib.loads((PACKAGE / "lexicon.toml").read_text(encoding="utf-8")))
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("*.py"))
    called = set(re.findall(r'listed\("([a-z_]+)"\)', source))
    assert called <= names
    assert names <= set(re.findall(r'"([a-z_]+)"', source))


def test_each_word_has_one_gender() -> None:
    both = lexicon.listed("masculine_persons") & lexicon.listed("feminine_persons")
    assert both == set()
    assert lexicon.listed("masculine_names") & lexicon.listed("feminine_names") == set()
