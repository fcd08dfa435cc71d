"""Reasons for dropping a verb: what is left after it is not what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import drop_if
from clinometer.contexts.mining.languages.english.tokens import NOUNS, is_hyphenated
from clinometer.contexts.mining.languages.english.verbs import is_known, verb_group
from clinometer.contexts.mining.languages.english.vocabulary import listed
from clinometer.contexts.mining.languages.parses import has_dep

if TYPE_CHECKING:
    from spacy.tokens import Token

_INCOMPLETE = "incomplete predicate"
_LOST = "a noun that lost what it needs"


@dataclass(frozen=True)
class Complements:
    """A verb, and what a skeleton keeps of what follows it."""

    verb: Token

    base: str
    """The base form of the verb."""

    words: list[str]
    """The words that follow it in the skeleton."""

    end: int
    """Where the predicate ends in the sentence."""

    is_copula: bool

    is_filled: bool = False
    """Whether its object is [Y], or something of [Y]'s: "made [Y]"."""

    @property
    def tokens(self) -> list[Token]:
        """Return what depends on the verb, after it and up to the end."""
        return [c for c in self.verb.rights if c.i <= self.end]

    @property
    def is_passive(self) -> bool:
        return verb_group(self.verb).passive

    @property
    def has_clause(self) -> bool:
        return has_dep(self.tokens, "ccomp")

    @property
    def is_bare(self) -> bool:
        """Return whether nothing at all follows the verb."""
        return not self.words and not self.has_clause and not self.is_filled

    @property
    def says_whom(self) -> bool:
        """Return whether somebody or something is its object, or its subject if it is passive."""
        return self.is_passive or has_dep(self.tokens, "dobj", "dative")


def check_verb(complements: Complements) -> None:
    """Refuse a verb without its complements."""
    _check_form(complements)
    _check_two_objects(complements)
    _check_order(complements)
    _check_done_to_things(complements)
    _check_object(complements)
    _check_noun(complements)
    _check_clause(complements)
    _check_end(complements)
    _check_as(complements)
    if complements.is_copula:
        _check_up(complements)
        _check_attribute(complements)
        _check_phrases(complements)


def _check_form(complements: Complements) -> None:
    """Refuse what is no verb of its own: "'s been telling", "'s got", "short-lived"."""
    verb = complements.verb
    is_passive = has_dep(verb.lefts, "auxpass")
    # "'s been telling", read as a passive
    drop_if(verb.tag_ == "VBG" and is_passive, "no finite verb")
    drop_if(verb.lower_ == "got" and is_passive, "no finite verb")
    drop_if(is_hyphenated(verb), "broken grammar")
    drop_if(not is_known(complements.base), "unknown verb")


def _nouns(complements: Complements) -> list[Token]:
    """Return the objects and predicate nouns of the verb."""
    labels = ("dobj", "attr", "oprd")
    return [c for c in complements.tokens if c.dep_ in labels and c.pos_ in NOUNS]


def _check_two_objects(complements: Complements) -> None:
    """Refuse an apposition, read as an object: "wrote an essay, the deficiency …"."""
    takes_two = complements.base in listed("two_objects")
    drop_if(len(_nouns(complements)) > 1 and not takes_two, "two objects in a row")


def _check_order(complements: Complements) -> None:
    """Refuse a phrase before the object: "saw on the territory a group"."""
    objects = [noun.i for noun in _nouns(complements) if noun.dep_ == "dobj"]
    for phrase in complements.tokens:
        if phrase.dep_ == "prep" and phrase.lower_ in complements.words:
            drop_if(any(phrase.i < noun for noun in objects), "word order")


def _check_done_to_things(complements: Complements) -> None:
    """Refuse what happens to things: a horse "was exported"."""
    if complements.is_passive:
        is_of_things = complements.base in listed("done_to_things")
        drop_if(is_of_things, "subject is not a person")


def _check_object(complements: Complements) -> None:
    """Refuse a verb without its object: a participle alone, "caused"."""
    if complements.base in listed("needs_object") and not complements.is_passive:
        drop_if(complements.is_bare, _INCOMPLETE)


def _check_noun(complements: Complements) -> None:
    """Refuse a verb without its noun: "spent (one year) at a university"."""
    if complements.base in listed("needs_noun") and not complements.says_whom:
        does_clause = complements.base == "do" and complements.has_clause
        drop_if(not does_clause, _INCOMPLETE)


def _check_clause(complements: Complements) -> None:
    """Refuse a clause that the verb cannot have: “told that”, “lived that”."""
    if not complements.has_clause:
        return
    base = complements.base
    has_particle = has_dep(complements.tokens, "prt")
    drop_if(base in listed("no_clause") and not has_particle, _INCOMPLETE)
    drop_if(base in listed("needs_whom") and not complements.says_whom, _INCOMPLETE)


def _check_end(complements: Complements) -> None:
    """Refuse a verb that says nothing by itself: "went", "was put"."""
    if complements.base in listed("needs_more"):
        drop_if(complements.is_bare, _INCOMPLETE)


def _check_as(complements: Complements) -> None:
    """Refuse "regarded" without "as"."""
    takes_as = ("regard", "categorise", "categorize", "classify")
    drop_if(complements.base in takes_as and "as" not in complements.words, _INCOMPLETE)


def _check_up(complements: Complements) -> None:
    """Refuse "was not up (for …)"."""
    drop_if(complements.words == ["up"], _INCOMPLETE)


def _check_attribute(complements: Complements) -> None:
    """Refuse a predicate noun without its article: "was (a) member"."""
    first_word = complements.words[:1]
    for noun in complements.tokens:
        is_singular = noun.dep_ == "attr" and noun.tag_ == "NN"
        is_first = first_word == [noun.lower_]
        is_office = noun.lower_ in listed("offices")
        drop_if(is_singular and is_first and not is_office, _LOST)


def _check_phrases(complements: Complements) -> None:
    """Refuse a phrase that lost a part: "was in a (critical) condition"."""
    for preposition in complements.tokens:
        if preposition.dep_ != "prep":
            continue
        for noun in preposition.rights:
            if noun.dep_ == "pobj" and noun.lower_ in complements.words:
                is_for = preposition.lower_ == "for"
                drop_if(is_for or _lost_part(noun, complements.words), _LOST)


def _lost_part(noun: Token, words: list[str]) -> bool:
    """Return whether a noun lost an adjective, a number, or its "of": "in the direction (of …)"."""
    for child in noun.lefts:
        if child.dep_ in ("amod", "nummod") and child.lower_ not in words:
            return True
    return "of" not in words and any(c.lower_ == "of" for c in noun.rights)
