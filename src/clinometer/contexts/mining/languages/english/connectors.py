"""What joins a predicate to the clause of [Y]: that, because, where, and; or the word before it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import Dropped, drop_if
from clinometer.contexts.mining.languages.english.links import Link
from clinometer.contexts.mining.languages.english.tokens import SUBJECTS, is_verb
from clinometer.contexts.mining.languages.english.vocabulary import listed

if TYPE_CHECKING:
    from spacy.tokens import Token

_NOTHING_JOINS = "nothing joins the clauses"
_QUESTION_WORD = "question word in the skeleton"
_QUESTION_TAGS = ("WRB", "WP", "WDT")
_MODERN = {"till": "until", "whilst": "while"}


def connector(link: Link) -> list[str]:
    """Return what joins the predicate to the clause of [Y]: that, because, where, and, …"""
    clause = link.clause
    if clause.dep_ == "conj":
        return _coordinator(link.parent, clause)
    if clause.dep_ == "relcl":
        return _relative(link.opening, clause)
    marks = [c.lower_ for c in clause.lefts if c.dep_ == "mark" and c.i < link.y.i]
    question = _question(link.opening)
    if clause.dep_ == "advcl":
        return _subordinator(link, marks, question)
    if clause.dep_ not in ("ccomp", "acl", "pcomp"):
        raise Dropped(f"[Y]'s clause is attached as {clause.dep_}")
    if question:
        return question
    if clause.dep_ == "pcomp":
        return _marked(marks, allowed=("that", "whether"))
    if not marks:
        return ["that"]
    return _marked(marks, allowed=("that", "if", "whether"))


def opening_word(link: Link) -> str:
    """Return what opens a fronted clause: when, after, although, …"""
    verb = link.path[0]
    edge = verb.left_edge.i
    drop_if(edge != 0 and not verb.doc[edge - 1].is_punct, _NOTHING_JOINS)
    allowed = listed("subordinators") - {"so", "where", "whether", "lest"}
    for child in verb.lefts:
        opens = child.dep_ == "mark" or child.tag_ == "WRB"
        if opens and child.i < link.subject.i and child.lower_ in allowed:
            word: str = child.lower_
            return word.capitalize()
    raise Dropped(_NOTHING_JOINS)


def _subordinator(link: Link, marks: list[str], question: list[str]) -> list[str]:
    """Return what opens an adverbial clause: because, when, so that, …"""
    opening = link.opening
    if question:
        is_time = question[0] in ("when", "whenever")
        if is_time or opening[0].lower_ == "where":
            return question
    mark = marks[0] if marks else ""
    if mark == "that":
        return _that_of_result(link)
    if mark == "as":
        _check_comparison(link.parent, marks)
    drop_if(mark == "than", "comparison")
    return _marked(marks, allowed=listed("subordinators") - {"where", "whether"})


def _that_of_result(link: Link) -> list[str]:
    """Return "so that" or "now that"; "that" by itself after a state: "was convinced that"."""
    first = link.opening[0]
    preceding = first.doc[max(first.i - 1, 0)].lower_
    if preceding == "now":
        return ["now", "that"]
    if preceding == "so" or first.lower_ == "so":
        return ["so", "that"]
    is_state = link.parent.pos_ in ("ADJ", "VERB") and link.parent.tag_ == "VBN"
    drop_if(not is_state, _NOTHING_JOINS)
    return ["that"]


def _check_comparison(parent: Token, marks: list[str]) -> None:
    """Refuse an "as" that compares: "as soon as he could", "as if he knew"."""
    compares = parent.lower_ in ("soon", "long", "far")
    drop_if(compares or len(marks) > 1, "comparison")


def _marked(marks: list[str], *, allowed: Collection[str]) -> list[str]:
    """Return the mark that opens a clause, if it is one of the allowed."""
    drop_if(not marks or marks[0] not in allowed, _NOTHING_JOINS)
    return [_MODERN.get(marks[0], marks[0])]


def _coordinator(parent: Token, clause: Token) -> list[str]:
    """Return the conjunction next to the clause of [Y]: and, but, or."""
    conjunctions = [
        c for c in parent.rights if c.dep_ == "cc" and parent.i < c.i < clause.i
    ]
    conjunctions += [c for c in clause.lefts if c.dep_ == "cc"]
    preceding = clause.doc[max(clause.left_edge.i - 1, 0)]
    if preceding.tag_ == "CC" and preceding.i > parent.i:
        conjunctions.append(preceding)
    if not conjunctions or conjunctions[-1].lower_ not in listed("coordinators"):
        raise Dropped(_NOTHING_JOINS)
    return [conjunctions[-1].lower_]


def _question(opening: list[Token]) -> list[str]:
    """Return how, why, what, … at the start of a clause; nothing if it begins with none."""
    for token in opening:
        word = token.lower_
        if word in listed("question_words") and token.tag_ in _QUESTION_TAGS:
            drop_if(word in ("which", "who", "whom"), _QUESTION_WORD)
            following = [t.lower_ for t in opening if t.i > token.i and not t.is_punct]
            return [word, *_amount(word, following)]
        is_open = word in ("whatever", "whoever", "however")
        drop_if(token.tag_ == "WP$" or is_open, _QUESTION_WORD)
    return []


def _amount(question_word: str, following: list[str]) -> list[str]:
    """Return "much" or "many" after "how"; refuse "how old he was", "what job he had"."""
    if question_word not in ("how", "what") or not following:
        return []
    is_amount = question_word == "how" and following in (["much"], ["many"])
    drop_if(not is_amount, _QUESTION_WORD)
    return following


def _relative(opening: list[Token], clause: Token) -> list[str]:
    """Return that, where, when, whom, or a preposition with which."""
    for token in opening:
        word = token.lower_
        drop_if(token.tag_ == "WP$" or word == "whose", _QUESTION_WORD)
        is_that = word == "that" and token.i < clause.i
        if token.tag_ not in _QUESTION_TAGS and not is_that:
            continue
        if word in ("where", "when", "why"):
            # "moved as a child, where …"
            of_person = word == "where" and clause.head.lower_ in listed("persons")
            drop_if(of_person, _NOTHING_JOINS)
            return [word]
        if token.dep_ == "pobj":
            return _preposition_with_relative(token)
        drop_if(token.dep_ in SUBJECTS, _QUESTION_WORD)
        return ["whom"] if word in ("who", "whom") else ["that"]
    return ["that"]


def _preposition_with_relative(pronoun: Token) -> list[str]:
    """Return "in which", "with whom": a preposition of the verb, next to its pronoun."""
    preposition = pronoun.head
    of_verb = preposition.dep_ == "prep" and is_verb(preposition.head)
    drop_if(not of_verb or preposition.i + 1 != pronoun.i, _QUESTION_WORD)
    is_person = pronoun.lower_ in ("who", "whom")
    return [preposition.lower_, "whom" if is_person else "which"]
