"""Reasons for dropping what joins a predicate to [Y]: it would differ from that in the sentence."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import drop_if
from clinometer.contexts.mining.languages.english.links import Link
from clinometer.contexts.mining.languages.english.tokens import (
    NOUNS,
    is_name,
    is_time,
    is_verb,
)
from clinometer.contexts.mining.languages.english.verbs import base_of
from clinometer.contexts.mining.languages.english.vocabulary import (
    gives_gender_away,
    is_person,
    listed,
)
from clinometer.contexts.mining.languages.parses import has_dep

if TYPE_CHECKING:
    from spacy.tokens import Token

_NOTHING_JOINS = "nothing joins the clauses"
_NO_NOUN = "a relative clause without its noun"
_COULD_BE_ANOTHER = "[Y] could be another person"
_RELATIVES = frozenset(["in which", "on which", "at which", "with whom"])
"""Prepositions with which, or with whom, that read well after the noun alone."""


@dataclass(frozen=True)
class _Joint:
    """A link, the words of the template so far, and what joins them: that, because, where, …"""

    link: Link
    words: list[str]
    joint: list[str]

    @property
    def clause(self) -> Token:
        return self.link.clause

    @property
    def parent(self) -> Token:
        return self.link.parent

    @property
    def is_overt(self) -> bool:
        """Return whether the sentence itself has the word that joins."""
        opening = self.link.opening
        return any(t.lower_ == self.joint[-1] or t.tag_ == "WDT" for t in opening)


def check_joint(
    link: Link, words: list[str], joint: list[str], persons: Set[str]
) -> None:
    """Refuse a connection of predicate and [Y] that differs from that in the sentence.

    `words` is the template so far; `joint` is that, because, where, …
    """
    connection = _Joint(link, words, joint)
    if link.clause.dep_ == "relcl":
        _check_antecedent(link.parent, joint, persons)
        _check_preposition(connection)
        _check_gap(connection)
    if link.clause.dep_ in ("relcl", "ccomp", "acl") and not connection.is_overt:
        _check_punctuation(connection)
        _check_main_clause(connection)
    if link.clause.dep_ == "ccomp":
        _check_reported_question(connection)
        _check_reported_object(connection)
    if joint == ["as"]:
        _check_as(connection)
    if joint == ["where"]:
        _check_where(connection)


def _check_antecedent(noun: Token, joint: list[str], persons: Set[str]) -> None:
    """Refuse a relative clause after a noun that it cannot modify.

    "was a lecturer (at …), where", "by the time he was a teenager he …".
    """
    is_noun = noun.pos_ in NOUNS or noun.lower_ in listed("antecedents")
    drop_if(not is_noun, _NO_NOUN)
    is_role = noun.dep_ == "pobj" and noun.head.lower_ == "as"
    if is_role or noun.lower_ == "figure" or is_person(noun.lower_, persons):
        drop_if(joint[-1] in ("where", "which"), _NO_NOUN)
        drop_if(noun.dep_ == "attr" and joint == ["that"], _NO_NOUN)


def _check_preposition(connection: _Joint) -> None:
    """Refuse a preposition and relative away from their noun: "the book (…) of which"."""
    link = connection.link
    joint = connection.joint
    if len(joint) != 2 or " ".join(joint) in _RELATIVES:
        return
    between = link.y.doc[link.parent.i + 1 : link.y.i - len(joint)].text
    is_near = between == "" or (between == "," and joint[0] == "from")
    drop_if(not is_near, "a preposition before the relative")


def _check_gap(connection: _Joint) -> None:
    """Refuse a bare relative clause that lacks nothing: "the house he left the city"."""
    if connection.is_overt or is_time(connection.parent):
        return
    drop_if(not _has_gap(connection.clause), _NOTHING_JOINS)


def _has_gap(clause: Token) -> bool:
    """Return whether something is missing in a clause, as in "the book he wrote"."""
    for token in clause.subtree:
        if token.pos_ == "ADP" and not token.n_rights and token.dep_ != "prt":
            return True  # "the pain he was in"
    if has_dep(clause.rights, "xcomp", "ccomp", "advcl"):
        return True  # below it, maybe: "the book he wanted to write"
    takes_object = clause.pos_ == "VERB" or clause.lower_ in listed("do")
    return takes_object and not has_dep(clause.rights, "dobj", "attr", "acomp")


def _check_punctuation(connection: _Joint) -> None:
    """Refuse a clause that a mark or a conjunction separates: "left the house; he"."""
    link = connection.link
    between = link.y.doc[link.parent.i + 1 : link.y.i]
    marks = (",", ";", ":", "–", "—")
    separated = any(t.text in marks or t.tag_ == "CC" for t in between)
    drop_if(separated, _NOTHING_JOINS)


def _check_main_clause(connection: _Joint) -> None:
    """Refuse a predicate with a subordinator and no main clause: "Since he was a teenager he"."""
    verb = connection.link.path[0]
    has_subordinator = any(c.dep_ == "mark" or c.tag_ == "WRB" for c in verb.lefts)
    has_main_clause = is_verb(connection.parent) or verb.head.i < verb.i
    drop_if(has_subordinator and not has_main_clause, _NOTHING_JOINS)


def _check_reported_question(connection: _Joint) -> None:
    """Refuse a question that the noun before it does not ask: "started the brands how"."""
    asks = connection.joint[0] in ("how", "what", "why")
    if asks and _complements(connection, "dobj"):
        takes_two = _base(connection.parent) in listed("two_objects")
        drop_if(not takes_two, _NOTHING_JOINS)


def _check_reported_object(connection: _Joint) -> None:
    """Refuse objects before what is said: “told truth to everyone that”, “has it that”."""
    nouns = _complements(connection, "dobj")
    if connection.joint == ["that"] and nouns:
        hearers = _complements(connection, "dative")
        drop_if(hearers or nouns[0].lower_ == "it", "two objects in a row")


def _complements(connection: _Joint, label: str) -> list[Token]:
    """Return the complements of a verb of saying before what is said."""
    end = connection.clause.i
    return [c for c in connection.parent.rights if c.dep_ == label and c.i < end]


def _check_as(connection: _Joint) -> None:
    """Refuse an "as" that reads otherwise after its verb: "was classified as"."""
    last_words = {_base(connection.parent), connection.words[-1]}
    drop_if(last_words & listed("takes_as"), "an as that reads otherwise")


def _base(word: Token) -> str:
    if word.pos_ == "VERB":
        return base_of(word)
    text: str = word.lower_
    return text


def _check_where(connection: _Joint) -> None:
    """Refuse a "where" that is no question and does not follow the place it refers to."""
    clause = connection.clause
    parent = connection.parent
    place = parent if clause.dep_ == "relcl" else clause.left_edge.nbor(-1)
    drop_if(parent.lower_ == "from", _NOTHING_JOINS)
    is_reported = clause.dep_ == "ccomp" and place.i == parent.i
    if clause.dep_ == "pcomp" or is_reported:
        return
    last_word = connection.words[-1]
    names_place = is_name(place) and last_word in ("city", "country")
    follows = place.lower_ == last_word or names_place
    drop_if(not follows or is_time(place), _NOTHING_JOINS)


def check_possessive(link: Link, words: list[str], persons: Set[str]) -> None:
    """Refuse a possessive where another person could be meant as well: "met her (wife)"."""
    owned = link.y.head.lower_
    is_relative = is_person(owned, persons) or is_person(
        owned.removesuffix("s"), persons
    )
    drop_if(is_relative, _COULD_BE_ANOTHER)
    reads_as_object = words[-1] in listed("takes_him")
    drop_if(reads_as_object or gives_gender_away(owned), _COULD_BE_ANOTHER)
