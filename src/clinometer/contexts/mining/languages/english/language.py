"""English: candidates, parser, and one of two strategies combined."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from clinometer.contexts.mining.decision import Decision
from clinometer.contexts.mining.languages.english.candidates import possible_subject
from clinometer.contexts.mining.languages.english.coreference.resolvers import open_resolver
from clinometer.contexts.mining.languages.english.coreference.rules import Resolver
from clinometer.contexts.mining.languages.english.lexicon import SUBJECT_PRONOUNS, listed
from clinometer.contexts.mining.languages.english.miner import (
    LINK_WORDS,
    coreference_templates,
    predicate_templates,
)
from clinometer.contexts.mining.languages.english.parse import DEFAULT_PARSER, Parsed, Parser
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
        return _open_parser(self.parser_name)

    def find(self, text: str) -> list[str]:
        return self._candidates.find(text)

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        for (found,) in self.decide_with((), sentences):
            yield found

    def reads_with(self, other: object) -> bool:
        return isinstance(other, English) and (self._reads() == other._reads())

    def _reads(self) -> tuple[object, ...]:
        return self.strategy, self.links, self.persons, self.parser_name

    def decide_with(
        self, others: Sequence[object], sentences: Sequence[str]
    ) -> Iterator[list[list[Decision]]]:
        resolver = open_resolver(self.resolver_name)
        each = [self, *(other for other in others if isinstance(other, English))]
        for parsed in self.parser.parse(sentences):
            yield [list(topic.decide_parsed(parsed, resolver)) for topic in each]

    def decide_parsed(self, parsed: Parsed, resolver: Resolver) -> Iterator[Decision]:
        """The decisions on a sentence that has been parsed."""
        if self.strategy == "predicate":
            return predicate_templates(parsed, persons=self.persons, cues=self.cues)
        return coreference_templates(
            parsed,
            links=self.links,
            persons=self.persons,
            cues=self.cues,
            resolver=resolver,
            min_confidence=self.min_confidence,
        )

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


@lru_cache(maxsize=1)
def _open_parser(name: str) -> Parser:
    """One for all topics of a process."""
    return Parser(name)


def open_language(settings: MineSettings) -> English:
    """The English miner."""
    return English(settings)
