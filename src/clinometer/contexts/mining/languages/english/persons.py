"""What kind of person a subject is, if it is one, and of which gender."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import Dropped, drop_if
from clinometer.contexts.mining.languages.english.verbs import base_if_known
from clinometer.contexts.mining.languages.english.vocabulary import (
    FEMALE,
    MALE,
    gender_of,
    is_person,
    listed,
)
from clinometer.contexts.mining.languages.parses import Parsed, has_dep

if TYPE_CHECKING:
    from spacy.tokens import Token

PRONOUN = "pronoun"
PERSON_NOUN = "person noun"
NAME = "name"

_TITLES = {
    **dict.fromkeys("mr sir king prince lord brother father".split(), MALE),
    **dict.fromkeys(
        "mrs ms miss queen princess lady sister dame mother".split(), FEMALE
    ),
}
"""Titles, and what they say about gender."""


def person_kind(subject: Token, parsed: Parsed, persons: Set[str]) -> str:
    """Return PRONOUN, PERSON_NOUN or NAME; what is not one person drops the sentence."""
    word = subject.lower_
    if word in ("he", "she"):
        return PRONOUN
    if subject.pos_ == "PRON" or subject.tag_ in ("PRP", "WP", "DT", "EX", "WDT"):
        raise Dropped("subject is not a person")
    if subject.tag_ in ("NNS", "NNPS") or has_dep(subject.children, "conj", "cc"):
        raise Dropped("subject is not one person")
    if subject.tag_ == "NN":
        drop_if(not is_person(word, persons), "subject is not a person")
        return PERSON_NOUN
    if subject.tag_ == "NNP" or subject.pos_ == "PROPN":
        return _kind_of_name(subject, parsed, persons)
    raise Dropped("subject is not a person")


def _kind_of_name(subject: Token, parsed: Parsed, persons: Set[str]) -> str:
    """Return NAME, or PERSON_NOUN for a noun with a capital: "Detective Smith", "the Nurse"."""
    word = subject.lower_
    is_exclamation = word in ("god", "heaven", "lord")
    is_fragment = not subject.text[0].isupper()  # "n't", "'T was said"
    drop_if(is_exclamation or is_fragment, "subject is not a person")
    if word in persons or word in listed("persons"):
        return PERSON_NOUN
    drop_if(has_dep(subject.lefts, "det"), "subject is not a person")
    is_labelled = parsed.entity(subject) in ("PERSON", "")
    drop_if(
        not is_labelled and not _acts_as_person(subject, parsed),
        "subject is not a person",
    )
    return NAME


def _acts_as_person(name: Token, parsed: Parsed) -> bool:
    """Return whether a name with another label can be a person's: "Becker studied law"."""
    if is_country(name):
        return False
    verb = name.head
    if verb.pos_ == "VERB" and base_if_known(verb) in listed("done_by_persons"):
        return True
    return looks_like_person(name, parsed)


def is_country(name: Token) -> bool:
    """Return whether the whole name is that of a country."""
    return "-".join(_words_of_name(name)) in listed("countries")


def looks_like_person(name: Token, parsed: Parsed) -> bool:
    """Return whether a name has the form of a person's, and a label that is often wrong."""
    words = _words_of_name(name)
    if len(words) > 3 or not all(word.isalpha() for word in words):
        return False
    for kind in ("institutions", "done_to_things", "no_surnames"):
        if not listed(kind).isdisjoint(words):
            return False
    labels_often_wrong = ("ORG", "GPE", "NORP", "PRODUCT")
    return name.text.istitle() and parsed.entity(name) in labels_often_wrong


def _words_of_name(name: Token) -> list[str]:
    return [t.lower_ for t in name.subtree if t.i <= name.i]


def gender_of_subject(subject: Token) -> str | None:
    """Return the gender that a subject shows: by its noun, its title, or its first name."""
    gender = gender_of(subject.lower_)
    if gender:
        return gender
    for child in subject.children:
        word = child.lower_.rstrip(".")
        if word in _TITLES:
            return _TITLES[word]
        gender = gender_of(word) if child.dep_ in ("appos", "compound") else None
        if gender:
            return gender
    return gender_of_name(subject)


def gender_of_name(name: Token) -> str | None:
    """Return the gender to which the first name nearly always belongs: "Philip Carey"."""
    if name.tag_ != "NNP":
        return None
    compounds = [c for c in name.lefts if c.dep_ == "compound"]
    first_name = compounds[0] if compounds else name
    if first_name.lower_ in listed("male_names"):
        return MALE
    if first_name.lower_ in listed("female_names"):
        return FEMALE
    return None
