"""The people of a topic: who is said to be black, a Muslim, or blind.

Two kinds of evidence. In a sentence: "the blind pianist played", "Smith, a deaf teacher, taught",
"was an Indian lawyer who defended". In an article: its first sentence, or a later one about its
subject, says it once ("was an Indian lawyer", "was born into a Jewish family"), and its other
sentences call the subject by name or he or she.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.english.grammar import SUBJECTS, listed
from clinometer.contexts.mining.languages.shared import read_lexicon

if TYPE_CHECKING:
    from spacy.tokens import Token

#: The beginning of an article about a person: "Anne Kennedy (1920 – 2001) was an American pianist".
_OPENING = re.compile(
    r"(?P<name>[^\W\d_][^.,(\n]{1,60}?)(?:,? \([^)\n]{0,200}\)|,[^.\n]{0,80},)?,? (?:is|was) "
    r"(?P<what>(?:an?|the|one of|among)\b[^\n]{2,250})"
)
#: A later sentence that says what its subject is, or where he or she comes from.
_STATES = (
    r"\b(?:is|was|be|been|became|become|being|born|raised|grew up|identifie[sd]|went)\b"
    r"[^.;\n]{0,40}?"
)
_ORIGINS = "faith|descent|origin|ancestry|heritage|background|parents|parentage|family|household"
_ENDS = rf"(?=[,.;)]| (?:from|since|in|at|and|by|due|after|until|when|because|{_ORIGINS})\b)"
#: What cannot stand between a description and the noun that it describes.
_BETWEEN = (
    r"(?:(?:\W{1,2})(?!(?:of|in|by|for|to|who|that|which|about|from|on|at|with)\b)[\w'’]+){0,5}?"
)
_CONDITIONS = (
    r"\b(?:converted to|conversion to|practi[cs]es|diagnosed with|suffer(?:s|ed|ing) from|"
    r"contracted|developed|born with|living with)(?: [\w-]+){0,3}? "
)


def has_people(topic: str) -> bool:
    """Whether the lexicon says which words describe the people of a topic."""
    return topic in read_lexicon(__package__)["identities"]


@dataclass(frozen=True)
class Mention:
    """How the sentences of an article refer to its subject, and the topics that it is one of.

    >>> Mention.read("he\\tSmith Adam\\trace").names == {"Adam", "Smith"}
    True
    """

    pronoun: str
    names: frozenset[str]
    topics: frozenset[str]

    def write(self) -> str:
        """One line, to go with a candidate sentence."""
        return "\t".join(
            (self.pronoun, " ".join(sorted(self.names)), " ".join(sorted(self.topics)))
        )

    @classmethod
    def read(cls, line: str) -> Mention:
        """What `write` wrote; NO_ONE for an empty line."""
        pronoun, names, topics = line.split("\t") if line else ("", "", "")
        return cls(pronoun, frozenset(names.split()), frozenset(topics.split()))

    def opens(self, sentence: str) -> bool:
        """Whether a sentence begins with the subject, perhaps after a phrase: "In 1990, he"."""
        head = re.match(r"(?:[^,]{0,50}, )?(?:[^\W\d_][\w’'-]*\W{1,2}){0,3}", sentence)
        words = re.findall(r"[\w’'-]+", head[0] if head else "")
        return any(w in self.names or (self.pronoun and w.lower() == self.pronoun) for w in words)

    def means(self, token: Token) -> bool:
        """Whether a subject is that of the article: no other subject comes before it."""
        if not self._is(token):
            return False
        before = (t for t in token.doc[: token.i] if t.dep_ in SUBJECTS)
        return all(self._is(t) or t.tag_ in ("WP", "WDT") for t in before)

    def _is(self, token: Token) -> bool:
        return token.text in self.names or bool(self.pronoun and token.lower_ == self.pronoun)


NO_ONE = Mention.read("")


def mentioned_in(text: str, persons: frozenset[str]) -> Mention:
    """The subject of an article, if it is a person of some topic; `persons` are further nouns for
    one.

    >>> text = "Anne Kennedy (born 1920) was an Indian pianist. She was born into a Hindu family."
    >>> mention = mentioned_in(text, frozenset())
    >>> mention.pronoun, sorted(mention.topics)
    ('she', ['race', 'religion'])
    """
    opening = _OPENING.match(text)
    if opening is None or not _a_person(persons).match(opening["what"]):
        return NO_ONE
    he, she = (len(re.findall(rf"\b{word}\b", text, re.IGNORECASE)) for word in ("he", "she"))
    pronoun = "he" if he > 2 * she else "she" if she > 2 * he else ""
    names = {w for w in re.findall(r"[\w’'-]+", opening["name"]) if w[:1].isupper() and len(w) > 2}
    if not pronoun or not names:
        return NO_ONE
    mention = Mention(pronoun, frozenset(names), frozenset())
    what, *_ = re.split(r"\.\s", opening["what"])
    patterns = _patterns(persons)
    topics = {topic for topic, pattern in patterns.items() if pattern.is_one.search(what)}
    for topic, pattern in patterns.items():
        later = filter(mention.opens, _sentences_with(text, pattern.word))
        if topic not in topics and any(map(pattern.becomes.search, later)):
            topics.add(topic)
    return Mention(pronoun, mention.names, frozenset(topics)) if topics else NO_ONE


def is_described(person: Token, topic: str) -> bool:
    """Whether the sentence itself says that a person is one of the topic's people."""
    nouns = [person, *(c for c in person.rights if c.dep_ == "appos")]
    texts = [" ".join(_modifiers(noun)).replace(" - ", "-") for noun in nouns]
    for clause in (c for c in person.rights if c.dep_ == "relcl" and c.lower_ in listed("be")):
        who = any(c.text == "who" for c in clause.lefts)
        texts += [c.text for c in clause.rights if c.dep_ == "acomp" and who]
    return any(map(_patterns()[topic].word.search, texts))


