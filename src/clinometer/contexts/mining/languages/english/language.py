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
from clinometer.contexts.mining.languages.english.people import (
    NO_ONE,
    Mention,
    People,
    has_people,
    identity_nouns,
    mentioned_in,
    names_people,
)
from clinometer.contexts.mining.languages.english.sentence_split import clean, sentences
from clinometer.contexts.mining.languages.shared.candidates import LONGEST, Candidates, later_word
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
        own = self.strategy == "predicate" and settings.about == "own"
        self.own = own and has_people(topic.name)
        self.topic = topic.name
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
            words |= identity_nouns() if self.own else set()
        return Candidates(words, counts, sentences=sentences, clean=clean)

    @property
    def parser(self) -> Parser:
        return _open_parser(self.parser_name)

    def find(self, text: str) -> list[str]:
        """Candidate sentences. Those of own people are the same for all topics that have such:
        sentences that describe someone, and sentences about the subject of the article, each
        followed by how the article refers to its subject."""
        if not self.own:
            return self._candidates.find(text)
        subject = mentioned_in(text, self.persons)
        described = [s for s in self._candidates.find(text) if names_people(s)]
        if subject is NO_ONE:
            return [f"{sentence}\t" for sentence in described]
        every = [clean(text[a:b]) for a, b in sentences(text) if b - a <= LONGEST]
        found = [s for s in every if subject.opens(s) or s in described]
        return [f"{sentence}\t{subject.write()}" for sentence in found]

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        for (found,) in self.decide_with((), sentences):
            yield found

    def reads_with(self, other: object) -> bool:
        return isinstance(other, English) and (self._reads() == other._reads())

    def _reads(self) -> tuple[object, ...]:
        return self.strategy, self.links, self.persons, self.parser_name, self.own

    def decide_with(
        self, others: Sequence[object], sentences: Sequence[str]
    ) -> Iterator[list[list[Decision]]]:
        resolver = open_resolver(self.resolver_name)
        each = [self, *(other for other in others if isinstance(other, English))]
        pairs = [sentence.partition("\t")[::2] for sentence in sentences]
        parses = self.parser.parse([text for text, _ in pairs])
        for parsed, (_, about) in zip(parses, pairs, strict=True):
            subject = Mention.read(about)
            yield [list(topic.decide_parsed(parsed, resolver, subject)) for topic in each]

    def decide_parsed(
        self, parsed: Parsed, resolver: Resolver, subject: Mention = NO_ONE
    ) -> Iterator[Decision]:
        """The decisions on a sentence that has been parsed; `subject` is that of its article."""
        if self.strategy == "predicate":
            people = People(self.topic, subject) if self.own else None
            return predicate_templates(parsed, persons=self.persons, cues=self.cues, people=people)
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
        about = {} if self.strategy != "predicate" else {"about": "own" if self.own else "any"}
        return {
            **about,
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
