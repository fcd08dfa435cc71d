"""Languages the miner supports, one module each; no other code depends on a language."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from clinometer.contexts.mining.decision import Decision
from clinometer.errors import SettingsError

if TYPE_CHECKING:
    from clinometer.contexts.mining.settings import MineSettings

#: Language tag -> module with a function `open_language(settings)`.
MODULES = {
    "en": "clinometer.contexts.mining.languages.english.language",
    "zh": "clinometer.contexts.mining.languages.chinese",
}


class Language(Protocol):
    """Protocol for a language that can be mined."""

    def find(self, text: str) -> list[str]:
        """The sentences of an article that are worth parsing; cheap, without a parser."""
        ...

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        """The decisions on each sentence, in order."""
        ...

    def merge_key(self, template: str) -> str:
        """Templates with the same key are near-duplicates and are counted as one."""
        ...

    def describe(self) -> dict[str, str]:
        """Strategy, parser and its version, for the sidecar."""
        ...


def open_language(settings: MineSettings) -> Language:
    """The miner for the language of the topic."""
    code = settings.topic.language.lower().split("-")[0]
    if code not in MODULES:
        raise SettingsError(
            f"topic {settings.topic.name!r}: expected one of the languages "
            f"{', '.join(MODULES)} for mining, found {settings.topic.language!r}"
        )
    language: Language = importlib.import_module(MODULES[code]).open_language(settings)
    return language
