"""A language of another distribution: found by its entry point, mined like ours; and the word lists
of ours: complete, and used."""

from __future__ import annotations

import importlib
import re
from importlib.resources import files
from pathlib import Path

import pytest

from clinometer.contexts.mining import MineSettings, mine
from clinometer.contexts.mining.languages import language_modules, read_lexicon
from clinometer.contexts.mining.languages.language import MODULES
from clinometer.errors import SettingsError
from clinometer.topics import parse_topic

#: A whole language: the pronoun of a toy language after a verb of saying.
TOY = """
from clinometer.contexts.mining.languages import Decision


class Toy:
    def __init__(self, settings):
        pass

    def find(self, text):
        return [s.strip() for s in text.split(".") if "ke" in s.split()]

    def decide(self, sentences):
        for sentence in sentences:
            yield [Decision(sentence, f"[X] {sentence.split()[1]} ke [Y]", "", "")]

    def merge_key(self, template):
        return template

    def describe(self):
        return {"strategy": "toy", "parser": "none", "parser_version": "1", "resolver": "none"}


open_language = Toy
"""
TOPIC = """
name = "gender-toy"
language = "tlh"
groups = ["mekulo"]
[attributes]
male = ["li"]
female = ["si"]
"""


@pytest.fixture
def settings() -> MineSettings:
    return MineSettings(topic=parse_topic(TOPIC))


def test_an_installed_language_is_mined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: MineSettings
) -> None:
    (tmp_path / "toy_language.py").write_text(TOY, encoding="utf-8")
    about = tmp_path / "toy_language-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Name: toy-language\nVersion: 1\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(
        "[clinometer.languages]\ntlh = toy_language\nen = toy_language\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert language_modules() == {
        **MODULES,
        "tlh": "toy_language",
    }  # and ours stay ours
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Ana dira ke si. Bo dira ke li. Bo lasa.", encoding="utf-8")
    contexts = mine([corpus], tmp_path / "toy.csv", settings)
    assert (contexts.templates, contexts.counts) == (("[X] dira ke [Y]",), (2.0,))
    assert (contexts.metadata.strategy, contexts.metadata.sentences_parsed) == (
        "toy",
        2,
    )


def test_an_unknown_language_names_the_known_ones(
    tmp_path: Path, settings: MineSettings
) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Ana dira ke si.", encoding="utf-8")
    with pytest.raises(SettingsError, match=", ".join(sorted(MODULES))):
        mine([corpus], tmp_path / "toy.csv", settings)


def test_every_list_exists_and_is_used() -> None:
    package = "clinometer.contexts.mining.languages.english"
    names = set(read_lexicon(package))
    modules = [file for file in files(package).iterdir() if file.name.endswith(".py")]
    source = "".join(module.read_text(encoding="utf-8") for module in modules)
    assert set(re.findall(r'(?:listed|mapped)\("([a-z_]+)"\)', source)) <= names
    assert names <= set(re.findall(r'"([a-z_]+)"', source))
