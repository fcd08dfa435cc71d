"""Noun phrases as a skeleton keeps them: "his two large old houses" is "the houses"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import Dropped, drop_if
from clinometer.contexts.mining.languages.english.tokens import (
    is_hyphenated,
    is_name,
    is_time,
)
from clinometer.contexts.mining.languages.english.vocabulary import (
    GENDERED_PRONOUNS,
    gives_gender_away,
    is_person,
    listed,
)
from clinometer.contexts.mining.languages.parses import has_dep

if TYPE_CHECKING:
    from spacy.tokens import Token

_LOST = "a noun that lost what it needs"
_NUMBER = "number or sign in the skeleton"
_GENDER_CUE = "gender cue in the skeleton"
_PRONOUN = "pronoun in the skeleton"
_A = (["a"], ["an"])
_VOWEL = re.compile("[aeiouy]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")


@dataclass(frozen=True)
class Frame:
    """What the words of a skeleton depend on, besides the parse."""

    entity: Callable[[Token], str]
    """The label of a name (GPE, ORG, …), looked up only where it matters."""

    persons: Set[str]
    """Words for persons, in addition to the lists."""

    standalone: bool = False
    """Whether the predicate is a clause by itself, "who played a role", and must end as one."""


@dataclass
class _Dependents:
    """What a skeleton keeps of the words before a noun."""

    determiner: list[str] = field(default_factory=list)
    adjectives: list[str] = field(default_factory=list)
    modifiers: list[str] = field(default_factory=list)
    has_name: bool = False
    """Whether a name that modified the noun is dropped: "Hermitage castle"."""


def noun_phrase(noun: Token, frame: Frame, *, step: Token | None = None) -> list[str]:
    """Return the words of a noun phrase as a skeleton keeps them.

    A possessive becomes "the"; adjectives are dropped if an article or plural reads well without.
    `step` is where the path continues below the noun: that part is not lost.
    """
    if noun.pos_ == "PRON" or noun.tag_ in ("PRP", "WP", "EX"):
        return _pronoun(noun)
    if is_name(noun):
        return _words_for_name(noun, frame, step)
    _check_noun(noun)
    check_description(noun, frame.persons)
    dependents = _dependents(noun, frame)
    _fit(noun, dependents)
    determiner = dependents.determiner
    described = [*dependents.adjectives, *dependents.modifiers]
    _check_lost(noun, determiner, described, step)
    phrase = _needed_phrase(noun, frame, step)
    words = [*determiner, *described, noun.lower_, *phrase]
    if frame.standalone:
        is_end = words[-1] == noun.lower_
        _check_alone(noun, determiner, dependents.modifiers, is_end=is_end)
    return words


def _fit(noun: Token, dependents: _Dependents) -> None:
    """Make the words before a noun fit it, and each other."""
    dependents.adjectives = [c.lower_ for c in noun.lefts if _is_plain_adjective(c)]
    # "a few goals"
    is_few = "few" in dependents.adjectives and dependents.determiner == ["a"]
    if not is_few:
        dependents.determiner = _agreeing(noun, dependents.determiner)
    shows_gender = any(gives_gender_away(word) for word in dependents.modifiers)
    drop_if(shows_gender, _GENDER_CUE)
    if dependents.has_name and not dependents.determiner and _is_countable(noun):
        dependents.determiner = ["a"]  # "Hermitage castle"
    if not is_few and (dependents.determiner or dependents.modifiers):
        dependents.adjectives = _needed_adjectives(noun, dependents.determiner)


def _needed_phrase(noun: Token, frame: Frame, step: Token | None) -> list[str]:
    """Return the phrase that a noun needs: "a number of books", "access to the files"."""
    phrase: list[str] = []
    continues_with_of = step is not None and step.lower_ == "of"
    if noun.lower_ in listed("needs_of") and not continues_with_of:
        phrase = _of(noun, frame)
    if frame.standalone and not phrase:
        phrase = _phrase_at_end(noun, frame)
    return phrase


def _pronoun(pronoun: Token) -> list[str]:
    """Return a pronoun that a skeleton can keep: something, each other."""
    word = pronoun.lower_
    drop_if(word in GENDERED_PRONOUNS, _GENDER_CUE)
    drop_if(word not in listed("kept_pronouns"), _PRONOUN)
    return [word]


def _check_noun(noun: Token) -> None:
    """Refuse a noun that is none, that has a sign in it, or that tells the gender of [X]."""
    is_plural_attribute = noun.dep_ == "attr" and noun.tag_ == "NNS"
    is_noun = noun.pos_ in ("NOUN", "NUM") and not is_plural_attribute
    drop_if(not is_noun, "broken grammar")
    drop_if(not noun.lower_.replace("-", "").isalpha(), _NUMBER)
    drop_if(gives_gender_away(noun.lower_), _GENDER_CUE)
    drop_if(is_hyphenated(noun), _NUMBER)


def check_description(noun: Token, persons: Set[str]) -> None:
    """Refuse a noun that says what [X] is: another job, or no person at all.

    [X] is an occupation: "was a teacher", "became governor" and "worked as a nurse" contradict it.
    """
    verb = noun.head
    word = noun.lower_
    describes = verb.pos_ == "AUX" or verb.lower_ in listed("becoming")
    is_attribute = noun.dep_ == "attr" and describes
    is_role = noun.dep_ == "oprd" or (noun.dep_ == "pobj" and verb.lower_ == "as")
    if not is_attribute and not is_role:
        return
    names_anyone = word in listed("anyone")
    names_person = is_person(word, persons) and not names_anyone
    if word in listed("offices") or names_person:
        is_honour = is_role or word in ("head", "home", "part")
        is_allowed = word in listed("honorary") and is_honour
        drop_if(not is_allowed, "another job in the skeleton")


def _dependents(noun: Token, frame: Frame) -> _Dependents:
    """Return what a skeleton keeps of the words before a noun."""
    dependents = _Dependents()
    for child in noun.lefts:
        if child.dep_ == "poss" or child.tag_ == "PRP$":
            dependents.determiner = [_article_for_owner(noun, frame)]
        elif frame.standalone and child.lower_ in ("this", "that", "these", "those"):
            raise Dropped(_PRONOUN)  # "used these years"
        elif child.dep_ in ("det", "predet") and child.lower_ in listed("determiners"):
            if child.lower_ == "the":
                dependents.determiner.append("the")  # "all the"
            else:
                dependents.determiner = [child.lower_]
        elif child.dep_ == "det":
            raise Dropped("question word in the skeleton")
        elif not (child.is_alpha and child.is_lower):  # names and numbers are dropped
            if child.dep_ in ("compound", "nmod"):
                dependents.has_name = True
        else:
            _add_modifier(child, dependents)
    return dependents


def _article_for_owner(noun: Token, frame: Frame) -> str:
    """Return "the" for "his"; "a" for what everybody has one of: "lost his leg".

    What cannot change its owner needs the possessive: "shook his head".
    """
    needs_owner = listed("inalienable") | listed("own")
    if frame.standalone:
        needs_owner |= listed("needs_owner")
    word = noun.lower_
    drop_if(word in needs_owner, "a possessive that the skeleton needs")
    return "a" if frame.standalone and word in listed("one_has_one") else "the"


def _add_modifier(child: Token, dependents: _Dependents) -> None:
    """Add a number, "two goals", or a compound, "a long time member"."""
    if child.dep_ == "nummod" and not dependents.determiner:
        dependents.modifiers.append(child.lower_)
    elif (
        child.dep_ == "compound"
        and child.tag_ in ("NN", "VBG")
        and not is_hyphenated(child)
    ):
        dependents.modifiers += _compound(child)
    else:
        return
    if not dependents.determiner:  # "a few different schools"
        dependents.determiner = [c.lower_ for c in child.lefts if c.tag_ == "DT"]


def _compound(part: Token) -> list[str]:
    """Return all of a compound or none of it: "injured reserve" list, not "(30) point" barrier."""
    inner = [c for c in part.lefts if c.dep_ != "det"]
    if not all(c.is_alpha and c.is_lower and _can_be_kept(c) for c in inner):
        return []
    return [*(c.lower_ for c in inner), part.lower_]


def _agreeing(noun: Token, determiner: list[str]) -> list[str]:
    """Return the determiner that fits the noun without what was between them.

    "another two goals" is "goals"; "made a living painting portraits" is a wrong parse.
    """
    if noun.tag_ != "NNS" or not determiner:
        return determiner
    if determiner in _A:
        drop_if(not has_dep(noun.lefts, "nummod"), _LOST)
    if determiner[-1] in listed("singular_determiners"):
        return []
    return determiner


def _is_countable(noun: Token) -> bool:
    """Return whether a noun is a singular that needs an article."""
    return noun.tag_ == "NN" and noun.lower_ not in listed("mass")


def _is_plain_adjective(child: Token) -> bool:
    is_word = child.is_alpha and child.is_lower
    return child.dep_ == "amod" and is_word and _can_be_kept(child)


def _can_be_kept(adjective: Token) -> bool:
    """Return whether an adjective can be kept: no part of "two-year-old", no "such", no "own"."""
    return not is_hyphenated(adjective) and adjective.lower_ not in ("such", "own")


def _needed_adjectives(noun: Token, determiner: list[str]) -> list[str]:
    """Return the adjectives that a noun with an article needs.

    Ordinals, superlatives, those of a light noun: "the first player to …", "the most promising
    player", "a great deal", "a critical condition".
    """
    adjectives: list[str] = []
    for child in noun.lefts:
        if not _is_plain_adjective(child):
            continue
        degree = [c.lower_ for c in child.lefts if c.lower_ in ("most", "least")]
        is_superlative = degree or child.tag_ == "JJS"
        is_ordinal = child.lower_ in listed("ordinals")
        is_needed = is_ordinal or noun.lower_ in listed("light")
        if is_needed or (is_superlative and determiner == ["the"]):
            adjectives += [*degree, child.lower_]
    return adjectives


def _check_lost(
    noun: Token, determiner: list[str], modifiers: list[str], step: Token | None
) -> None:
    """Refuse a noun that is incomplete with its remaining modifiers."""
    labels = ("amod", "compound", "nummod", "nmod")
    dependents = [c for c in noun.lefts if c.dep_ in labels]
    remaining = [c for c in dependents if c.lower_ in modifiers]
    missing = [c for c in dependents if c.lower_ not in modifiers]
    drop_if(_is_magnitude([noun.lower_, *modifiers]), _NUMBER)
    drop_if(_is_part_of_number(remaining), _NUMBER)
    drop_if(_lost_measure(remaining), _LOST)
    drop_if(_lost_adjective(noun, determiner, modifiers, missing), _LOST)
    drop_if(_lost_ordinal(missing), _LOST)
    drop_if(determiner in _A and noun.lower_ in listed("mass"), _LOST)
    drop_if(_is_light(noun, determiner, modifiers, missing), _LOST)
    drop_if(_lost_phrase(noun, modifiers, step), _LOST)


def _is_magnitude(words: Sequence[str]) -> bool:
    """Return whether a large number lost its digits: "(3) million yuan"."""
    return any(word in listed("magnitudes") for word in words)


def _is_part_of_number(remaining: Sequence[Token]) -> bool:
    """Return whether half of a number remains: "(twenty)-six organizations"."""
    return any(c.dep_ == "nummod" and is_hyphenated(c) for c in remaining)


def _lost_measure(remaining: Sequence[Token]) -> bool:
    """Return whether a modifier lost its measure: "a (year) long trip"."""
    return any(has_dep(modifier.lefts, "npadvmod") for modifier in remaining)


def _lost_adjective(
    noun: Token,
    determiner: list[str],
    modifiers: list[str],
    missing: Sequence[Token],
) -> bool:
    """Return whether a bare noun lost its adjective: "of (Chinese) descent"."""
    is_bare = not determiner and not modifiers and _is_countable(noun)
    return is_bare and bool(missing) and missing[0].dep_ != "compound"


def _lost_ordinal(missing: Sequence[Token]) -> bool:
    """Return whether a noun lost its number: "in the (40th) round"."""
    return any(_ORDINAL.fullmatch(c.lower_) for c in missing)


def _is_light(
    noun: Token,
    determiner: list[str],
    modifiers: list[str],
    missing: Sequence[Token],
) -> bool:
    """Return whether a noun that says little by itself stands alone: "in (a good) manner"."""
    if modifiers or noun.lower_ not in listed("never_alone"):
        return False
    return bool(missing) or not determiner


def _lost_phrase(noun: Token, modifiers: list[str], step: Token | None) -> bool:
    """Return whether a noun lost the phrase or clause after it: "in order (to …)"."""
    if modifiers or noun.dep_ != "pobj" or noun.lower_ not in listed("stranded"):
        return False
    on_path = -1 if step is None else step.i
    return any(c.dep_ in ("acl", "prep") and c.i != on_path for c in noun.rights)


def _of(noun: Token, frame: Frame) -> list[str]:
    """Return the "of …" of a noun that needs it: "a number of books"."""
    for preposition in noun.rights:
        if preposition.dep_ == "prep" and preposition.lower_ == "of":
            objects = [c for c in preposition.rights if c.dep_ == "pobj"]
            if objects:
                return ["of", *noun_phrase(objects[0], frame)]
    quantities = ("one", "some", "many", "most", "number", "lot", "half", "kind")
    drop_if(noun.lower_ in quantities, "incomplete predicate")
    return []


def _phrase_at_end(noun: Token, frame: Frame) -> list[str]:
    """Return the "of …" of a noun that ends a clause, or the phrase that its meaning needs.

    "took advantage of the storm", "had access to the files"; a noun that lost it is refused.
    """
    for preposition in noun.rights:
        needed = preposition.lower_ == "of" or noun.lower_ in listed("relational")
        if preposition.dep_ != "prep" or not needed:
            continue
        objects = [c for c in preposition.rights if c.dep_ == "pobj"]
        is_lost = not objects or is_name(objects[0]) or is_time(objects[0])
        drop_if(is_lost, _LOST)
        return [preposition.lower_, *noun_phrase(objects[0], frame)]
    return []


def _check_alone(
    noun: Token, determiner: list[str], modifiers: list[str], *, is_end: bool
) -> None:
    """Refuse what only a clause by itself forbids.

    "gave four", "collected type specimen"; and nouns with which it cannot end: "took advantage",
    "climbed into the top".
    """
    drop_if(is_end and _is_incomplete_end(noun, determiner), _LOST)
    drop_if(noun.pos_ == "NUM", "a quantity without its noun")
    is_singular_of_several = noun.tag_ == "NN" and any(
        c.lower_ in listed("of_several") for c in noun.lefts
    )
    drop_if(is_singular_of_several, "broken grammar")
    drop_if(modifiers and not determiner and _is_countable(noun), _LOST)
    is_unit = any(not _VOWEL.search(word) for word in modifiers)  # "(16) mm film"
    drop_if(is_unit, _NUMBER)
    # "was considered to be a coveted position"
    is_attribute = noun.dep_ == "attr" and noun.head.dep_ == "xcomp"
    is_thing = is_attribute and noun.lower_ not in listed("anyone")
    drop_if(is_thing, "subject is not a person")


def _is_incomplete_end(noun: Token, determiner: list[str]) -> bool:
    """Return whether a clause cannot end with a noun: "into the top", "took advantage"."""
    if determiner == ["the"] and noun.lower_ in listed("needs_of"):
        return True
    if noun.lower_ not in listed("relational"):
        return False
    has_phrase = any(c.dep_ == "prep" and c.i > noun.i for c in noun.head.rights)
    return not (noun.dep_ == "dobj" and has_phrase)


def _words_for_name(name: Token, frame: Frame, step: Token | None) -> list[str]:
    """Return what stands for a name: "Vassar College" is a college, "Paris" a city.

    Other names cannot be replaced.
    """
    word = name.lower_
    if word == "parliament":
        return [word]
    is_plural = word in ("championships", "games", "olympics", "paralympics")
    if word in listed("institutions") and (is_plural or name.tag_ != "NNPS"):
        is_definite = is_plural or has_dep(name.lefts, "det", "poss")
        return ["the" if is_definite else "a", word]
    if _is_where(name, step):
        return ["a", "city"]
    drop_if(frame.standalone, "name in the skeleton")  # "represented Spain"
    return place(name, frame)


def _is_where(name: Token, step: Token | None) -> bool:
    """Return whether a name is a place, however it is labelled: "moved to Madras, where …"."""
    preposition = name.head.lower_
    if name.dep_ != "pobj" or preposition not in ("in", "to") or name.tag_ != "NNP":
        return False
    is_long = name.i - name.left_edge.i > 1 or has_dep(name.lefts, "det", "poss")
    if step is None or is_long or _full_name(name, name.lefts) in listed("countries"):
        return False
    return step.dep_ == "relcl" and step.left_edge.lower_ == "where"


def _full_name(name: Token, dependents: Iterable[Token]) -> str:
    """Return a name with the words before it, as the list of countries has it."""
    return "-".join([*(t.lower_ for t in dependents), name.lower_])


def place(name: Token, frame: Frame) -> list[str]:
    """Return "a city" or "a country" for the name of one; any other name is dropped."""
    if frame.entity(name) != "GPE" or has_dep(name.children, "conj", "poss"):
        raise Dropped("name in the skeleton")
    parts = [c for c in name.lefts if c.dep_ in ("compound", "amod")]
    is_country = _full_name(name, parts) in listed("countries")
    return ["a", "country" if is_country else "city"]
