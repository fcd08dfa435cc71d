"""The people of a topic: who is said to be black, a Muslim, or blind.

Two kinds of evidence. In a sentence: "the blind pianist played", "Smith, a deaf teacher, taught",
"was an Indian lawyer who defended". In an article: its first sentence, or a later one about its
subject, says it once ("was an Indian lawyer", "was born into a Jewish family"), and its other
sentences call the subject by name or he or she.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.english.tokens import SUBJECTS
from clinometer.contexts.mining.languages.english.vocabulary import (
    identity_nouns,
    listed,
)
from clinometer.contexts.mining.languages.lexicon import read_lexicon

if TYPE_CHECKING:
    from spacy.tokens import Token

_OPENING = re.compile(
    r"(?P<name>[^\W\d_][^.,(\n]{1,60}?)(?:,? \([^)\n]{0,200}\)|,[^.\n]{0,80},)?,? (?:is|was) "
    r"(?P<what>(?:an?|the|one of|among)\b[^\n]{2,250})"
)
"""The beginning of an article about a person: "Anne Kennedy (1920 – 2001) was an American"."""

_STATES = (
    r"\b(?:is|was|be|been|became|become|being|born|raised|grew up|identifie[sd]|went)\b"
    r"[^.;\n]{0,40}?"
)
"""What a later sentence begins with that says what its subject is, or where he or she is from."""

_ORIGINS = "faith|descent|origin|ancestry|heritage|background|parents|parentage|family|household"
_ENDS = rf"(?=[,.;)]| (?:from|since|in|at|and|by|due|after|until|when|because|{_ORIGINS})\b)"
_BETWEEN = (
    r"(?:(?:\W{1,2})(?!(?:of|in|by|for|to|who|that|which|about|from|on|at|with)\b)"
    r"[\w'’]+){0,5}?"
)
"""What can stand between a description and the noun that it describes."""

_CONDITIONS = (
    r"\b(?:converted to|conversion to|practi[cs]es|diagnosed with|suffer(?:s|ed|ing) from|"
    r"contracted|developed|born with|living with)(?: [\w-]+){0,3}? "
)


@dataclass(frozen=True)
class Mention:
    """How the sentences of an article refer to its subject, and the topics that it is one of.

    >>> Mention("he", frozenset({"Adam", "Smith"})).opens("In 1990, Smith left.")
    True
    """

    pronoun: str = ""
    names: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()

    def opens(self, sentence: str) -> bool:
        """Return whether a sentence begins with the subject, or a phrase and it: "In 1990, he"."""
        head = re.match(r"(?:[^,]{0,50}, )?(?:[^\W\d_][\w’'-]*\W{1,2}){0,3}", sentence)
        words = re.findall(r"[\w’'-]+", head[0] if head else "")
        return any(self._is_subject(word) for word in words)

    def means(self, token: Token) -> bool:
        """Return whether a subject is that of the article: no other subject comes before it."""
        if not self._is_subject(token.text):
            return False
        for earlier in token.doc[: token.i]:
            is_relative = earlier.tag_ in ("WP", "WDT")
            is_noun_subject = earlier.dep_ in SUBJECTS and not is_relative
            if is_noun_subject and not self._is_subject(earlier.text):
                return False
        return True

    def _is_subject(self, word: str) -> bool:
        if word in self.names:
            return True
        return self.pronoun != "" and word.lower() == self.pronoun


NO_ONE = Mention()
"""The subject of an article that is no person of a topic."""


def mentioned_in(text: str, persons: frozenset[str]) -> Mention:
    """Return the subject of an article, if it is a person of some topic.

    `persons` are further nouns for one.

    >>> text = "Anne van Kennedy was an Indian pianist. She was born into a Hindu family."
    >>> mention = mentioned_in(text, frozenset())
    >>> mention.pronoun, sorted(mention.names), sorted(mention.topics)
    ('she', ['Anne', 'Kennedy'], ['race', 'religion'])
    """
    opening = _OPENING.match(text)
    if opening is None or not _a_person(persons).match(opening["what"]):
        return NO_ONE
    pronoun = _usual_pronoun(text)
    names = {
        word
        for word in re.findall(r"[\w’'-]+", opening["name"])
        if word[:1].isupper() and len(word) > 2
    }
    if not pronoun or not names:
        return NO_ONE
    mention = Mention(pronoun, frozenset(names))
    first_sentence = re.split(r"\.\s", opening["what"])[0]
    topics = {
        topic
        for topic, pattern in _patterns(persons).items()
        if pattern.is_one.search(first_sentence) or _becomes_one(mention, text, pattern)
    }
    return replace(mention, topics=frozenset(topics)) if topics else NO_ONE


def _usual_pronoun(text: str) -> str:
    """Return "he" or "she", if it is in the text more than twice as often as the other."""
    he = len(re.findall(r"\bhe\b", text, re.IGNORECASE))
    she = len(re.findall(r"\bshe\b", text, re.IGNORECASE))
    if he > 2 * she:
        return "he"
    return "she" if she > 2 * he else ""


def _becomes_one(mention: Mention, text: str, pattern: _Patterns) -> bool:
    """Return whether a later sentence says of the subject that it is one of a topic's people."""
    for sentence in _sentences_with(text, pattern.word):
        if mention.opens(sentence) and pattern.becomes.search(sentence):
            return True
    return False


