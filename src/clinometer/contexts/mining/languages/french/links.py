"""Which subject il or elle refers to, and what joins the two clauses.

    Le docteur déclara qu'il …            L'[X] déclara qu'[Y]
    Elle sortit lorsqu'elle …             L'[X] sortit lorsqu'[Y]
    Quand Pauline arriva, elle …          Quand l'[X] arriva, [Y]

Subjects come from the parse, joints and openings from the text: the small French pipeline often
takes a verb in the simple past for an adjective, so that whole trees are less certain than words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.french.lexicon import listed, openings

if TYPE_CHECKING:
    from collections.abc import Set

    from spacy.tokens import Doc, Token

    from clinometer.contexts.mining.languages.shared.spacy_parse import Parsed

#: s'il, but si elle: the joint gives the answer away.
_SI = re.compile(r"(?<![\w'])s['i]\s?$", re.IGNORECASE)
PRONOUNS = {"il": "Masc", "elle": "Fem"}
_SUBJECT_FORMS = frozenset("il elle ils elles on je j' tu nous vous qui ce c' cela ça".split())
_SUBJECTS = ("nsubj", "nsubj:pass", "expl:subj", "csubj")
#: What may stand before the subject of a main clause.
_BEFORE = frozenset(
    ", ; : – — « et mais car or puis alors donc aussi enfin ainsi cependant".split()
)


@dataclass(frozen=True, slots=True)
class FrenchLink:
    """Two clauses: tokens `start` to `end` are the predicate of `subject`; `joint` and [Y] follow.

    `opening` is the conjunction of the first clause, "" if that is the main clause.
    """

    subject: Token
    y: Token
    start: int
    end: int
    opening: str
    joint: str


def may_link(before: str) -> bool:
    """Whether the text before il or elle leaves a link possible: a joint, or a comma after a
    clause that has an opening. Most sentences have neither, and need no parser.

    >>> may_link("Le docteur déclara qu'"), may_link("Quand il arriva, "), may_link("Hier, ")
    (True, True, False)
    """
    if _joints().search(before):
        return not _SI.search(before)
    return before.endswith(", ") and _openings().search(before) is not None


def find_link(y: Token, parsed: Parsed, persons: Set[str]) -> FrenchLink:
    """The link of one il or elle; `Dropped` if there is none to rely on."""
    doc = y.doc
    _check_pronoun(y)
    end, joint = _joint(doc, y)
    subject = _subject(doc, end)
    opening = _opening(doc, subject)
    if bool(opening) != (joint == ", "):
        raise Dropped("clause within another" if opening else "nothing joins the clauses")
    _check_person(subject, y, parsed, persons)
    if any(child.dep_ == "conj" and child.i < end for child in subject.children):
        raise Dropped("subject is not one person")
    start = subject.i + 1 if subject.lower_ in PRONOUNS else subject.right_edge.i + 1
    return FrenchLink(subject, y, start, end, opening, joint)


def _check_pronoun(y: Token) -> None:
    doc = y.doc
    if not y.dep_.startswith("nsubj") or y.head.i < y.i:
        raise Dropped("[Y] is not a subject")
    following = doc[y.i + 1].lower_ if y.i + 1 < len(doc) else ""
    if following.startswith("-"):
        raise Dropped("[Y] is not a subject")
    verb = y.head.lemma_.lower()
    if y.lower_ == "il" and (verb in listed("impersonal") or _y_avoir(doc, y.i)):
        raise Dropped("il is impersonal")


def _y_avoir(doc: Doc, i: int) -> bool:
    """il y a, il n'y avait."""
    words = [token.lower_ for token in doc[i + 1 : i + 4]]
    return any(a == "y" and b in listed("avoir") for a, b in pairwise(words))


def _says_time(doc: Doc, i: int) -> bool:
    """il y a, il faisait jour, il était deux heures, il paraît."""
    words = [token.lower_ for token in doc[i + 1 : i + 5]]
    time = words[0] in listed("etre") and {"heure", "heures", "temps"} & set(words)
    weather = words[0].startswith("f") and words[1] in listed("weather")
    return bool(_y_avoir(doc, i) or words[0] in listed("impersonal") or weather or time)


