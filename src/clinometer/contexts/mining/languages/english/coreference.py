"""Does the word of Y refer to the subject? Decided inside the sentence, from its parse.

A pair is accepted only if the subject is one person and does not differ from the word in gender;
other persons between the two lower its confidence. benchmarks/coreference.py measures precision and
recall on annotated text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages import Dropped, Parsed, drop_if, has_dep, read_toml
from clinometer.contexts.mining.languages.english.grammar import (
    FEMALE,
    GENDERED_PRONOUNS,
    MALE,
    REFLEXIVES,
    SUBJECTS,
    Link,
    base_and_past,
    gender_of,
    gender_of_name,
    is_person,
    listed,
)

if TYPE_CHECKING:
    from spacy.tokens import Token


_QUOTES = frozenset(['"', "“", "”", "`", "``", "''", "«", "»", "„"])
#: Titles, and what they say about gender.
_TITLES = {
    **dict.fromkeys("mr sir king prince lord brother father".split(), MALE),
    **dict.fromkeys("mrs ms miss queen princess lady sister dame mother".split(), FEMALE),
}
_NOT_PERSONS = frozenset(
    ["ORG", "GPE", "LOC", "FAC", "NORP", "WORK_OF_ART", "EVENT", "PRODUCT", "LAW", "DATE"]
)


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """What the confidence rests on.

    kind      of the subject: pronoun, person noun, name
    full      the subject is a name of several words
    persons   other names and pronouns between subject and [Y] that may be meant
    nouns     other nouns for persons there
    hidden    names there that may be persons', though they are labelled otherwise
    earlier   another person acts or owns something before the subject
    leading   one of these is a subject, or hears or gets something
    depth     steps of the parse between the governing verb and [Y]'s clause or phrase
    word      [Y] is an object or a possessive, not the subject of a clause
    """

    kind: str
    full: bool = False
    persons: int = 0
    nouns: int = 0
    hidden: int = 0
    earlier: bool = False
    leading: bool = False
    depth: int = 0
    word: bool = False

    def features(self) -> dict[str, float]:
        """The features of the logistic model, by their names in confidence.toml."""
        return {
            "constant": 1.0,
            "persons": float(min(self.persons, 2)),
            "nouns": float(min(self.nouns, 2)),
            "hidden": float(min(self.hidden, 2)),
            "depth of a word": float(min(self.depth, 3) if self.word else 0),
            "earlier, word": float(self.word and self.earlier),
            "full": float(self.full),
        }

    @property
    def confidence(self) -> float:
        """The probability that [Y] refers to the subject.

        >>> LinkFacts("name").confidence > 0.85 > 0.8 > LinkFacts("name", persons=1).confidence
        True
        """
        constants = read_toml(__package__, "confidence.toml")
        if self.kind == "pronoun":
            shares = constants["pronoun"]["word" if self.word else "clause"]
            rivals = "rival" if self.persons + self.nouns else "alone"
            return float(shares["leading" if self.leading else rivals])
        weights: Mapping[str, float] = constants["logistic"]
        score = sum(weights[name] * value for name, value in self.features().items())
        return 1 / (1 + math.exp(-score))


def facts_of(link: Link, parsed: Parsed, persons: Set[str]) -> LinkFacts:
    """What supports a link and what does not; raises Dropped if the rules forbid it."""
    subject, y = link.subject, link.y
    drop_if(_speech_between(subject, y), "a quotation begins between subject and [Y]")
    gender = GENDERED_PRONOUNS.get(y.lower_)
    kind = person_kind(subject, parsed, persons)
    differs = gender and _gender_of_subject(subject) not in (None, gender)
    drop_if(differs, "subject and [Y] differ in gender")
    if any(t.i < subject.i and GENDERED_PRONOUNS.get(t.lower_) == gender for t in subject.subtree):
        raise Dropped("another person in the subject")  # "His father died when he …"
    embedded = link.path[0].dep_ == "ccomp" and link.path[-1].dep_ == "conj"
    drop_if(embedded and kind != "pronoun", "two subjects before [Y]")
    rivals = _rivals(link, parsed, persons, gender)
    nouns = sum(t.tag_ == "NN" for t in rivals)
    leading = any(map(_leads, rivals))
    drop_if(kind != "pronoun" and leading, "another person stands between subject and [Y]")
    return LinkFacts(
        kind,
        full=kind == "name" and has_dep(subject.lefts, "compound"),
        persons=len(rivals) - nouns,
        nouns=nouns,
        hidden=len(_hidden(link, parsed, gender)),
        earlier=_another_before(subject, parsed, persons, gender),
        leading=leading,
        depth=max(len(link.path) - 2, 0),
        word=y.dep_ not in SUBJECTS,
    )


def _leads(rival: Token) -> bool:
    """Whether another person is likely to be meant: a subject, or one who hears something."""
    if rival.dep_ in ("nsubj", "nsubjpass", "dative"):
        return True
    if rival.dep_ == "pobj":
        return rival.head.dep_ == "agent" or rival.head.lower_ == "to"
    return rival.dep_ == "dobj" and rival.head.lower_ in listed("told")


def person_kind(subject: Token, parsed: Parsed, persons: Set[str]) -> str:
    """The kind of subject; raises Dropped if it is not one person."""
    word = subject.lower_
    if word in ("he", "she"):
        return "pronoun"
    if subject.pos_ == "PRON" or subject.tag_ in ("PRP", "WP", "DT", "EX", "WDT"):
        raise Dropped("subject is not a person")
    if subject.tag_ in ("NNS", "NNPS") or has_dep(subject.children, "conj", "cc"):
        raise Dropped("subject is not one person")
    if subject.tag_ == "NN":
        drop_if(not is_person(word, persons), "subject is not a person")
        return "person noun"
    if subject.tag_ == "NNP" or subject.pos_ == "PROPN":
        if word in ("god", "heaven", "lord") or not subject.text[0].isupper():
            raise Dropped("subject is not a person")  # "n't", "'T was said"
        if word in persons or word in listed("persons"):
            return "person noun"
        drop_if(has_dep(subject.lefts, "det"), "subject is not a person")
        if parsed.entity(subject) in ("PERSON", "") or _acts_as_person(subject, parsed):
            return "name"
    raise Dropped("subject is not a person")


def _acts_as_person(name: Token, parsed: Parsed) -> bool:
    """Whether a name that is labelled otherwise can be a person's: "Becker studied law"."""
    if "-".join(_whole(name)) in listed("countries"):
        return False
    if name.head.pos_ == "VERB" and _base(name.head) in listed("done_by_persons"):
        return True
    return _looks_like_person(name, parsed)


