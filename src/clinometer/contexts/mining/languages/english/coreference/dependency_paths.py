"""From a word of Y up to the predicate that governs it, and that predicate's subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.lexicon import listed

if TYPE_CHECKING:
    from spacy.tokens import Token

_SUBJECTS = ("nsubj", "nsubjpass")
#: Dependency labels allowed between the governing verb and the clause of [Y].
_STEPS = frozenset(["dobj", "pobj", "prep", "attr", "acomp", "oprd", "dative", "xcomp", "appos"])
_LONGEST_PATH = 7


@dataclass(frozen=True)
class Link:
    """A word of Y, the predicate above it, and the subject of that predicate.

    path     from the governing verb down to the clause of [Y] (or to [Y] itself)
    fronted  the predicate is in a separate clause before that of [Y]
    """

    y: Token
    subject: Token
    path: tuple[Token, ...]
    fronted: bool = False


def clause_link(y: Token) -> Link:
    """[Y] is the subject of a clause: "Smith said that [Y] …"."""
    if y.dep_ not in _SUBJECTS:
        raise Dropped("[Y] is not the subject of a clause")
    clause = y.head
    if clause.pos_ not in ("VERB", "AUX") or y.i > clause.i:
        raise Dropped("[Y] is not the subject of a clause")
    if not _is_finite(clause):
        raise Dropped("[Y] has no finite verb")
    try:
        return _climb(y, clause)
    except Dropped:
        fronted = _fronted(y, clause)
        if fronted is None:
            raise
        return fronted


def _fronted(y: Token, clause: Token) -> Link | None:
    """ "When Smith retired, [Y] …": the predicate is in the clause before that of [Y]."""
    for child in clause.lefts:
        if child.dep_ == "advcl" and child.i < y.i and child.pos_ in ("VERB", "AUX"):
            subject = subject_of(child)
            if subject is not None and subject.i < child.i and _is_finite(child):
                _check_gap(child, subject)
                return Link(y, subject, (child,), fronted=True)
    return None


def word_link(y: Token) -> Link:
    """[Y] is an object: "Smith devoted [Y] …"; or the possessor of one: "Smith lost [Y] …"."""
    start = y.head if y.dep_ == "poss" else y
    if start.dep_ not in ("dobj", "pobj", "dative") or start.i < start.head.i:
        raise Dropped("[Y] is not an object")
    if any(t.i > start.head.i for t in (start.doc[start.head.i + 1 : y.i])):
        raise Dropped("words before [Y] in its phrase")
    return _climb(y, start)


def _climb(y: Token, start: Token) -> Link:
    path = [start]
    while len(path) <= _LONGEST_PATH:
        token = path[0]
        parent = token.head
        if parent is token or parent.i == token.i:
            raise Dropped("no predicate before [Y]")
        if parent.i > token.i:
            raise Dropped("[Y] stands before its predicate")
        if token.dep_ == "appos" and token is not start:
            path.pop(0)  # "in London, England, where …": the clause says more of London
        path.insert(0, parent)
        if parent.pos_ in ("VERB", "AUX"):
            subject = subject_of(parent)
            if subject is not None:
                if subject.i > parent.i:
                    raise Dropped("subject after its verb")
                _check_gap(parent, subject)
                return Link(y, subject, tuple(path))
        if parent.dep_ not in _STEPS:
            raise Dropped("no subject of the predicate")
    raise Dropped("[Y] is too far from its predicate")


def subject_of(verb: Token) -> Token | None:
    """The subject of a verb: its own, the one it shares, or the noun that "who" stands for."""
    for child in reversed(list(verb.lefts)):
        if child.dep_ in _SUBJECTS:
            if child.lower_ in ("who", "that", "which") and verb.dep_ == "relcl":
                return verb.head if child.lower_ == "who" else None
            return child
        if child.dep_ in ("expl", "csubj"):
            return None
    if any(child.dep_ in _SUBJECTS for child in verb.rights):
        raise Dropped("subject after its verb")
    if verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX") and verb.head.i < verb.i:
        return subject_of(verb.head)
    if shares_subject(verb):
        return subject_of(verb.head)
    return None


def shares_subject(verb: Token) -> bool:
    """Whether a participle says what the subject before it does: "…, winning her first title"."""
    if verb.tag_ != "VBG" or verb.dep_ != "advcl" or verb.head.i > verb.i:
        return False
    alone = not any(c.dep_ in ("mark", "aux", "auxpass", "prep") for c in verb.lefts)
    return alone and verb.head.pos_ in ("VERB", "AUX")


def _check_gap(verb: Token, subject: Token) -> None:
    """In "the book that Smith wrote" the object of wrote is missing: no predicate to take over."""
    if verb.dep_ == "relcl" and subject.i != verb.head.i and not _says_where(verb, subject):
        raise Dropped("predicate of a relative clause")
    for child in verb.lefts:
        if child.dep_ in ("dobj", "attr", "pobj", "acomp", "oprd", "dative"):
            raise Dropped("object before its verb")


def _says_where(verb: Token, subject: Token) -> bool:
    """ "…, where he studied law": nothing is missing in the clause."""
    opening = [t for t in verb.lefts if t.i < subject.i]
    return any(t.lower_ in ("where", "when") and t.tag_ == "WRB" for t in opening)


def _is_finite(verb: Token) -> bool:
    if verb.tag_ in ("VBD", "VBZ", "VBP"):
        return True
    return any(
        c.dep_ in ("aux", "auxpass") and c.tag_ in ("VBD", "VBZ", "VBP", "MD") for c in verb.lefts
    )


def connector(link: Link) -> list[str]:
    """What joins the predicate to the clause of [Y]: that, because, where, and, …"""
    clause, parent = link.path[-1], link.path[-2]
    dep = clause.dep_
    opening = [t for t in clause.subtree if t.i < link.y.i]
    if dep == "conj":
        return _coordinator(parent, clause)
    if dep == "relcl":
        return _relative(opening, clause)
    marks = [c.lower_ for c in clause.lefts if c.dep_ == "mark" and c.i < link.y.i]
    asked = _question(opening)
    if dep in ("ccomp", "acl"):
        if asked:
            return asked
        return _marked(marks, allowed=("that", "if", "whether")) or ["that"]
    if dep == "advcl":
        if asked and (asked[0] in ("when", "whenever") or opening[0].lower_ == "where"):
            return asked
        before = link.path[-1].doc[max(opening[0].i - 1, 0)].lower_ if opening else ""
        if marks[:1] == ["that"]:
            if before in ("so", "now") or (opening and opening[0].lower_ == "so"):
                return ["so" if before != "now" else "now", "that"]
            return ["that"] if parent.pos_ in ("ADJ", "VERB") and parent.tag_ == "VBN" else _no()
        if marks[:1] == ["as"] and (parent.lower_ in ("soon", "long", "far") or len(marks) > 1):
            raise Dropped("comparison")
        if marks[:1] == ["than"]:
            raise Dropped("comparison")
        found = _marked(marks, allowed=tuple(listed("subordinators") - {"where", "whether"}))
        return found or _no()
    if dep == "pcomp":
        if asked:
            return asked
        return _marked(marks, allowed=("that", "whether")) or _no()
    raise Dropped(f"[Y]'s clause is attached as {dep}")


def opening_word(link: Link) -> str:
    """What opens a fronted clause: when, after, although, …"""
    verb = link.path[0]
    if verb.left_edge.i != 0 and not verb.doc[verb.left_edge.i - 1].is_punct:
        raise Dropped("nothing joins the clauses")
    for child in verb.lefts:
        if child.i < link.subject.i and (child.dep_ == "mark" or child.tag_ == "WRB"):
            word = child.lower_
            if word in listed("subordinators") and word not in ("so", "where", "whether", "lest"):
                return word.capitalize()
    raise Dropped("nothing joins the clauses")


def _no() -> list[str]:
    raise Dropped("nothing joins the clauses")


def _marked(marks: list[str], *, allowed: tuple[str, ...]) -> list[str]:
    if not marks:
        return []
    if marks[0] not in allowed:
        raise Dropped("nothing joins the clauses")
    return [{"till": "until", "whilst": "while"}.get(marks[0], marks[0])]


def _coordinator(parent: Token, clause: Token) -> list[str]:
    found = [c for c in parent.rights if c.dep_ == "cc" and parent.i < c.i < clause.i]
    found += [c for c in clause.lefts if c.dep_ == "cc"]
    before = clause.doc[max(clause.left_edge.i - 1, 0)]
    found += [before] if before.tag_ == "CC" and before.i > parent.i else []
    if not found or found[-1].lower_ not in listed("coordinators"):
        raise Dropped("nothing joins the clauses")
    return [found[-1].lower_]


def _question(opening: list[Token]) -> list[str]:
    """how, why, what, … at the start of a clause."""
    for token in opening:
        if token.lower_ in listed("question_words") and token.tag_ in ("WRB", "WP", "WDT"):
            later = [t for t in opening if t.i > token.i and not t.is_punct]
            if token.lower_ in ("which", "who", "whom"):
                raise Dropped("question word in the skeleton")
            if later and token.lower_ in ("how", "what"):
                words = [t.lower_ for t in later]
                if token.lower_ == "how" and words in (["much"], ["many"]):
                    return ["how", words[0]]
                raise Dropped("question word in the skeleton")
            return [token.lower_]
        if token.tag_ == "WP$" or token.lower_ in ("whatever", "whoever", "however"):
            raise Dropped("question word in the skeleton")
    return []


def _relative(opening: list[Token], clause: Token) -> list[str]:
    """that, where, when, whom, or a preposition with which."""
    for token in opening:
        word = token.lower_
        if token.tag_ == "WP$" or word == "whose":
            raise Dropped("question word in the skeleton")
        if token.tag_ not in ("WRB", "WP", "WDT") and not (word == "that" and token.i < clause.i):
            continue
        if word in ("where", "when", "why"):
            if word == "where" and clause.head.lower_ in listed("persons"):
                raise Dropped("nothing joins the clauses")  # "moved as a child, where …"
            return [word]
        if token.dep_ == "pobj":
            prep = token.head
            if (
                prep.dep_ != "prep"
                or prep.i + 1 != token.i
                or prep.head.pos_ not in ("VERB", "AUX")
            ):
                raise Dropped("question word in the skeleton")
            return [prep.lower_, "whom" if word in ("who", "whom") else "which"]
        if token.dep_ in ("nsubj", "nsubjpass"):
            raise Dropped("question word in the skeleton")
        return ["whom"] if word in ("who", "whom") else ["that"]
    return ["that"]
