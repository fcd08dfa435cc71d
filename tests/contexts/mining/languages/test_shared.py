"""The word lists of the languages: complete, used, and consistent."""

from __future__ import annotations

import re
from importlib.resources import files

from clinometer.contexts.mining.languages import MODULES
from clinometer.contexts.mining.languages.english.grammar import gives_gender_away
from clinometer.contexts.mining.languages.shared import read_lexicon


def test_every_list_exists_and_is_used() -> None:
    package = "clinometer.contexts.mining.languages.english"
    assert f"{package}.language" in MODULES.values()
    names = set(read_lexicon(package))
    modules = [file for file in files(package).iterdir() if file.name.endswith(".py")]
    source = "".join(module.read_text(encoding="utf-8") for module in modules)
    assert set(re.findall(r'(?:listed|mapped|has_one_of)\("([a-z_]+)"\)', source)) <= names
    assert names <= set(re.findall(r'"([a-z_]+)"', source))


def test_english_words_that_only_look_as_if_they_gave_gender_away() -> None:
    assert not gives_gender_away("specimen")
    assert gives_gender_away("batsman")
