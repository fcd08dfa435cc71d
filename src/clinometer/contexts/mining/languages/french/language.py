"""The French miner: candidate sentences, and links between clauses over a spaCy parse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, partial

from clinometer.contexts.mining.languages.french.grammar import (
    PRONOUNS,
    find_link,
    french_template,
    listed,
    may_link,
)
from clinometer.contexts.mining.languages.shared import (
    Candidates,
    Decision,
    Dropped,
    Parsed,
    SpacyParser,
    split_sentences,
)
from clinometer.contexts.mining.settings import MineSettings
from clinometer.errors import SettingsError
from clinometer.extras import install_command

#: The built-in topic in this language.
TOPIC = "gender-fr"
DEFAULT_PARSER = "fr_core_news_sm"
_DETERMINER = re.compile(r"\b(?:(?:un|une|le|la|les|des|du|son|sa|ses|ce|cette) |[ld]')(?!\[X\])")
_DASH = re.compile(r"^[–—-]\s*")


class French:
    """A `Language`; the parser is loaded when the first sentence is decided."""

    def __init__(self, settings: MineSettings) -> None:
        words = frozenset(word.lower() for word in settings.topic.words)
        if not words >= set(PRONOUNS) or settings.strategy == "predicate":
            raise SettingsError(
                f"topic {settings.topic.name!r}: expected the words il and elle, and not the "
                f"strategy predicate, for French mining; see the topic {TOPIC}"
            )
        self._persons = frozenset(group.text.lower() for group in settings.topic.groups)
        self._cues = words
        self._parser_name = settings.parser or DEFAULT_PARSER
        split = partial(split_sentences, abbreviations=listed("abbreviations"))
        self._candidates = Candidates(PRONOUNS, _later, sentences=split, clean=clean)

    @cached_property
    def parser(self) -> SpacyParser:
        name = self._parser_name
        return SpacyParser(
            name,
            needed=("morphologizer", "parser", "lemmatizer"),
            installs=install_command(name) if name == DEFAULT_PARSER else "",
            later=("ner",),
        )

    def find(self, text: str) -> list[str]:
        return self._candidates.find(text)

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        for parsed in self.parser.parse(sentences):
            yield list(self._decide(parsed))

    def _decide(self, parsed: Parsed) -> Iterator[Decision]:
        sentence = parsed.doc.text
        for y in parsed.doc:
            if y.i == 0 or y.lower_ not in PRONOUNS:
                continue
            evidence = f"[Y]={y.text}@{y.i}"
            try:
                link = find_link(y, parsed, self._persons)
                evidence += f" [X]={link.subject.text}@{link.subject.i}"
                template = french_template(link, self._cues)
            except Dropped as no:
                yield Decision(sentence, None, no.rule, evidence)
            else:
                yield Decision(sentence, template, "", evidence)

    def merge_key(self, template: str) -> str:
        """Without determiners: "prit un livre" and "prit le livre" are one context."""
        return _DETERMINER.sub("", template)

    def describe(self) -> dict[str, str]:
        return {
            "strategy": "coreference",
            "parser": self._parser_name,
            "parser_version": self.parser.version,
            "resolver": "rules",
        }


def _later(sentence: str, at: int, word: str) -> bool:
    """After another clause, and not after its verb (dit-il)."""
    return may_link(sentence[:at].replace("’", "'"))


def clean(sentence: str) -> str:
    """One line, with straight apostrophes and without the dash of a dialogue.

    >>> clean("— L’homme dit  qu’il viendrait.")
    "L'homme dit qu'il viendrait."
    """
    return " ".join(_DASH.sub("", sentence).replace("’", "'").split())


open_language = French
