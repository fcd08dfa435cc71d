"""A predicate as a skeleton: verb group in the past, objects, and one phrase where needed.

A skeleton is rendered along a *path*: the tokens from the governing verb down to the clause of
[Y]. What precedes the path's next step is reduced; what follows it never appears.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import Dropped, drop_if
from clinometer.contexts.mining.languages.english.complements import (
    Complements,
    check_verb,
)
from clinometer.contexts.mining.languages.english.links import shares_subject
from clinometer.contexts.mining.languages.english.noun_phrases import (
    Frame,
    noun_phrase,
    place,
)
from clinometer.contexts.mining.languages.english.standalone import (
    check_alone_adjective,
)
from clinometer.contexts.mining.languages.english.tokens import (
    SUBJECTS,
    age,
    is_hyphenated,
    is_name,
    is_time,
    is_verb,
)
from clinometer.contexts.mining.languages.english.verbs import (
    VerbGroup,
    base_and_past,
    base_of,
    is_copula,
    verb_group,
)
from clinometer.contexts.mining.languages.english.vocabulary import (
    gives_gender_away,
    listed,
)
from clinometer.contexts.mining.languages.parses import has_dep

if TYPE_CHECKING:
    from spacy.tokens import Token

_INCOMPLETE = "incomplete predicate"
_CLAUSE = "clause in the predicate"
_PRONOUN = "pronoun in the skeleton"
_NUMBER = "number or sign in the skeleton"
_LOST = "a noun that lost what it needs"
_BOUNDS = frozenset(["above", "below", "over", "under"])
_OBJECTS = frozenset(["dobj", "dative", "attr", "oprd", "acomp"])


def predicate(path: tuple[Token, ...], frame: Frame) -> list[str]:
    """Return the words from the verb path[0] to just before the last token of the path."""
    verb = path[0]
    group = verb_group(verb)
    auxiliary = group.modal or group.progressive or group.passive or group.perfect
    if verb.tag_ in ("VBG", "VB", "VBN") and not auxiliary:
        _check_shared(verb)
    rest = _after(path, group.base, frame, copula=is_copula(verb))
    reports = len(path) > 1 and path[1].dep_ == "ccomp"
    if group.past() == ["lay"] and reports:
        return ["lied", *rest]  # "lies that"
    return [*group.past(), *rest]


def _check_shared(verb: Token) -> None:
    """Refuse a form that is not finite, without an auxiliary of its own or a shared one."""
    if shares_subject(verb):
        return
    is_clause = has_dep(verb.lefts, *SUBJECTS) or verb.dep_ == "conj"
    if verb.tag_ == "VB":
        has_do = any(c.dep_ == "aux" and c.lower_ in listed("do") for c in verb.lefts)
        if has_do or is_clause:
            return
    # The tagger mistook a past tense for a participle: fine if the two forms are the same.
    if verb.tag_ == "VBN":
        _, past_form = base_and_past(verb.lower_, "VBN")
        if past_form == verb.lower_ and is_clause:
            return
    raise Dropped("no finite verb")


@dataclass
class _Rest:
    """What follows a verb, as far as it is rendered."""

    words: list[str] = field(default_factory=list)
    has_object: bool = False
    has_phrase: bool = False
    lost_phrase: bool = False
    has_particle: bool = False


def _after(
    path: tuple[Token, ...], base: str, frame: Frame, *, copula: bool
) -> list[str]:
    """Return what follows the verb path[0]: its complements up to the next step of the path."""
    verb = path[0]
    step = path[1] if len(path) > 1 else None
    reports = step is not None and step.dep_ == "ccomp"
    drop_if(reports and copula, _INCOMPLETE)  # "was that he …"
    rest = _Rest()
    for child in verb.rights:
        if step is not None and child.i == step.i:
            if child.dep_ in (*_OBJECTS, "prep", "xcomp", "ccomp"):
                rest.has_object = True
            rest.words += _enter(path[1:], frame)
            break
        if child.dep_ == "prep":
            _add_phrase(child, rest, base, frame, reports=reports)
        elif child.dep_ == "advmod":
            _add_adverb(child, rest, frame, copula=copula)
        else:
            _add_complement(child, rest, frame)
    else:
        drop_if(step is not None, "word order")
    _check_rest(verb, base, rest, copula=copula, reports=reports)
    complements = Complements(
        verb,
        base,
        rest.words,
        end=step.i if step is not None else verb.doc[-1].i,
        is_copula=copula,
        is_filled=step is not None and len(path) == 2 and step.dep_ in _OBJECTS,
    )
    check_verb(complements)
    return rest.words


def _add_complement(child: Token, rest: _Rest, frame: Frame) -> None:
    """Add a particle, an object or an infinitive to what follows the verb."""
    if child.dep_ == "prt":
        rest.words.append(child.lower_)
        rest.has_particle = True
    elif child.dep_ in _OBJECTS:
        rest.words += _complement(child, frame)
        rest.has_object = True
    elif child.dep_ == "xcomp":
        rest.words += _open_clause((child,), frame)
        rest.has_object = True
    elif child.dep_ == "ccomp":
        raise Dropped(_CLAUSE)


def _add_adverb(child: Token, rest: _Rest, frame: Frame, *, copula: bool) -> None:
    """Add an adverb that the predicate needs: "was away"."""
    if child.lower_ not in listed("kept_adverbs"):
        return
    drop_if(frame.standalone and child.lower_ == "there", _PRONOUN)  # "moved there"
    rest.words.append(child.lower_)
    if copula:
        rest.has_object = True


def _add_phrase(
    child: Token, rest: _Rest, base: str, frame: Frame, *, reports: bool
) -> None:
    """Add the first phrase after a verb that has no object, or that its object needs."""
    phrase: list[str] = []
    last_word = rest.words[-1] if rest.words else ""
    is_needed = frame.standalone and last_word in listed("relational")
    if is_needed and not rest.has_phrase:
        phrase = _phrase(child, frame)  # "made contributions to the field"
        drop_if(not phrase, _LOST)
    elif not (reports or rest.has_object or rest.has_phrase):
        phrase = _phrase(child, frame, named=_needs_place(base, frame))
    if phrase:
        rest.has_phrase = True
    else:
        rest.lost_phrase = True
    rest.words += phrase


def _needs_place(base: str, frame: Frame) -> bool:
    """Return whether a verb cannot lose its phrase: "went to Paris"; alone, "lived in Paris"."""
    if frame.standalone:
        return base not in listed("stands_alone") and base != "be"
    return base in listed("needs_more") or base in listed("needs_phrase")


def _check_rest(
    verb: Token, base: str, rest: _Rest, *, copula: bool, reports: bool
) -> None:
    """Refuse a verb that lost its object or the phrase that it needs."""
    drop_if(copula and not rest.has_object and not rest.has_phrase, _INCOMPLETE)
    is_passive = has_dep(verb.lefts, "auxpass") or verb.tag_ == "VBN"
    is_whole = rest.has_object or rest.has_phrase or rest.has_particle or is_passive
    drop_if(base in listed("needs_object") and not is_whole, _INCOMPLETE)
    if base in listed("needs_phrase") and not reports:
        drop_if(rest.lost_phrase and not rest.has_phrase, _INCOMPLETE)


def _enter(path: tuple[Token, ...], frame: Frame) -> list[str]:
    """Descend into a step of the path; the last token is the clause or word of [Y] itself."""
    if len(path) == 1:
        return []
    token = path[0]
    step = path[1]
    if token.dep_ == "xcomp" and is_verb(token):
        return _open_clause(path, frame)
    drop_if(is_verb(token), _CLAUSE)
    if token.dep_ in ("prep", "dative", "agent") and token.pos_ in ("ADP", "SCONJ"):
        opening = ["due", "to"] if token.lower_ == "due" else [token.lower_]
        return [*opening, *_enter(path[1:], frame)]
    if token.pos_ == "ADJ" or token.dep_ == "acomp":
        return [*_adjective(token), *_enter(path[1:], frame)]
    drop_if(token.pos_ not in ("NOUN", "PRON", "PROPN", "NUM"), "word order")
    drop_if(step.dep_ not in ("relcl", "acl", "prep"), "word order")
    # "until the minutes that …"
    drop_if(token.dep_ == "pobj" and is_time(token), "a time before [Y]")
    words = noun_phrase(token, frame, step=step)
    return [*words, *_enter(path[1:], frame)]


def _complement(token: Token, frame: Frame) -> list[str]:
    """Return an object, a predicate noun or a predicate adjective."""
    if token.dep_ == "dative" and token.pos_ in ("ADP", "SCONJ"):
        return _phrase(token, frame)
    years = age(token) if token.head.lower_ in listed("be") else []
    if years:
        drop_if(frame.standalone, "an age")  # "The [X], who was four, is …"
        return years
    if token.pos_ in ("ADJ", "ADV") or token.dep_ == "acomp":
        return _adjective_with_phrase(token, frame)
    if is_verb(token):
        is_participle = token.tag_ == "VBN" and not is_hyphenated(token)
        drop_if(not is_participle, _CLAUSE)
        return [token.lower_]
    return noun_phrase(token, frame)


def _adjective_with_phrase(token: Token, frame: Frame) -> list[str]:
    """Return a predicate adjective with its infinitive or phrase: "responsible for the design"."""
    words = _adjective(token)
    for child in token.rights:
        if child.dep_ == "xcomp":
            words += _open_clause((child,), frame)
        elif child.dep_ == "ccomp":
            raise Dropped(_CLAUSE)
        elif (
            frame.standalone
            and len(words) == 1
            and child.lower_ in listed("of_adjectives")
        ):
            words += _phrase(child, frame)
    if frame.standalone:
        check_alone_adjective(token, words[1:])
    # "would spend much (of the year)"
    drop_if(token.lower_ in listed("quantities"), "a quantity without its noun")
    # "was able"
    drop_if(token.lower_ in listed("unfinished") and len(words) == 1, _INCOMPLETE)
    return words


def _adjective(token: Token) -> list[str]:
    """Return a predicate adjective with its negation."""
    is_word = token.is_lower and token.lower_.replace("-", "").isalpha()
    drop_if(not is_word, "name in the skeleton")
    drop_if(gives_gender_away(token.lower_), "gender cue in the skeleton")
    drop_if(_is_compared(token), "comparison")
    drop_if(has_dep(token.lefts, "npadvmod"), _NUMBER)  # "17 years old"
    drop_if(is_hyphenated(token), _NUMBER)  # "short-lived"
    drop_if(has_dep(token.lefts, "det", "poss"), _LOST)  # "was the first (to …)"
    # "so little recovered that"
    is_degree = any(c.lower_ == "so" for adverb in token.lefts for c in adverb.lefts)
    drop_if(is_degree, "comparison")
    negation = [c.lower_ for c in token.lefts if c.dep_ == "neg"]
    return [*negation, token.lower_]


def _is_compared(adjective: Token) -> bool:
    """Return whether an adjective is a comparative, or has a word of degree before it."""
    if adjective.tag_ in ("JJR", "RBR"):
        return True
    degrees = ("as", "so", "too", "more", "less", "such")
    return any(c.lower_ in degrees for c in adjective.lefts)


def _open_clause(path: tuple[Token, ...], frame: Frame) -> list[str]:
    """Return an infinitive or a gerund, "to prove", "working", with its own complements."""
    verb = path[0]
    if not is_verb(verb):
        return _complement(verb, frame) if len(path) == 1 else _enter(path, frame)
    drop_if(has_dep(verb.lefts, *SUBJECTS), _CLAUSE)
    group = verb_group(verb)
    rest = _after(path, group.base, frame, copula=is_copula(verb))
    if frame.standalone and not rest:
        can_end = listed("stands_alone") | listed("ends_infinitive")
        drop_if(group.base not in can_end, _INCOMPLETE)  # "needed to monitor"
    if any(c.dep_ == "aux" and c.lower_ == "to" for c in verb.lefts):
        return [*_infinitive_with_to(verb, group), *rest]
    if verb.tag_ == "VBG":
        return [*group.gerund(), *rest]
    if verb.tag_ == "VB":
        return [*group.infinitive(), *rest]
    if verb.tag_ == "VBN":
        return [*_participle(verb, group), *rest]
    raise Dropped(_CLAUSE)


def _infinitive_with_to(verb: Token, group: VerbGroup) -> list[str]:
    """Return "to win", "how to win", "not to win"."""
    question = [c.lower_ for c in verb.lefts if c.tag_ in ("WRB", "WP")]
    words = group.infinitive()
    if group.negation:
        return [*question, words[0], "to", *words[1:]]
    return [*question, "to", *words]


def _participle(verb: Token, group: VerbGroup) -> list[str]:
    """Return the participle of "was left paralysed"; refuse "began competed"."""
    if not has_dep(verb.lefts, "auxpass"):
        takes_participle = base_of(verb.head) in listed("takes_participle")
        drop_if(not takes_participle, "no finite verb")
    if group.passive:
        return ["being", verb.lower_]
    return [verb.lower_]


def _phrase(preposition: Token, frame: Frame, *, named: bool = False) -> list[str]:
    """Return a prepositional phrase if the skeleton can keep it; otherwise nothing.

    `named`: also one with the name of a place, because the verb needs it.
    """
    if preposition.tag_ == "VBG" or preposition.lower_ == "due":
        return []  # "including tours"
    if frame.standalone and _says_when_or_what_as(preposition, named=named):
        return []
    objects = [c for c in preposition.rights if c.dep_ == "pobj"]
    if not objects:
        return []
    try:
        return _phrase_with(preposition, objects[0], frame, named=named)
    except Dropped:
        return []


def _says_when_or_what_as(preposition: Token, *, named: bool) -> bool:
    """Return whether a clause by itself is better without a phrase.

    "was jailed after the trial", "moved in Paris", "played as a midfielder", "played for Leeds".
    """
    word = preposition.lower_
    if word in listed("says_when"):
        return True
    verb = preposition.head
    is_in = named and word == "in" and verb.pos_ == "VERB"
    if is_in and verb_group(verb).base in listed("motion"):
        return True
    is_playing = verb.lower_ in ("play", "plays", "played", "playing")
    return is_playing and word in ("as", "for")


def _phrase_with(
    preposition: Token, noun: Token, frame: Frame, *, named: bool
) -> list[str]:
    """Return a preposition with its noun; nothing for names, times and numbers."""
    word = preposition.lower_
    has_number = any(c.like_num and not c.is_alpha for c in noun.lefts)
    if has_number and (frame.standalone or word in _BOUNDS):
        return []  # "scored above 10 points", "threw for 300 yards"
    is_role = frame.standalone and word == "as"  # "acted as Hamlet"
    if named and is_name(noun) and not is_role:
        return [word, *place(noun, frame)]
    if _says_when_or_names(noun):
        return []
    return [word, *noun_phrase(noun, frame)]


def _says_when_or_names(noun: Token) -> bool:
    return is_name(noun) or is_time(noun) or any(is_name(c) for c in noun.lefts)
