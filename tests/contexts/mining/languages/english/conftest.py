"""The templates of an article, and the parser that reads them."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages import SpacyParser
from clinometer.contexts.mining.languages.english.language import English
from clinometer.contexts.mining.languages.english.parser import open_parser
from clinometer.topics import load_topic

WON = "The [X], who won a prize, is [Y]"


def mined(text: str, topic: str, **settings: Any) -> list[str]:
    """Return the templates of an article, in order."""
    english = English(MineSettings(topic=load_topic(topic), **settings))
    templates = []
    for decisions in english.decide(english.find(text)):
        templates += [d.template for d in decisions if d.template]
    return templates


@pytest.fixture(scope="session")
def parser() -> SpacyParser:
    return open_parser()
