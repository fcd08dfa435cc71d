"""Does the word of Y refer to the subject? Decided inside the sentence, from its parse.

A pair is accepted only if the subject is one person and does not differ from the word in gender;
other persons between the two lower its confidence. benchmarks/coreference.py measures precision
and recall on annotated text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clinometer.contexts.mining.languages.decisions import Dropped, drop_if
from clinometer.contexts.mining.languages.english.links import Link
from clinometer.contexts.mining.languages.english.persons import (
    NAME,
    PRONOUN,
    gender_of_name,
    gender_of_subject,
    is_country,
    looks_like_person,
    person_kind,
)
from clinometer.contexts.mining.languages.english.tokens import SUBJECTS
from clinometer.contexts.mining.languages.english.verbs import base_if_known
from clinometer.contexts.mining.languages.english.vocabulary import (
    GENDERED_PRONOUNS,
    REFLEXIVES,
    gender_of,
    is_person,
    listed,
)
from clinometer.contexts.mining.languages.lexicon import read_toml
from clinometer.contexts.mining.languages.parses import Parsed, has_dep

if TYPE_CHECKING:
    from spacy.tokens import Token

_QUOTATION_MARKS = frozenset(['"', "“", "”", "`", "``", "''", "«", "»", "„"])
_NOT_PERSONS = frozenset(
    "ORG GPE LOC FAC NORP WORK_OF_ART EVENT PRODUCT LAW DATE".split()
)
"""Labels of names that are no persons'."""


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """What the confidence of a link rests on."""

    kind: str
    """Kind of the subject: pronoun, person noun, name."""

    full: bool = False
    """Whether the subject is a name of several words."""

    persons: int = 0
    """Names and pronouns between subject and [Y] that may be meant instead."""

    nouns: int = 0
    """Nouns for persons between subject and [Y] that may be meant instead."""

    hidden: int = 0
    """Names between subject and [Y] that may be persons', though they are labelled otherwise."""

    earlier: bool = False
    """Whether another person acts or owns something before the subject."""

    leading: bool = False
    """Whether one of the other persons is a subject, or hears or gets something."""

    depth: int = 0
    """Steps of the parse between the governing verb and [Y]'s clause or phrase."""

    word: bool = False
    """Whether [Y] is an object or a possessive, not the subject of a clause."""

    def features(self) -> dict[str, float]:
        """Return the features of the logistic model, by their names in confidence.toml."""
        depth_of_word = min(self.depth, 3) if self.word else 0
        return {
            "constant": 1.0,
            "persons": float(min(self.persons, 2)),
            "nouns": float(min(self.nouns, 2)),
            "hidden": float(min(self.hidden, 2)),
            "depth of a word": float(depth_of_word),
            "earlier, word": float(self.word and self.earlier),
            "full": float(self.full),
        }

    @property
    def confidence(self) -> float:
        """Return the probability that [Y] refers to the subject.

        >>> LinkFacts("name").confidence > 0.85 > 0.8 > LinkFacts("name", persons=1).confidence
        True
        """
        if self.kind == PRONOUN:
            return self._confidence_of_pronoun()
        weights: Mapping[str, float] = _constants()["logistic"]
        score = sum(weights[name] * value for name, value in self.features().items())
        return 1 / (1 + math.exp(-score))

    def _confidence_of_pronoun(self) -> float:
        shares = _constants()["pronoun"]["word" if self.word else "clause"]
        if self.leading:
            return float(shares["leading"])
        has_rival = self.persons + self.nouns > 0
        return float(shares["rival" if has_rival else "alone"])


def _constants() -> dict[str, Any]:
    return read_toml(__package__, "confidence.toml")


def facts_of(link: Link, parsed: Parsed, persons: Set[str]) -> LinkFacts:
    """Return what supports a link and what does not; a link that the rules forbid is dropped."""
    subject = link.subject
    _check_speech(link)
    gender = GENDERED_PRONOUNS.get(link.y.lower_)
    kind = person_kind(subject, parsed, persons)
    _check_gender(subject, gender)
    _check_person_in_subject(subject, gender)
    _check_two_subjects(link, kind)
    rivals = _rivals(link, parsed, persons, gender)
    nouns = sum(rival.tag_ == "NN" for rival in rivals)
    leading = any(_leads(rival) for rival in rivals)
    drop_if(
        leading and kind != PRONOUN, "another person stands between subject and [Y]"
    )
    return LinkFacts(
        kind,
        full=kind == NAME and has_dep(subject.lefts, "compound"),
        persons=len(rivals) - nouns,
        nouns=nouns,
        hidden=len(_hidden(link, parsed, gender)),
        earlier=_another_before(subject, parsed, persons, gender),
        leading=leading,
        depth=max(len(link.path) - 2, 0),
        word=link.y.dep_ not in SUBJECTS,
    )


def _check_speech(link: Link) -> None:
    """Refuse speech between subject and [Y]: a quotation that is open, or one with a verb.

    A title that is closed again may stand there: He joined "Le Monde", where he …
    """
    doc = link.y.doc
    between = doc[link.subject.i + 1 : link.y.i]
    marks = [  # "``" may be two tokens
        t.i for t in between if _is_mark(t) and not _is_mark(doc[t.i - 1])
    ]
    rule = "a quotation begins between subject and [Y]"
    drop_if(len(marks) % 2 or _is_mark(doc[link.y.i - 1]), rule)
    for opening, closing in zip(marks[::2], marks[1::2], strict=True):
        quotation = doc[opening:closing]
        drop_if(any(t.pos_ in ("VERB", "AUX", "PRON") for t in quotation), rule)


def _is_mark(token: Token) -> bool:
    return token.text in _QUOTATION_MARKS


