"""Does the word of Y refer to the subject? Decided inside the sentence, from its parse.

The rules favour precision: a pair is accepted only if the subject is one person, agrees with the
word, and no other person is mentioned between the two. benchmarks/coreference.py measures precision
and recall on annotated text.
"""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, Protocol

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.lexicon import (
    GENDERED_PRONOUNS,
    gender_of,
    is_person,
    listed,
)
from clinometer.contexts.mining.languages.english.skeleton.tense import base_and_past

if TYPE_CHECKING:
    from spacy.tokens import Token

    from clinometer.contexts.mining.languages.english.coreference.dependency_paths import Link
    from clinometer.contexts.mining.languages.english.parse import Parsed

_QUOTES = frozenset(['"', "“", "”", "`", "``", "''", "«", "»", "„"])
_NO_PERSON = frozenset(
    ["ORG", "GPE", "LOC", "FAC", "NORP", "WORK_OF_ART", "EVENT", "PRODUCT", "LAW", "DATE"]
)


class Resolver(Protocol):
    """Returns why a word refers to a subject, or raises Refused."""

    def __call__(self, link: Link, parsed: Parsed, persons: Set[str]) -> str: ...


def by_rules(link: Link, parsed: Parsed, persons: Set[str]) -> str:
    """The default resolver. Returns the kind of subject: "pronoun", "person noun", "name"."""
    subject, y = link.subject, link.y
    if _speech_between(subject, y):
        raise Dropped("a quotation begins between subject and [Y]")
    gender = GENDERED_PRONOUNS.get(y.lower_)
    kind = person_kind(subject, parsed, persons)
    theirs = _gender_of_subject(subject)
    if theirs and gender and theirs != gender:
        raise Dropped("subject and [Y] differ in gender")
    if any(t.i < subject.i and GENDERED_PRONOUNS.get(t.lower_) == gender for t in subject.subtree):
        raise Dropped("another person in the subject")  # "His father died when he …"
    embedded = link.path[0].dep_ == "ccomp" and link.path[-1].dep_ == "conj"
    if embedded and kind != "pronoun":
        raise Dropped("two subjects before [Y]")
    rival = _rival(link, parsed, persons, gender)
    if rival is not None:
        raise Dropped("another person stands between subject and [Y]")
    return kind


def person_kind(subject: Token, parsed: Parsed, persons: Set[str]) -> str:
    """The kind of subject; raises Refused if it is not one person."""
    word = subject.lower_
    if word in ("he", "she"):
        return "pronoun"
    if subject.pos_ == "PRON" or subject.tag_ in ("PRP", "WP", "DT", "EX", "WDT"):
        raise Dropped("subject is no person")
    if subject.tag_ in ("NNS", "NNPS") or any(c.dep_ in ("conj", "cc") for c in subject.children):
        raise Dropped("subject is not one person")
    if subject.tag_ == "NN":
        if is_person(word, persons):
            return "person noun"
        raise Dropped("subject is no person")
    if subject.tag_ == "NNP" or subject.pos_ == "PROPN":
        if word in persons or word in listed("persons"):
            return "person noun"
        if any(c.dep_ == "det" for c in subject.lefts):
            raise Dropped("subject is no person")
        if parsed.entity(subject) in ("PERSON", "") or _acts_as_person(subject):
            return "name"
    raise Dropped("subject is no person")


def _acts_as_person(name: Token) -> bool:
    """Whether a name that is labelled otherwise does what only persons do: "Becker studied law"."""
    if "-".join(t.lower_ for t in name.subtree if t.i <= name.i) in listed("countries"):
        return False
    return name.head.pos_ == "VERB" and base_and_past(name.head.lower_, name.head.tag_)[0] in (
        listed("done_by_persons")
    )


def _gender_of_subject(subject: Token) -> str | None:
    known = gender_of(subject.lower_)
    if known:
        return known
    for child in subject.children:
        word = child.lower_.rstrip(".")
        if word in ("mr", "sir", "king", "prince", "lord", "brother", "father"):
            return "male"
        if word in ("mrs", "ms", "miss", "queen", "princess", "lady", "sister", "dame", "mother"):
            return "female"
        if child.dep_ in ("appos", "compound") and gender_of(word):
            return gender_of(word)
    return None


def _speech_between(subject: Token, y: Token) -> bool:
    """Whether there may be speech between subject and [Y]: a quotation that is open, or one with a
    verb; not a title that is closed again, as in: He joined "Le Monde", where he …"""
    between = subject.doc[subject.i + 1 : y.i]
    doc = subject.doc  # "``" may be two tokens
    marks = [t.i for t in between if t.text in _QUOTES and doc[t.i - 1].text not in _QUOTES]
    if len(marks) % 2 or doc[y.i - 1].text in _QUOTES:
        return True
    pairs = zip(marks[::2], marks[1::2], strict=True)
    return any(t.pos_ in ("VERB", "AUX", "PRON") for a, b in pairs for t in doc[a:b])


def _rival(link: Link, parsed: Parsed, persons: Set[str], gender: str | None) -> Token | None:
    """Another person between the subject and [Y] to whom [Y] could refer."""
    subject, y = link.subject, link.y
    own = {t.i for t in subject.subtree}
    governing = link.path[0]
    own = {i for i in own if i < governing.i}
    for token in subject.doc[subject.i + 1 : y.i]:
        if token.i in own:
            continue
        word = token.lower_
        if word in GENDERED_PRONOUNS:
            if GENDERED_PRONOUNS[word] != gender:
                continue
            if word in ("his", "her") and token.dep_ == "poss":
                continue
            if word == subject.lower_ and token.dep_ in ("nsubj", "nsubjpass"):
                continue  # "She left the city where she worked, but she …"
            return token
        if token.tag_ == "NN" and is_person(word, persons) and token.dep_ not in ("compound",):
            theirs = gender_of(word)
            if (theirs is None or theirs == gender) and not _is_about_subject(token, link):
                return token
        if token.tag_ == "NNP" and _may_be_person(token, link, parsed):
            return token
    return None


def _may_be_person(name: Token, link: Link, parsed: Parsed) -> bool:
    """Whether a name can be a person. The object of a verb of telling is one, despite its label."""
    if any(name.i == t.i for t in link.path) and link.path[-1].dep_ == "relcl":
        return False  # "sent to Harrow, where he …": the clause says more of the place
    if name.dep_ == "dative" or (name.dep_ == "pobj" and name.head.dep_ == "agent"):
        return True
    if name.dep_ == "dobj" and name.head.lower_ in listed("told"):
        return True
    return parsed.entity(name) not in _NO_PERSON


def _is_about_subject(noun: Token, link: Link) -> bool:
    """ "He was the president …": the noun describes the subject itself."""
    if noun.dep_ in ("attr", "oprd", "acomp"):
        return True
    return noun.dep_ == "pobj" and noun.head.lower_ == "as"