def _sentences_with(text: str, word: re.Pattern[str]) -> Iterator[str]:
    for match in word.finditer(text):
        after_stop = text.rfind(". ", 0, match.start()) + 1
        line_break = text.rfind("\n", 0, match.start())
        start = max(after_stop, line_break) + 1
        stop = text.find(". ", match.end())
        end = stop + 1 if stop >= 0 else len(text)
        yield text[start:end].split("\n")[0]


def is_described(person: Token, topic: str) -> bool:
    """Return whether the sentence itself says that a person is one of the topic's people."""
    nouns = [person, *(c for c in person.rights if c.dep_ == "appos")]
    texts = [_description(noun) for noun in nouns]
    texts += _said_in_relative_clause(person)
    word = _patterns()[topic].word
    return any(word.search(text) for text in texts)


def _description(noun: Token) -> str:
    """Return a noun with the words before it that modify it: "Indian-born pianist"."""
    words: list[str] = []
    for child in noun.lefts:
        if child.dep_ in ("amod", "compound", "nmod"):
            words += [t.text for t in child.subtree]
    return " ".join([*words, noun.text]).replace(" - ", "-")


def _said_in_relative_clause(person: Token) -> list[str]:
    """Return the adjectives of "…, who was black"."""
    adjectives: list[str] = []
    for clause in person.rights:
        if clause.dep_ != "relcl" or clause.lower_ not in listed("be"):
            continue
        if any(c.text == "who" for c in clause.lefts):
            adjectives += [c.text for c in clause.rights if c.dep_ == "acomp"]
    return adjectives


def names_people(sentence: str) -> bool:
    """Return whether a sentence has a word that describes people of some topic."""
    return any(pattern.word.search(sentence) for pattern in _patterns().values())


@dataclass(frozen=True)
class _Patterns:
    """What describes the people of one topic."""

    word: re.Pattern[str]
    """A word for them."""

    is_one: re.Pattern[str]
    """What says so in the first sentence of an article."""

    becomes: re.Pattern[str]
    """What says so in a later sentence about its subject."""


@cache
def _patterns(persons: frozenset[str] = frozenset()) -> dict[str, _Patterns]:
    topics = read_lexicon(__package__)["identities"]
    person = _nouns_for_persons(persons)
    return {topic: _patterns_of(topic, person) for topic in topics}


@cache
def _a_person(persons: frozenset[str]) -> re.Pattern[str]:
    person = _nouns_for_persons(persons)
    return re.compile(rf"(?:an?|the|one of the|among the)\b{_BETWEEN}\W(?:{person})")


def _nouns_for_persons(persons: frozenset[str]) -> str:
    kinds = ("persons", "male_persons", "female_persons")
    lists = [listed(kind) for kind in kinds]
    return _any_of(persons.union(identity_nouns(), *lists))


def _patterns_of(topic: str, person: str) -> _Patterns:
    """Return the patterns of a topic; `person` is that of a noun for a person."""
    identities = _words_of(topic, "identities")
    nouns = _words_of(topic, "identity_nouns")
    conditions = _words_of(topic, "identity_conditions")
    identity = _any_of(identities)
    is_one = rf"{identity}{_BETWEEN}\W(?:{person})|{_any_of(nouns)}{_ENDS}"
    origin = rf"\b(?:of|to)(?: \w+)? {identity}(?: \w+)? (?:{_ORIGINS})\b"
    states = rf"{_STATES}(?:{is_one}|{identity}{_ENDS})"
    return _Patterns(
        word=re.compile(_any_of(identities | nouns | conditions)),
        is_one=re.compile(f"{is_one}|{origin}"),
        becomes=re.compile(rf"{states}|{origin}|{_CONDITIONS}{_any_of(conditions)}"),
    )


def _words_of(topic: str, table: str) -> frozenset[str]:
    words = read_lexicon(__package__)[table].get(topic, "").split()
    return frozenset(word.replace("_", " ") for word in words)


def _any_of(words: frozenset[str]) -> str:
    """Return a pattern for one of the words; one that begins with a capital may not lose it."""
    alternatives = sorted((re.escape(word) for word in words), key=len, reverse=True)
    return rf"\b(?:{'|'.join(alternatives)})\b"
