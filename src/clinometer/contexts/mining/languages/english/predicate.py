"""The strategy "predicate": "The [X], who played a role, is [Y]", for a predicate of a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import Decision, Dropped, drop_if
from clinometer.contexts.mining.languages.english.links import clauses, subject_of
from clinometer.contexts.mining.languages.english.noun_phrases import Frame
from clinometer.contexts.mining.languages.english.people import (
    NO_ONE,
    Mention,
    is_described,
    mentioned_in,
    names_people,
)
from clinometer.contexts.mining.languages.english.persons import (
    PERSON_NOUN,
    person_kind,
)
from clinometer.contexts.mining.languages.english.sentences import (
    LONGEST,
    SentenceFinder,
    clean,
    sentences,
)
from clinometer.contexts.mining.languages.english.skeleton import predicate
from clinometer.contexts.mining.languages.english.standalone import check_alone
from clinometer.contexts.mining.languages.english.templates import (
    MOST_WORDS,
    check_sentence,
    finish,
)
from clinometer.contexts.mining.languages.english.vocabulary import (
    identity_nouns,
    listed,
)
from clinometer.contexts.mining.languages.lexicon import read_lexicon
from clinometer.contexts.mining.languages.parses import Parsed, has_dep
from clinometer.contexts.mining.settings import MineSettings

if TYPE_CHECKING:
    from spacy.tokens import Token

_TOPIC_CUE = "cue of the topic in the skeleton"
_SUBJECT_BEFORE = re.compile(
    r"(?:^|[\s\"“(,;:])"
    r"(?<!\bof )(?<!\bby )(?<!\bin )(?<!\bas )(?<!\bis )(?<!\bto )(?<!\bwas )(?<!\bfor )"
    r"(?<!\bwith )(?<!\bfrom )(?<!\bbecame )(?<!\bbeing )(?<!\bbeen )(?<!\bwere )(?<!\bare )"
    r"(?:the|an?|this|his|her|their|its|each|every|one|another|no|former)\s(?:[\w’'-]+\s){0,3}$",
    re.IGNORECASE,
)
"""What stands before a noun that can be a subject: an article, and no preposition or "to be"."""


class PredicateStrategy:
    """A strategy for topics whose words are adjectives: "is Muslim"."""

    name = "predicate"
    resolver = "none"

    def __init__(self, settings: MineSettings) -> None:
        topic = settings.topic
        self._topic = topic.name
        self._persons = frozenset(group.text.lower() for group in topic.groups)
        words_of_y = frozenset(word.lower() for word in topic.words)
        self._cues = words_of_y | listed("identity_cues")
        self._as_in_paper = settings.as_in_paper
        self._longest = None if settings.as_in_paper else MOST_WORDS
        wants_own = settings.about == "own" and not settings.as_in_paper
        identities = read_lexicon(__package__)["identities"]
        self._own_people = wants_own and topic.name in identities
        self._sentences = SentenceFinder(self._words(), _is_usable)

    def _words(self) -> set[str]:
        """Return the words for persons to look for."""
        if self._as_in_paper:
            return set(self._persons)
        words = {"who", *self._persons, *listed("persons")}
        words |= listed("male_persons") | listed("female_persons")
        if self._own_people:
            words |= identity_nouns()
        return words

    def find(self, text: str) -> list[tuple[str, Mention]]:
        """Return the sentences about persons.

        Those of the topic's own people describe someone, or are about the subject of the article.
        """
        usable = self._sentences.find(text)
        if not self._own_people:
            return [(sentence, NO_ONE) for sentence in usable]
        described = [sentence for sentence in usable if names_people(sentence)]
        subject = mentioned_in(text, self._persons)
        if subject is NO_ONE:
            return [(sentence, NO_ONE) for sentence in described]
        candidates = []
        for begin, end in sentences(text):
            if end - begin <= LONGEST:
                sentence = clean(text[begin:end])
                if subject.opens(sentence) or sentence in described:
                    candidates.append((sentence, subject))
        return candidates

    def describe(self) -> dict[str, str]:
        """Return whose predicates are mined."""
        return {"about": "own" if self._own_people else "any"}

    def decide(self, parsed: Parsed, subject: Mention) -> Iterator[Decision]:
        """Yield the decision on each predicate; `subject` is that of the article."""
        sentence = parsed.doc.text
        for verb, clause_subject in clauses(parsed.doc):
            evidence = (
                f"{clause_subject.text}@{clause_subject.i} < {verb.text}@{verb.i}"
            )
            try:
                check_sentence(verb)
                self._check_person(verb, clause_subject, parsed, subject)
                template = self._template(verb, parsed)
            except Dropped as drop:
                yield Decision(sentence, None, drop.rule, evidence)
            else:
                yield Decision(sentence, template, "", evidence)

    def _check_person(
        self, verb: Token, clause_subject: Token, parsed: Parsed, of_article: Mention
    ) -> None:
        """Refuse a predicate whose subject is not one person.

        It must be one of the topic's own people if they are wanted: the subject of the article, or
        one whom the sentence describes.
        """
        is_who = clause_subject.text == "who"
        is_relative = verb.dep_ == "relcl" and not is_who
        subject = subject_of(verb)
        if subject is None:
            raise Dropped("subject is not a person")
        if self._as_in_paper:
            is_occupation = subject.lower_ in self._persons
            drop_if(not is_occupation, "subject is not an occupation")
        persons = self._persons
        if self._own_people:
            if self._topic in of_article.topics and of_article.means(subject):
                drop_if(is_relative, "predicate of a relative clause")
                return
            described = is_described(subject, self._topic)
            drop_if(not described, "not of the topic's people")
            persons = persons | {noun.lower() for noun in identity_nouns()}
        drop_if(subject.lower_ in ("he", "she"), "subject is not a person")
        is_noun = person_kind(subject, parsed, persons) == PERSON_NOUN
        drop_if(
            not is_noun and not is_who and not self._own_people,
            "subject is not an occupation or person noun",
        )
        drop_if(is_relative, "predicate of a relative clause")

    def _template(self, verb: Token, parsed: Parsed) -> str:
        """Return "The [X], who played a role, is [Y]"."""
        fronted = has_dep(verb.lefts, "dobj", "attr", "acomp", "oprd")
        drop_if(fronted, "object before its verb")
        has_clause = has_dep(verb.children, "ccomp", "parataxis")
        drop_if(has_clause, "clause in the predicate")
        words = predicate((verb,), Frame(parsed.entity, self._persons, standalone=True))
        check_alone(verb, words)
        template = finish(
            ["The", "[X],", "who", *words],
            cues=self._cues,
            rule=_TOPIC_CUE,
            longest=self._longest,
        )
        return f"{template}, is [Y]"


def _is_usable(sentence: str, position: int, word: str) -> bool:
    """Return whether a person can be the subject.

    That is "who", or a noun after an article and no preposition.
    """
    if word == "who":
        return True
    begin = max(0, position - 60)
    return _SUBJECT_BEFORE.search(sentence, begin, position) is not None
