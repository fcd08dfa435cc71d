"""English: candidates, parser, and one of two strategies combined."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clinometer.contexts.mining.decision import Decision
from clinometer.contexts.mining.languages.english.candidates import possible_subject
from clinometer.contexts.mining.languages.english.coreference.resolvers import open_resolver
from clinometer.contexts.mining.languages.english.lexicon import SUBJECT_PRONOUNS, listed
from clinometer.contexts.mining.languages.english.miner import (
    LINK_WORDS,
    coreference_templates,
    predicate_templates,
)
from clinometer.contexts.mining.languages.english.parse import DEFAULT_PARSER, Parser
from clinometer.contexts.mining.languages.english.sentence_split import clean, sentences
from clinometer.contexts.mining.languages.shared.candidates import Candidates, later_word
from clinometer.contexts.mining.settings import MineSettings
from clinometer.errors import SettingsError

_ARTICLE = re.compile(r"\b(?:a|an|the) (?!\[X\])")


class English:
    """A `Language`; the parser is loaded when the first sentence is decided."""

    def __init__(self, settings: MineSettings) -> None:
        topic = settings.topic
        self.persons = frozenset(group.text.lower() for group in topic.groups)
        self.cues = frozenset(word.lower() for word in topic.words)
        self.links = settings.links
        self.min_confidence = settings.min_confidence
        pronouns = set(SUBJECT_PRONOUNS) <= self.cues
        self.strategy = settings.strategy
        if self.strategy == "auto":
            self.strategy = "coreference" if pronouns else "predicate"
        if self.strategy == "coreference" and not pronouns:
            raise SettingsError(
                f"strategy: coreference needs he and she among the words of topic {topic.name!r}; "
                "use --strategy predicate"
            )
        self.parser_name = settings.parser or DEFAULT_PARSER
        self.resolver_name = settings.resolver
        self._parser: Parser | None = None
        self._candidates = self._find_candidates()

    def _find_candidates(self) -> Candidates:
        if self.strategy == "coreference":
            words = {word for link in self.links for word in LINK_WORDS[link]}
            counts = later_word
            words &= self.cues
        else:
            people = listed("male_persons") | listed("female_persons")
            counts = possible_subject
            words = {*listed("persons"), *people, *self.persons, "who"}
        return Candidates(words, counts, sentences=sentences, clean=clean)

    @property
    def parser(self) -> Parser:
        if self._parser is None:
            self._parser = Parser(self.parser_name)
        return self._parser

    def find(self, text: str) -> list[str]:
        return self._candidates.find(text)

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        resolver = open_resolver(self.resolver_name)
        for parsed in self.parser.parse(sentences):
            if self.strategy == "coreference":
                found = coreference_templates(
                    parsed,
                    links=self.links,
                    persons=self.persons,
                    cues=self.cues,
                    resolver=resolver,
                    min_confidence=self.min_confidence,
                )
            else:
                found = predicate_templates(parsed, persons=self.persons, cues=self.cues)
            yield list(found)

    def merge_key(self, template: str) -> str:
        """Without articles: "took a job" and "took the job" are one context."""
        return _ARTICLE.sub("", template)

    def describe(self) -> dict[str, str]:
        return {
            "strategy": self.strategy,
            "parser": self.parser_name,
            "parser_version": self.parser.version,
            "resolver": self.resolver_name if self.strategy == "coreference" else "none",
        }


def open_language(settings: MineSettings) -> English:
    """The English miner."""
    return English(settings)
