"""What a language can do for the miner, and the language of a topic."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol

from clinometer.contexts.mining.languages.decisions import Decision
from clinometer.contexts.mining.settings import MineSettings
from clinometer.errors import SettingsError

MODULES = {
    "en": "clinometer.contexts.mining.languages.english.language",
    "zh": "clinometer.contexts.mining.languages.chinese.language",
}
"""Language tag -> module with a function `open_language(settings)`."""

ENTRY_POINTS = "clinometer.languages"
"""The group of entry points in which other distributions name theirs."""


class Language(Protocol):
    """Protocol for a language that can be mined."""

    def find(self, text: str) -> list[Any]:
        """Return the sentences of an article that are worth parsing, as `decide` takes them.

        Cheap, without a parser.
        """
        ...

    def decide(self, candidates: Sequence[Any], /) -> Iterator[list[Decision]]:
        """Yield the decisions on each sentence, in order."""
        ...

    def merge_key(self, template: str) -> str:
        """Return a key: templates with the same key are near-duplicates and counted as one."""
        ...

    def describe(self) -> dict[str, str]:
        """Return strategy, parser and its version, for the sidecar."""
        ...


def language_modules() -> dict[str, str]:
    """Return language tag -> module, ours and those of installed distributions.

    Ours cannot be replaced.
    """
    installed = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}
    return installed | MODULES


def open_language(settings: MineSettings) -> Language:
    """Return the miner for the language of the topic."""
    code = settings.topic.language.lower().split("-")[0]
    modules = language_modules()
    if code not in modules:
        raise SettingsError(
            f"topic {settings.topic.name!r}: expected one of the languages "
            f"{', '.join(sorted(modules))} for mining, found {settings.topic.language!r}"
        )
    language: Language = importlib.import_module(modules[code]).open_language(settings)
    return language
