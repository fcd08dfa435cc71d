"""Languages the miner supports, one folder each; no other code depends on a language.

Another distribution adds a language by an entry point in the group `clinometer.languages`: the
language tag, and a module whose `open_language(settings)` gives a `Language`; see
docs/howto/language.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from clinometer.contexts.mining.languages.shared import Decision
from clinometer.errors import SettingsError

if TYPE_CHECKING:
    from clinometer.contexts.mining.settings import MineSettings

#: Language tag -> module with a function `open_language(settings)`.
MODULES = {
    "en": "clinometer.contexts.mining.languages.english.language",
    "zh": "clinometer.contexts.mining.languages.chinese.language",
}
#: The group of entry points in which other distributions name theirs.
ENTRY_POINTS = "clinometer.languages"


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


def language_modules() -> dict[str, str]:
    """Language tag -> module, ours and those of installed distributions; ours come first."""
    return {e.name: e.value for e in entry_points(group=ENTRY_POINTS)} | MODULES


def open_language(settings: MineSettings) -> Language:
    """The miner for the language of the topic."""
    code = settings.topic.language.lower().split("-")[0]
    modules = language_modules()
    if code not in modules:
        raise SettingsError(
            f"topic {settings.topic.name!r}: expected one of the languages "
            f"{', '.join(sorted(modules))} for mining, found {settings.topic.language!r}"
        )
    language: Language = importlib.import_module(modules[code]).open_language(settings)
    return language