def _base(verb: Token) -> str:
    try:
        return base_and_past(verb.lower_, verb.tag_)[0]
    except Dropped:
        return ""  # an unknown verb


def _whole(name: Token) -> list[str]:
    return [t.lower_ for t in name.subtree if t.i <= name.i]


def _looks_like_person(name: Token, parsed: Parsed) -> bool:
    """Whether a name has the form of a person's, and a label that is often wrong."""
    whole = _whole(name)
    not_of_persons = listed("institutions") | listed("done_to_things") | listed("no_surnames")
    if not_of_persons & set(whole) or len(whole) > 3 or not all(w.isalpha() for w in whole):
        return False
    return name.text.istitle() and parsed.entity(name) in ("ORG", "GPE", "NORP", "PRODUCT")


def _gender_of_subject(subject: Token) -> str | None:
    gender = gender_of(subject.lower_)
    if gender:
        return gender
    for child in subject.children:
        word = child.lower_.rstrip(".")
        if word in _TITLES:
            return _TITLES[word]
        if child.dep_ in ("appos", "compound") and gender_of(word):
            return gender_of(word)
    return _gender_of_name(subject)


def _gender_of_name(name: Token) -> str | None:
    """By the first name: "Philip Carey", "Philip"."""
    if name.tag_ != "NNP":
        return None
    first = next((c for c in name.lefts if c.dep_ == "compound"), name)
    return gender_of_name(first.lower_)


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


