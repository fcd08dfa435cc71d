"""The strategy "coreference": "The [X] said that [Y]", for a pronoun that refers to a person.

As in the paper, a noun or adjective of Y may also be or modify the subject: "The female engineer
explained it" gives "The [X] explained that [Y]".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import Decision, Dropped, drop_if
from clinometer.contexts.mining.languages.english.confidence import LinkFacts, facts_of
from clinometer.contexts.mining.languages.english.connectors import (
    connector,
    opening_word,
)
from clinometer.contexts.mining.languages.english.joints import (
    check_joint,
    check_possessive,
)
from clinometer.contexts.mining.languages.english.links import (
    Link,
    clause_link,
    clauses,
    word_link,
)
from clinometer.contexts.mining.languages.english.noun_phrases import Frame
from clinometer.contexts.mining.languages.english.people import NO_ONE, Mention
from clinometer.contexts.mining.languages.english.persons import person_kind
from clinometer.contexts.mining.languages.english.sentences import SentenceFinder
from clinometer.contexts.mining.languages.english.skeleton import predicate
from clinometer.contexts.mining.languages.english.templates import (
    MOST_WORDS,
    check_sentence,
    check_words,
    finish,
)
from clinometer.contexts.mining.languages.english.verbs import verb_group
from clinometer.contexts.mining.languages.english.vocabulary import (
    POSSESSIVES,
    REFLEXIVES,
    SUBJECT_PRONOUNS,
    listed,
)
from clinometer.contexts.mining.languages.parses import Parsed, has_dep
from clinometer.contexts.mining.settings import MineSettings

if TYPE_CHECKING:
    from spacy.tokens import Token

LINK_WORDS = {
    "clause": frozenset(SUBJECT_PRONOUNS),
    "reflexive": frozenset(REFLEXIVES),
    "possessive": frozenset(POSSESSIVES),
}
"""What [Y] may be, and the words that each kind of link looks for; see docs/mining.md."""

_UNSURE = "confidence below the minimum"
_MODIFIERS = frozenset(["amod", "compound", "appos", "nmod"])
"""Labels of words that modify a noun: "the female engineer", "actress Smith", "Smith, the heir"."""


class CoreferenceStrategy:
    """A strategy for topics whose words can be subjects: he, she."""

    name = "coreference"
    resolver = "rules"

    def __init__(self, settings: MineSettings) -> None:
        topic = settings.topic
        self._persons = frozenset(group.text.lower() for group in topic.groups)
        self._words_of_y = frozenset(word.lower() for word in topic.words)
        self._cues = self._words_of_y | listed("cues_by_meaning")
        self._as_in_paper = settings.as_in_paper
        self._least_confidence = settings.least_confidence
        self._longest = None if settings.as_in_paper else MOST_WORDS
        self._sentences = SentenceFinder(self._words(), self._is_usable)

    def _words(self) -> set[str]:
        """Return the words of Y to look for."""
        if self._as_in_paper:
            return set(self._words_of_y)
        words: set[str] = set()
        for words_of_kind in LINK_WORDS.values():
            words |= words_of_kind & self._words_of_y
        return words

    def find(self, text: str) -> list[tuple[str, Mention]]:
        """Return the sentences with a word of Y."""
        return [(sentence, NO_ONE) for sentence in self._sentences.find(text)]

    def _is_usable(self, sentence: str, position: int, word: str) -> bool:
        """Return whether something may be said before a word of Y.

        As in the paper, a word that modifies the subject may be the first.
        """
        return self._as_in_paper or sentence.count(" ", 0, position) >= 2

    def describe(self) -> dict[str, str]:
        """Return nothing beside what English says of every strategy."""
        return {}

    def decide(self, parsed: Parsed, subject: Mention) -> Iterator[Decision]:
        """Yield the decision on each word of Y; the subject of the article does not matter."""
        for token in parsed.doc:
            for kind, words in LINK_WORDS.items():
                is_wanted = token.i > 0 and token.lower_ in words
                if is_wanted and (kind != "possessive" or token.dep_ == "poss"):
                    yield self._decide_link(token, kind, parsed)
        if self._as_in_paper:
            yield from self._decide_subjects(parsed)

    def _decide_link(self, token: Token, kind: str, parsed: Parsed) -> Decision:
        """Return the decision on one word of Y: "The [X] said that [Y]"."""
        sentence = parsed.doc.text
        evidence = f"{token.text}@{token.i}"
        try:
            check_sentence(token)
            link = clause_link(token) if kind == "clause" else word_link(token)
            evidence = _evidence_of_link(link)
            facts = facts_of(link, parsed, self._persons)
            evidence += _evidence_of_facts(facts)
            words = _template(link, kind, Frame(parsed.entity, self._persons))
            check_words(words)
            template = finish(words, cues=self._cues, longest=self._longest)
        except Dropped as drop:
            return Decision(sentence, None, drop.rule, evidence)
        confidence = facts.confidence
        if confidence < self._least_confidence:
            return Decision(sentence, None, _UNSURE, evidence, confidence)
        return Decision(sentence, template, "", evidence, confidence)

    def _decide_subjects(self, parsed: Parsed) -> Iterator[Decision]:
        """Yield the decision on each subject that is or has a noun or adjective of Y."""
        sentence = parsed.doc.text
        for verb, subject in clauses(parsed.doc):
            if not self._is_word_of_y(subject):
                continue
            evidence = f"[X]={subject.text}@{subject.i} < {verb.text}@{verb.i}"
            try:
                template = self._template_of_subject(verb, subject, parsed)
            except Dropped as drop:
                yield Decision(sentence, None, drop.rule, evidence)
            else:
                yield Decision(sentence, template, "", evidence)

    def _is_word_of_y(self, subject: Token) -> bool:
        """Return whether a subject is, or is modified by, a noun or adjective of Y."""
        modifiers = [c for c in subject.children if c.dep_ in _MODIFIERS]
        return any(
            token.lower_ in self._words_of_y and token.pos_ != "PRON"
            for token in (subject, *modifiers)
        )

    def _template_of_subject(self, verb: Token, subject: Token, parsed: Parsed) -> str:
        """Return "The [X] explained that [Y]". As the authors do, "that" follows a single word."""
        check_sentence(verb)
        drop_if(subject.tag_ not in ("NN", "NNP"), "subject is not one person")
        person_kind(subject, parsed, self._persons)
        reports = has_dep(verb.rights, "ccomp")
        if reports:
            said_words = verb_group(verb).past()
        else:
            said_words = predicate((verb,), Frame(parsed.entity, self._persons))
        joint = ["that"] if reports or len(said_words) == 1 else []
        words = ["The", "[X]", *said_words, *joint, "[Y]"]
        return finish(words, cues=self._cues, longest=self._longest)


def _evidence_of_link(link: Link) -> str:
    path = " > ".join(f"{token.text}/{token.dep_}" for token in link.path)
    x = f"[X]={link.subject.text}@{link.subject.i}"
    y = f"[Y]={link.y.text}@{link.y.i}"
    return f"{x} {y} path {path}"


def _evidence_of_facts(facts: LinkFacts) -> str:
    return f"; subject is a {facts.kind}; confidence {facts.confidence:.2f}"


def _template(link: Link, kind: str, frame: Frame) -> list[str]:
    """Return the words of a template for a link of this kind."""
    if link.fronted:
        words = [opening_word(link), "the", "[X]", *predicate(link.path, frame)]
        return [*words[:-1], f"{words[-1]},", "[Y]"]
    words = ["The", "[X]", *predicate(link.path, frame)]
    if kind == "clause":
        joint = connector(link)
        check_joint(link, words, joint, frame.persons)
        return [*words, *joint, "[Y]"]
    if kind == "possessive":
        check_possessive(link, words, frame.persons)
    else:
        # "was himself a …"
        drop_if(link.parent.pos_ == "AUX", "[Y] is not an object")
    return [*words, "[Y]"]