def _check_gender(subject: Token, gender: str | None) -> None:
    """Refuse a subject of the other gender: "Philip Carey said that she …"."""
    if gender:
        differs = gender_of_subject(subject) not in (None, gender)
        drop_if(differs, "subject and [Y] differ in gender")


def _check_person_in_subject(subject: Token, gender: str | None) -> None:
    """Refuse a subject that mentions another person: "His father died when he …"."""
    modifiers = [t for t in subject.subtree if t.i < subject.i]
    mentions = any(GENDERED_PRONOUNS.get(t.lower_) == gender for t in modifiers)
    drop_if(mentions, "another person in the subject")


def _check_two_subjects(link: Link, kind: str) -> None:
    """Refuse a clause joined to one that is reported: "Smith said it rained and he …"."""
    embedded = link.path[0].dep_ == "ccomp" and link.clause.dep_ == "conj"
    drop_if(embedded and kind != PRONOUN, "two subjects before [Y]")


def _leads(rival: Token) -> bool:
    """Return whether another person is likely to be meant: a subject, or one who is told."""
    if rival.dep_ in ("nsubj", "nsubjpass", "dative"):
        return True
    if rival.dep_ == "pobj":
        return rival.head.dep_ == "agent" or rival.head.lower_ == "to"
    return rival.dep_ == "dobj" and rival.head.lower_ in listed("told")


def _rivals(
    link: Link, parsed: Parsed, persons: Set[str], gender: str | None
) -> list[Token]:
    """Return the other persons between the subject and [Y] to whom [Y] could refer."""
    return [
        token
        for token in _between(link)
        if _is_rival(token, link, parsed, persons, gender)
    ]


def _is_rival(
    token: Token, link: Link, parsed: Parsed, persons: Set[str], gender: str | None
) -> bool:
    word = token.lower_
    if word in GENDERED_PRONOUNS:
        return _is_rival_pronoun(token, link.subject, gender)
    if token.tag_ == "NN" and is_person(word, persons) and token.dep_ != "compound":
        return gender_of(word) in (None, gender) and not _describes_subject(token)
    if token.tag_ == "NNP" and gender_of_name(token) in (None, gender):
        return _may_be_person(token, link, parsed)
    return False


def _is_rival_pronoun(pronoun: Token, subject: Token, gender: str | None) -> bool:
    """Return whether a pronoun may be another person's.

    Not that of "She left the city where she worked, but she …", nor "she herself".
    """
    word = pronoun.lower_
    if GENDERED_PRONOUNS[word] != gender or pronoun.dep_ == "poss":
        return False
    repeats_subject = word == subject.lower_ and pronoun.dep_ in SUBJECTS
    return not repeats_subject and word not in REFLEXIVES


def _describes_subject(noun: Token) -> bool:
    """Return whether a noun says what the subject itself is: "He was the president …"."""
    if noun.dep_ in ("attr", "oprd", "acomp"):
        return True
    return noun.dep_ == "pobj" and noun.head.lower_ == "as"


def _between(link: Link) -> Iterator[Token]:
    """Yield the tokens between the subject's phrase and [Y]."""
    subject_phrase = {t.i for t in link.subject.subtree if t.i < link.path[0].i}
    for token in link.subject.doc[link.subject.i + 1 : link.y.i]:
        if token.i not in subject_phrase:
            yield token


def _hidden(link: Link, parsed: Parsed, gender: str | None) -> list[Token]:
    """Return names between subject and [Y] that may be persons', though labelled otherwise.

    "consulted with Longstreet" (an organisation, says the label).
    """
    return [
        name
        for name in _between(link)
        if name.tag_ == "NNP"
        and not _may_be_person(name, link, parsed)
        and gender_of_name(name) in (None, gender)
        and _stands_like_person(name, parsed)
        and looks_like_person(name, parsed)
    ]


def _stands_like_person(name: Token, parsed: Parsed) -> bool:
    """Return whether a name stands where a person's may: not "in Longstreet"."""
    if has_dep(name.lefts, "det") or is_country(name):
        return False
    if name.dep_ == "pobj":
        is_place = parsed.entity(name) in ("GPE", "NORP")
        return not is_place and name.head.lower_ not in ("in", "of")
    if name.dep_ == "dobj":
        return base_if_known(name.head) not in listed("done_to_places")
    return name.dep_ in ("poss", "nsubj", "nsubjpass", "dative", "conj")


def _another_before(
    subject: Token, parsed: Parsed, persons: Set[str], gender: str | None
) -> bool:
    """Return whether another person acts, or owns something, before the subject.

    "As Winston taught …, Riley stole his radio".
    """
    for token in subject.doc[: subject.left_edge.i]:
        acts_or_owns = token.dep_ in (*SUBJECTS, "poss")
        if not acts_or_owns or token.lower_ == subject.lower_:
            continue
        try:
            person_kind(token, parsed, persons)
        except Dropped:
            continue
        if gender_of_subject(token) in (None, gender):
            return True
    return False


def _may_be_person(name: Token, link: Link, parsed: Parsed) -> bool:
    """Return whether a name can be a person's.

    The object of a verb of telling is one, despite its label.
    """
    if name.dep_ == "compound":
        return False  # the last word of a name counts
    if link.clause.dep_ == "relcl" and any(name.i == token.i for token in link.path):
        return False  # "sent to Harrow, where he …": the clause says more of the place
    if name.dep_ == "dative" or (name.dep_ == "pobj" and name.head.dep_ == "agent"):
        return True
    if name.dep_ == "dobj" and name.head.lower_ in listed("told"):
        return True
    return parsed.entity(name) not in _NOT_PERSONS