def _rivals(link: Link, parsed: Parsed, persons: Set[str], gender: str | None) -> list[Token]:
    """The other persons between the subject and [Y] to whom [Y] could refer."""
    rivals = []
    for token in _between(link):
        word = token.lower_
        if word in GENDERED_PRONOUNS:
            same = GENDERED_PRONOUNS[word] == gender and token.dep_ != "poss"
            # "She left the city where she worked, but she …", "she herself"
            repeats = word == link.subject.lower_ and token.dep_ in SUBJECTS
            if same and not repeats and word not in REFLEXIVES:
                rivals.append(token)
        elif token.tag_ == "NN" and is_person(word, persons) and token.dep_ != "compound":
            # "He was the president …": the noun describes the subject itself
            about_subject = token.dep_ in ("attr", "oprd", "acomp") or (
                token.dep_ == "pobj" and token.head.lower_ == "as"
            )
            if gender_of(word) in (None, gender) and not about_subject:
                rivals.append(token)
        elif token.tag_ == "NNP" and _gender_of_name(token) in (None, gender):
            rivals += [token] if _may_be_person(token, link, parsed) else []
    return rivals


def _between(link: Link) -> Iterator[Token]:
    """The tokens between the subject's phrase and [Y]."""
    subject_phrase = {t.i for t in link.subject.subtree if t.i < link.path[0].i}
    tokens = link.subject.doc[link.subject.i + 1 : link.y.i]
    return (token for token in tokens if token.i not in subject_phrase)


def _hidden(link: Link, parsed: Parsed, gender: str | None) -> list[Token]:
    """Names between subject and [Y] that are labelled otherwise but may be persons': "consulted
    with Longstreet" (an organisation, says the label)."""
    return [
        name
        for name in _between(link)
        if name.tag_ == "NNP"
        and not _may_be_person(name, link, parsed)
        and _gender_of_name(name) in (None, gender)
        and _stands_like_person(name, parsed)
        and _looks_like_person(name, parsed)
    ]


def _stands_like_person(name: Token, parsed: Parsed) -> bool:
    if has_dep(name.lefts, "det") or "-".join(_whole(name)) in listed("countries"):
        return False
    if name.dep_ == "pobj":
        return parsed.entity(name) not in ("GPE", "NORP") and name.head.lower_ not in ("in", "of")
    if name.dep_ == "dobj":
        return _base(name.head) not in listed("done_to_places")
    return name.dep_ in ("poss", "nsubj", "nsubjpass", "dative", "conj")


def _another_before(subject: Token, parsed: Parsed, persons: Set[str], gender: str | None) -> bool:
    """Whether another person acts, or owns something, before the subject: "As Winston taught …,
    Riley stole his radio"."""
    for token in subject.doc[: subject.left_edge.i]:
        if token.dep_ not in ("nsubj", "nsubjpass", "poss") or token.lower_ == subject.lower_:
            continue
        try:
            person_kind(token, parsed, persons)
        except Dropped:
            continue
        if _gender_of_subject(token) in (None, gender):
            return True
    return False


def _may_be_person(name: Token, link: Link, parsed: Parsed) -> bool:
    """Whether a name can be a person. The object of a verb of telling is one, despite its label."""
    if name.dep_ == "compound":
        return False  # the last word of a name counts
    if any(name.i == t.i for t in link.path) and link.path[-1].dep_ == "relcl":
        return False  # "sent to Harrow, where he …": the clause says more of the place
    if name.dep_ == "dative" or (name.dep_ == "pobj" and name.head.dep_ == "agent"):
        return True
    if name.dep_ == "dobj" and name.head.lower_ in listed("told"):
        return True
    return parsed.entity(name) not in _NOT_PERSONS
