"""The English miner: candidate sentences, and one of the paper's two strategies.

coreference  "The [X] said that [Y]", for a pronoun that refers to a person before it
predicate    "The [X], who played a role, is [Y]", for a predicate of a person
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clinometer.contexts.mining.languages.decisions import Decision
from clinometer.contexts.mining.languages.english.coreference import (
    CoreferenceStrategy,
)
from clinometer.contexts.mining.languages.english.parser import (
    DEFAULT_PARSER,
    open_parser,
)
from clinometer.contexts.mining.languages.english.people import NO_ONE, Mention
from clinometer.contexts.mining.languages.english.predicate import PredicateStrategy
from clinometer.contexts.mining.languages.english.vocabulary import SUBJECT_PRONOUNS
from clinometer.contexts.mining.languages.parses import Parsed, SpacyParser
from clinometer.contexts.mining.settings import MineSettings

_ARTICLE = re.compile(r"\b(?:a|an|the) (?!\[X\])")

Candidate = tuple[str, Mention]
"""A sentence, and what is known of the subject of its article."""


class English:
    """A `Language`; the parser is loaded when the first sentence is decided."""

    def __init__(self, settings: MineSettings) -> None:
        self._parser_name = settings.parser or DEFAULT_PARSER
        self._as_in_paper = settings.as_in_paper
        self._strategy = _strategy(settings)

    @property
    def _parser(self) -> SpacyParser:
        return open_parser(self._parser_name)

    def find(self, text: str) -> list[Candidate]:
        """Return the sentences of an article that are worth parsing."""
        return self._strategy.find(text)

    def decide(self, candidates: Sequence[Candidate]) -> Iterator[list[Decision]]:
        """Yield the decisions on each sentence, in order."""
        parses = self._parser.parse([sentence for sentence, _ in candidates])
        for parsed, (_, subject) in zip(parses, candidates, strict=True):
            yield list(self.decide_parsed(parsed, subject))

    def decide_parsed(
        self, parsed: Parsed, subject: Mention = NO_ONE
    ) -> Iterator[Decision]:
        """Yield the decisions on a parsed sentence; `subject` is that of its article."""
        return self._strategy.decide(parsed, subject)

    def merge_key(self, template: str) -> str:
        """Return the template without articles: "took a job" and "took the job" are one context."""
        return _ARTICLE.sub("", template)

    def describe(self) -> dict[str, str]:
        """Return strategy, parser and its version, for the sidecar."""
        strategy = self._strategy.name
        if self._as_in_paper:
            strategy += ", as in the paper"
        return {
            **self._strategy.describe(),
            "strategy": strategy,
            "parser": self._parser_name,
            "parser_version": self._parser.version,
            "resolver": self._strategy.resolver,
        }


def _strategy(settings: MineSettings) -> CoreferenceStrategy | PredicateStrategy:
    """Return the strategy for the words of the topic: pronouns, or adjectives."""
    words = {word.lower() for word in settings.topic.words}
    if words >= SUBJECT_PRONOUNS.keys():
        return CoreferenceStrategy(settings)
    return PredicateStrategy(settings)


open_language = English