def _joint(doc: Doc, y: Token) -> tuple[int, str]:
    """The first token after the predicate, and the text from there to [Y]."""
    before = doc.text[: y.idx]
    if _SI.search(before):
        raise Dropped("si is elided before il only")
    match = _joints().search(before)
    joint = match[0].lower() if match else ""
    if not joint and not before.endswith(", "):
        raise Dropped("nothing joins the clauses")
    start = match.start() if match else len(before)
    end = next(token.i for token in doc if token.idx >= start)
    if joint == "qu'":
        _check_que(doc[end - 1], y)
    if end > 0 and doc[end - 1].text == ",":
        return end - 1, f", {joint}"
    return end, joint


@cache
def _openings() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in openings())
    return re.compile(rf"(?<![\w'])(?:{words})", re.IGNORECASE)


@cache
def _joints() -> re.Pattern[str]:
    words = sorted(listed("joints"), key=len, reverse=True)
    return re.compile(rf"(?<=\s)(?:{'|'.join(re.escape(word) for word in words)})$", re.IGNORECASE)


def _check_que(before: Token, y: Token) -> None:
    """que after a verb of reporting, or as a relative pronoun after its noun."""
    if any(token.lower_ in listed("comparing") for token in y.doc[max(0, before.i - 4) : y.i]):
        raise Dropped("comparison")
    if before.lemma_.lower() in listed("reporting"):
        return
    clause = y.head.dep_
    if before.pos_ == "NOUN" and clause in ("acl:relcl", "acl", "ccomp"):
        return
    if before.pos_ in ("VERB", "AUX") and clause == "ccomp":
        return
    raise Dropped("nothing joins the clauses")


def _subject(doc: Doc, end: int) -> Token:
    """The last subject before the joint: no other may stand between it and [Y]."""
    for token in reversed(doc[:end]):
        if token.dep_ in _SUBJECTS or token.lower_ in _SUBJECT_FORMS:
            if token.lower_ in _SUBJECT_FORMS and token.lower_ not in PRONOUNS:
                raise Dropped("another subject between")
            if token.dep_ == "expl:subj":
                raise Dropped("il is impersonal")
            return token
    raise Dropped("no predicate before [Y]")


def _opening(doc: Doc, subject: Token) -> str:
    """The conjunction of the subject's clause, "" for a main clause."""
    left = subject if subject.lower_ in PRONOUNS else subject.left_edge
    while left.i < subject.i and left.dep_ in ("mark", "cc", "punct", "advmod"):
        left = left.nbor()
    if left.i == 0:
        return ""
    before = doc.text[: left.idx].lower()
    for text, opening in openings().items():
        if before.endswith(text):
            start = len(before) - len(text)
            if start == 0 or before[:start].rstrip().endswith((",", ";", ":", "–", "—", " et")):
                return opening
            raise Dropped("clause within another")
    if doc[left.i - 1].lower_ not in _BEFORE:
        raise Dropped("clause within another")
    return ""


def _check_person(subject: Token, y: Token, parsed: Parsed, persons: Set[str]) -> None:
    """One person of the gender of the pronoun."""
    gender = PRONOUNS[y.lower_]
    word = subject.lower_
    if word in PRONOUNS:
        if word != y.lower_:
            raise Dropped("subject and [Y] differ in gender")
        if subject.head.lemma_.lower() in listed("impersonal") or _says_time(y.doc, subject.i):
            raise Dropped("il is impersonal")
        return
    if "Plur" in subject.morph.get("Number", []):
        raise Dropped("subject is not one person")
    known = {"Masc": listed("masculine_persons"), "Fem": listed("feminine_persons")}
    if subject.pos_ == "NOUN":
        both = word in persons or word in listed("epicene_persons")
        if not both and not any(word in words for words in known.values()):
            raise Dropped("subject is no person")
        if word not in known[gender] and not both:
            raise Dropped("subject and [Y] differ in gender")
        articles = {
            g for c in subject.children if c.dep_ == "det" for g in c.morph.get("Gender", [])
        }
        if articles and gender not in articles:
            raise Dropped("subject and [Y] differ in gender")
    elif word in known[gender]:
        return
    else:
        _check_name(subject, gender, parsed)


def _check_name(subject: Token, gender: str, parsed: Parsed) -> None:
    names = {"Masc": listed("masculine_names"), "Fem": listed("feminine_names")}
    word = subject.lower_
    if word in names["Fem" if gender == "Masc" else "Masc"]:
        raise Dropped("subject and [Y] differ in gender")
    if word in names[gender]:
        return
    if subject.pos_ != "PROPN" or parsed.entity(subject) != "PER":
        raise Dropped("subject is no person")
    if any(token.pos_ == "PROPN" for token in subject.doc[: subject.left_edge.i]):
        raise Dropped("another person before")  # the name may be of either gender
