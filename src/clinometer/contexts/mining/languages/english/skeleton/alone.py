"""Can a predicate be a clause by itself? What "The [X], who …, is [Y]" asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.lexicon import listed
from clinometer.contexts.mining.languages.english.skeleton.phrases import is_time
from clinometer.contexts.mining.languages.english.skeleton.tense import (
    VerbGroup,
    base_and_past,
    verb_group,
)

if TYPE_CHECKING:
    from spacy.tokens import Token


def check_alone(verb: Token, words: list[str]) -> None:
    """Refuse what cannot be a clause by itself: "who played", "who was born", “who went on”."""
    group = verb_group(verb)
    rest = words[len(group.past()) :]
    open_ended = listed("needs_object") | listed("needs_more")
    if not rest:
        passive = group.passive and group.base not in listed("needs_place")
        complete = passive or (not group.passive and group.base in listed("stands_alone"))
    else:
        particle = len(rest) == 1 and any(c.dep_ == "prt" for c in verb.rights)
        complete = not (particle and group.base in open_ended)
    cut = group.base in listed("never_cut") and not group.passive
    if cut or not complete or _lacks_object(verb, group, rest):
        raise Dropped("incomplete predicate")
    if group.modal == "would":
        raise Dropped("a modal without its circumstances")  # "who would write the book"
    if _of_the_dead(group, rest):
        raise Dropped("a predicate of the dead")
    if verb.tag_ == "VBN" and not (group.passive or group.perfect):
        raise Dropped("no finite verb")  # a participle: "(a prisoner) freed from the camp"
    if rest[-1:] in (["it"], ["them"], ["itself"], ["themselves"], ["each"]):
        raise Dropped("pronoun in the skeleton")  # "who performed it"
    _check_nouns(verb, group.base, rest)


def _check_nouns(verb: Token, base: str, rest: list[str]) -> None:
    """Refuse nouns after the verb that it cannot have, or that lost what they need."""
    if sum(c.dep_ == "dobj" and c.lower_ in rest for c in verb.rights) > 1:
        raise Dropped("two objects in a row")  # "promised an end to the war, the establishment …"
    for noun in verb.rights:
        ends = rest[-1:] == [noun.lower_]
        if noun.dep_ == "attr" and noun.pos_ == "NOUN":
            if noun.lower_ in listed("young"):
                raise Dropped("an age")
            if noun.lower_ not in listed("anyone"):
                raise Dropped("subject is no person")  # "was a moth", "was the organisation"
            bare = rest[:1] == [noun.lower_] and noun.lower_ not in listed("offices")
            if bare or (ends and rest[0] == "the"):
                raise Dropped("a noun that lost what it needs")  # "was the candidate"
        if noun.dep_ == "dobj" and base in listed("no_object"):
            raise Dropped("broken grammar")  # "starred a film"
        if noun.dep_ == "dobj" and ends and is_time(noun):
            raise Dropped("incomplete predicate")  # "spent several months"


def _of_the_dead(group: VerbGroup, rest: list[str]) -> bool:
    """ "The [X], who died, is …"."""
    if "suicide" in rest or "dead" in rest:
        return True
    if group.base in ("die", "perish") or (group.base == "pass" and rest == ["away"]):
        return True
    return group.passive and group.base in listed("of_the_dead")


def _lacks_object(verb: Token, group: VerbGroup, rest: list[str]) -> bool:
    """Whether a verb lost its object, though a phrase follows: "portrayed in the book"."""
    if group.passive or not rest:
        return False
    own = {c.dep_ for c in verb.rights}
    needed = (listed("needs_object") | listed("transitive")) - {"get"}
    if group.base in needed and own.isdisjoint(("dobj", "dative", "xcomp", "oprd", "prt")):
        return True
    # "placed priority (on …)"
    placed = group.base in ("lay", "place", "put", "set") and "dobj" in own and "prt" not in own
    return placed and not any(c.dep_ == "prep" and c.lower_ in rest for c in verb.rights)


def check_alone_adjective(adjective: Token, phrase: list[str]) -> None:
    """Refuse what needs more than `phrase`: "was fluent", "was four", "reached (a career) high"."""
    if not phrase and adjective.lower_ in listed("needs_its_phrase"):
        raise Dropped("incomplete predicate")
    if adjective.tag_ == "VBG":
        raise Dropped("no finite verb")  # "was usurping (the throne)"
    clause = any(c.dep_ == "xcomp" for c in adjective.rights)
    if clause and adjective.lower_ not in listed("takes_infinitive"):
        raise Dropped("broken grammar")  # "was successful to own land"
    verb = adjective.head
    if adjective.lower_ in listed("young"):
        raise Dropped("an age")
    if adjective.dep_ in ("acomp", "dobj") and verb.pos_ == "VERB":
        base = base_and_past(verb.lower_, verb.tag_)[0]
        if base not in listed("takes_adjective"):
            raise Dropped("broken grammar")
