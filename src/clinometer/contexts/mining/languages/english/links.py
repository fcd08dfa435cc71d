"""Links from a word of Y to the predicate that governs it, and to the subject of that predicate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import Dropped, drop_if
from clinometer.contexts.mining.languages.english.tokens import (
    SUBJECTS,
    is_finite,
    is_verb,
)
from clinometer.contexts.mining.languages.parses import has_dep

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_STEPS = frozenset(
    ["dobj", "pobj", "prep", "attr", "acomp", "oprd", "dative", "xcomp", "appos"]
)
"""Dependency labels allowed between the governing verb and the clause of [Y]."""

_LONGEST_PATH = 7


@dataclass(frozen=True)
class Link:
    """A word of Y, the predicate above it, and the subject of that predicate."""

    y: Token

    subject: Token

    path: tuple[Token, ...]
    """From the governing verb down to the clause of [Y] (or to [Y] itself)."""

    fronted: bool = False
    """Whether the predicate is in a separate clause before that of [Y]."""

    @property
    def clause(self) -> Token:
        """Return the head of the clause of [Y]; of an object, [Y] or what it possesses."""
        return self.path[-1]

    @property
    def parent(self) -> Token:
        """Return the word that the clause of [Y] depends on."""
        return self.path[-2]

    @property
    def opening(self) -> list[Token]:
        """Return the words of the clause of [Y] before [Y]."""
        return [t for t in self.clause.subtree if t.i < self.y.i]


def clauses(doc: Doc) -> Iterator[tuple[Token, Token]]:
    """Yield every verb that has a subject, with it."""
    for verb in doc:
        subjects = [c for c in verb.lefts if c.dep_ in SUBJECTS]
        is_auxiliary = verb.dep_ in ("aux", "auxpass")
        if is_verb(verb) and not is_auxiliary and subjects:
            yield verb, subjects[-1]


def clause_link(y: Token) -> Link:
    """Return the link of a [Y] that is the subject of a clause: "Smith said that [Y] …"."""
    clause = y.head
    is_subject = y.dep_ in SUBJECTS and is_verb(clause) and y.i <= clause.i
    drop_if(not is_subject, "[Y] is not the subject of a clause")
    drop_if(not is_finite(clause), "[Y] has no finite verb")
    try:
        return _climb(y, clause)
    except Dropped:
        fronted = _fronted(y, clause)
        if fronted is None:
            raise
        return fronted


def _fronted(y: Token, clause: Token) -> Link | None:
    """Return the link to a predicate in the clause before [Y]'s: "When Smith retired, [Y]"."""
    for child in clause.lefts:
        if child.dep_ == "advcl" and child.i < y.i and is_verb(child):
            subject = subject_of(child)
            if subject is not None and subject.i < child.i and is_finite(child):
                _check_gap(child, subject)
                return Link(y, subject, (child,), fronted=True)
    return None


def word_link(y: Token) -> Link:
    """Return the link of a [Y] that is an object, or the possessor of one.

    "Smith devoted [Y] …", "Smith lost [Y] …".
    """
    start = y.head if y.dep_ == "poss" else y
    is_object = start.dep_ in ("dobj", "pobj", "dative") and start.i >= start.head.i
    drop_if(not is_object, "[Y] is not an object")
    drop_if(y.i > start.head.i + 1, "words before [Y] in its phrase")
    return _climb(y, start)


def _climb(y: Token, start: Token) -> Link:
    """Return the link from [Y] to the first verb above `start` that has a subject."""
    path = [start]
    while len(path) <= _LONGEST_PATH:
        token = path[0]
        parent = token.head
        drop_if(parent.i == token.i, "no predicate before [Y]")
        drop_if(parent.i > token.i, "[Y] stands before its predicate")
        if token.dep_ == "appos" and token is not start:
            path.pop(0)  # "in London, England, where …": the clause says more of London
        path.insert(0, parent)
        subject = subject_of(parent) if is_verb(parent) else None
        if subject is not None:
            drop_if(subject.i > parent.i, "subject after its verb")
            _check_gap(parent, subject)
            return Link(y, subject, tuple(path))
        drop_if(parent.dep_ not in _STEPS, "no subject of the predicate")
    raise Dropped("[Y] is too far from its predicate")


def subject_of(verb: Token) -> Token | None:
    """Return the subject of a verb: its own, the one it shares, or the noun that "who" means."""
    for child in reversed(list(verb.lefts)):
        if child.dep_ in SUBJECTS:
            return _antecedent_of_relative(verb, child)
        if child.dep_ in ("expl", "csubj"):
            return None
    drop_if(has_dep(verb.rights, *SUBJECTS), "subject after its verb")
    first_verb = verb.head
    joined = verb.dep_ == "conj" and is_verb(first_verb) and first_verb.i < verb.i
    if joined or shares_subject(verb):
        return subject_of(first_verb)
    return None


def _antecedent_of_relative(verb: Token, subject: Token) -> Token | None:
    """Return the subject, or the noun that "who" stands for; "that" may mean a thing."""
    is_relative = verb.dep_ == "relcl" and subject.lower_ in ("who", "that", "which")
    if not is_relative:
        return subject
    return verb.head if subject.lower_ == "who" else None


def shares_subject(verb: Token) -> bool:
    """Return whether a participle says what the subject before it does.

    "…, winning her first title".
    """
    if verb.tag_ != "VBG" or verb.dep_ != "advcl" or verb.head.i > verb.i:
        return False
    has_opening = has_dep(verb.lefts, "mark", "aux", "auxpass", "prep")
    return not has_opening and is_verb(verb.head)


def _check_gap(verb: Token, subject: Token) -> None:
    """Refuse a predicate that lacks its object: that of "the book that Smith wrote".

    In "…, where he studied law" nothing is missing.
    """
    opening = [t for t in verb.lefts if t.i < subject.i]
    is_where = any(t.lower_ in ("where", "when") and t.tag_ == "WRB" for t in opening)
    if verb.dep_ == "relcl" and subject.i != verb.head.i and not is_where:
        raise Dropped("predicate of a relative clause")
    fronted = has_dep(verb.lefts, "dobj", "attr", "pobj", "acomp", "oprd", "dative")
    drop_if(fronted, "object before its verb")
