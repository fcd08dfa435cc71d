"""Can a predicate be a clause by itself, as "The [X], who …, is [Y]" needs?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import drop_if
from clinometer.contexts.mining.languages.english.tokens import is_time
from clinometer.contexts.mining.languages.english.verbs import (
    VerbGroup,
    base_of,
    verb_group,
)
from clinometer.contexts.mining.languages.english.vocabulary import listed
from clinometer.contexts.mining.languages.parses import has_dep

if TYPE_CHECKING:
    from spacy.tokens import Token

_INCOMPLETE = "incomplete predicate"


def check_alone(verb: Token, words: list[str]) -> None:
    """Refuse what cannot be a clause by itself: "who played", "who was born", “who went on”."""
    group = verb_group(verb)
    rest = words[len(group.past()) :]
    _check_complete(verb, group, rest)
    _check_modal(group)
    _check_dead(group, rest)
    _check_participle(verb, group)
    _check_last_word(rest)
    _check_two_objects(verb, rest)
    for noun in verb.rights:
        if noun.dep_ == "attr" and noun.pos_ == "NOUN":
            _check_attribute(noun, rest)
        if noun.dep_ == "dobj":
            _check_object(noun, group.base, rest)


def _check_complete(verb: Token, group: VerbGroup, rest: list[str]) -> None:
    """Refuse a verb that lost its complements: "who played", "who was born"."""
    is_cut = group.base in listed("never_cut") and not group.passive
    is_complete = _is_complete(verb, group, rest)
    drop_if(is_cut or not is_complete or _lacks_object(verb, group, rest), _INCOMPLETE)


def _is_complete(verb: Token, group: VerbGroup, rest: list[str]) -> bool:
    """Return whether a verb can end a clause with what follows it: not “who went on”."""
    if rest:
        is_particle = len(rest) == 1 and has_dep(verb.rights, "prt")
        open_ended = listed("needs_object") | listed("needs_more")
        return not (is_particle and group.base in open_ended)
    if group.passive:
        return group.base not in listed("needs_place")
    return group.base in listed("stands_alone")


def _lacks_object(verb: Token, group: VerbGroup, rest: list[str]) -> bool:
    """Return whether a verb lost its object, though a phrase follows: "portrayed in the book"."""
    if group.passive or not rest:
        return False
    labels = {c.dep_ for c in verb.rights}
    transitive = (listed("needs_object") | listed("transitive")) - {"get"}
    if group.base in transitive:
        has_object = labels & {"dobj", "dative", "xcomp", "oprd", "prt"}
        if not has_object:
            return True
    # "placed priority (on …)"
    if group.base not in ("lay", "place", "put", "set"):
        return False
    if "dobj" not in labels or "prt" in labels:
        return False
    return not any(c.dep_ == "prep" and c.lower_ in rest for c in verb.rights)


def _check_modal(group: VerbGroup) -> None:
    """Refuse "who would write the book"."""
    drop_if(group.modal == "would", "a modal without its circumstances")


def _check_dead(group: VerbGroup, rest: list[str]) -> None:
    """Refuse "The [X], who died, is …"."""
    dies = group.base in ("die", "perish")
    passes_away = group.base == "pass" and rest == ["away"]
    is_killed = group.passive and group.base in listed("of_the_dead")
    is_dead = "suicide" in rest or "dead" in rest
    drop_if(dies or passes_away or is_killed or is_dead, "a predicate of the dead")


def _check_participle(verb: Token, group: VerbGroup) -> None:
    """Refuse a participle: "(a prisoner) freed from the camp"."""
    is_finite = group.passive or group.perfect
    drop_if(verb.tag_ == "VBN" and not is_finite, "no finite verb")


def _check_last_word(rest: list[str]) -> None:
    """Refuse a pronoun at the end: "who performed it"."""
    pronouns = ("it", "them", "itself", "themselves", "each")
    drop_if(rest and rest[-1] in pronouns, "pronoun in the skeleton")


def _check_two_objects(verb: Token, rest: list[str]) -> None:
    """Refuse an apposition: "promised an end to the war, the establishment …"."""
    objects = [c for c in verb.rights if c.dep_ == "dobj" and c.lower_ in rest]
    drop_if(len(objects) > 1, "two objects in a row")


def _check_attribute(noun: Token, rest: list[str]) -> None:
    """Refuse "was a boy", "was a moth", "was the organisation", "was the candidate"."""
    drop_if(noun.lower_ in listed("young"), "an age")
    drop_if(noun.lower_ not in listed("anyone"), "subject is not a person")
    is_first = rest[:1] == [noun.lower_]
    is_last = rest[-1:] == [noun.lower_]
    is_bare = is_first and noun.lower_ not in listed("offices")
    is_definite = is_last and rest[0] == "the"
    drop_if(is_bare or is_definite, "a noun that lost what it needs")


def _check_object(noun: Token, base: str, rest: list[str]) -> None:
    """Refuse "starred a film", "spent several months"."""
    drop_if(base in listed("no_object"), "broken grammar")
    is_last = rest[-1:] == [noun.lower_]
    drop_if(is_last and is_time(noun), _INCOMPLETE)


def check_alone_adjective(adjective: Token, phrase: list[str]) -> None:
    """Refuse what needs more than `phrase`: "was fluent", "was four", "reached (a career) high"."""
    word = adjective.lower_
    drop_if(not phrase and word in listed("needs_its_phrase"), _INCOMPLETE)
    drop_if(adjective.tag_ == "VBG", "no finite verb")  # "was usurping (the throne)"
    # "was successful to own land"
    has_infinitive = has_dep(adjective.rights, "xcomp")
    takes_infinitive = word in listed("takes_infinitive")
    drop_if(has_infinitive and not takes_infinitive, "broken grammar")
    drop_if(word in listed("young"), "an age")
    verb = adjective.head
    if adjective.dep_ in ("acomp", "dobj") and verb.pos_ == "VERB":
        takes_adjective = base_of(verb) in listed("takes_adjective")
        drop_if(not takes_adjective, "broken grammar")