def identity_nouns() -> frozenset[str]:
    """The nouns that by themselves name a person of some topic: Muslim, amputee."""
    tables = read_lexicon(__package__)["identity_nouns"].values()
    return frozenset(noun.replace("_", " ") for nouns in tables for noun in nouns.split())


def names_people(sentence: str) -> bool:
    """Whether a sentence has a word that describes people of some topic."""
    return any(pattern.word.search(sentence) for pattern in _patterns().values())


def _modifiers(noun: Token) -> Iterator[str]:
    for child in noun.lefts:
        if child.dep_ in ("amod", "compound", "nmod"):
            yield from (t.text for t in child.subtree)
    yield noun.text


def _sentences_with(text: str, word: re.Pattern[str]) -> Iterator[str]:
    for hit in word.finditer(text):
        start = max(text.rfind(". ", 0, hit.start()) + 1, text.rfind("\n", 0, hit.start()))
        end = text.find(". ", hit.end())
        yield text[start + 1 : end + 1 if end >= 0 else len(text)].split("\n")[0]


@dataclass(frozen=True)
class _Patterns:
    """What describes the people of one topic: words, and what is said of a subject."""

    word: re.Pattern[str]
    is_one: re.Pattern[str]
    becomes: re.Pattern[str]


@cache
def _patterns(persons: frozenset[str] = frozenset()) -> dict[str, _Patterns]:
    lexicon = read_lexicon(__package__)
    return {topic: _compile(lexicon, topic, _nouns(persons)) for topic in lexicon["identities"]}


@cache
def _a_person(persons: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:an?|the|one of the|among the)\b{_BETWEEN}\W(?:{_nouns(persons)})")


def _nouns(persons: frozenset[str]) -> str:
    kinds = (listed(name) for name in ("persons", "male_persons", "female_persons"))
    return _any(persons.union(identity_nouns(), *kinds))


def _compile(lexicon: dict[str, dict[str, str]], topic: str, persons: str) -> _Patterns:
    def words(table: str) -> frozenset[str]:
        return frozenset(w.replace("_", " ") for w in lexicon[table].get(topic, "").split())

    nouns = words("identity_nouns")
    names, conditions = _any(words("identities")), _any(words("identity_conditions"))
    is_one = rf"{names}{_BETWEEN}\W(?:{persons})|{_any(nouns)}{_ENDS}"
    origin = rf"\b(?:of|to)(?: \w+)? {names}(?: \w+)? (?:{_ORIGINS})\b"
    becomes = rf"{_STATES}(?:{is_one}|{names}{_ENDS})|{origin}|{_CONDITIONS}{conditions}"
    return _Patterns(
        re.compile(_any(words("identities") | nouns | words("identity_conditions"))),
        re.compile(f"{is_one}|{origin}"),
        re.compile(becomes),
    )


def _any(words: frozenset[str]) -> str:
    """A pattern for one of the words; those that begin with a capital may not lose it."""
    return r"\b(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + r")\b"
