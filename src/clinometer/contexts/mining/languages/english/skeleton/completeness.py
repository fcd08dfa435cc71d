"""Is a skeleton complete? What each part of a coreference template must have.

In doubt the template is dropped: a mined set is large, and every model reads a broken context.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import pairwise
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.lexicon import (
    gives_gender_away,
    is_person,
    listed,
)
from clinometer.contexts.mining.languages.english.skeleton.phrases import (
    hyphenated,
    is_name,
    is_time,
)
from clinometer.contexts.mining.languages.english.skeleton.tense import (
    base_and_past,
    is_known,
    verb_group,
)

if TYPE_CHECKING:
    from spacy.tokens import Token

    from clinometer.contexts.mining.languages.english.coreference.dependency_paths import Link

_NOUNS = ("NOUN", "PROPN", "NUM")
#: Prepositions with which, or with whom, that read well after the noun alone.
_RELATIVES = frozenset(["in which", "on which", "at which", "with whom"])


def check_verb(
    verb: Token, base: str, words: list[str], *, copula: bool, end: int, filled: bool = False
) -> None:
    """Refuse a verb without its complements.

    words   what follows it
    end     where that ends
    filled  its object is [Y], or something of [Y]'s: "made [Y]"
    """
    before = [c for c in verb.rights if c.i <= end]
    if verb.tag_ == "VBG" and any(c.dep_ == "auxpass" for c in verb.lefts):
        raise Dropped("no finite verb")  # "'s been telling", read as a passive
    if verb.lower_ == "got" and any(c.dep_ == "auxpass" for c in verb.lefts):
        raise Dropped("no finite verb")  # "'s got"
    if hyphenated(verb):
        raise Dropped("broken grammar")  # "short-lived"
    if not is_known(base):
        raise Dropped("unknown verb")
    nouns = [c for c in before if c.dep_ in ("dobj", "attr", "oprd") and c.pos_ in _NOUNS]
    if len(nouns) > 1 and base not in listed("two_objects"):
        raise Dropped("two objects in a row")  # an apposition: "wrote an essay, the deficiency …"
    phrases = [c.i for c in before if c.dep_ == "prep" and c.lower_ in words]
    if any(i < noun.i for i in phrases for noun in nouns if noun.dep_ == "dobj"):
        raise Dropped("word order")  # "saw on the territory a group"
    passive = verb_group(verb).passive
    if passive and base in listed("done_to_things"):
        raise Dropped("subject is no person")  # a horse "was exported"
    clause = any(c.dep_ == "ccomp" for c in before)
    bare = not words and not clause and not filled
    if base in listed("needs_object") and not passive and bare:
        raise Dropped("incomplete predicate")  # a participle alone: "caused"
    whom = passive or any(c.dep_ in ("dobj", "dative") for c in before)
    if base in listed("needs_noun") and not whom and not (base == "do" and clause):
        raise Dropped("incomplete predicate")  # "spent (one year) at a university"
    alone = base in listed("no_clause") and not any(c.dep_ == "prt" for c in before)
    if clause and (alone or (base in listed("needs_whom") and not whom)):
        raise Dropped("incomplete predicate")  # “told that”, “lived that”
    if base in listed("needs_more") and bare:
        raise Dropped("incomplete predicate")  # "went", "was put"
    if base in ("regard", "categorise", "categorize", "classify") and "as" not in words:
        raise Dropped("incomplete predicate")
    if copula:
        _check_copula(before, words)


def _check_copula(before: list[Token], words: list[str]) -> None:
    """ "was (a) member", "was in a (critical) condition", "was in the direction (of …)"."""
    if words == ["up"]:
        raise Dropped("incomplete predicate")  # "was not up (for …)"
    for noun in before:
        alone = words[:1] == [noun.lower_] and noun.lower_ not in listed("offices")
        if alone and noun.dep_ == "attr" and noun.tag_ == "NN":
            raise Dropped("a noun that lost what it needs")
    for prep in before:
        for noun in prep.rights if prep.dep_ == "prep" else ():
            lost = [c for c in noun.lefts if c.dep_ in ("amod", "nummod") and c.lower_ not in words]
            lost += [c for c in noun.rights if c.lower_ == "of" and "of" not in words]
            if noun.dep_ == "pobj" and noun.lower_ in words and (lost or prep.lower_ == "for"):
                raise Dropped("a noun that lost what it needs")


def check_adjective(adjective: Token) -> None:
    """Refuse an adjective that is a noun, half of a word, or one side of "so … that"."""
    if hyphenated(adjective):
        raise Dropped("number or sign in the skeleton")  # "short-lived"
    if any(c.dep_ in ("det", "poss") for c in adjective.lefts):
        raise Dropped("a noun that lost what it needs")  # "was the first (to …)"
    if any(c.lower_ == "so" for left in adjective.lefts for c in left.lefts):
        raise Dropped("comparison")  # "so little recovered that"


def check_participle(verb: Token) -> None:
    """A participle without an auxiliary needs a verb that takes one: "was left paralysed"."""
    if base_and_past(verb.head.lower_, verb.head.tag_)[0] not in listed("takes_participle"):
        raise Dropped("no finite verb")  # "began competed"


def check_joint(link: Link, words: list[str], joined: list[str], persons: Set[str]) -> None:
    """Refuse a connection of predicate and [Y] that differs from that in the sentence.

    words  the template so far; joined  that, because, where, …
    """
    clause, parent = link.path[-1], link.path[-2]
    overt = any(t.lower_ == joined[-1] or t.tag_ == "WDT" for t in _opening(link))
    if clause.dep_ == "relcl":
        _check_antecedent(parent, joined, persons)
        between = parent.doc[parent.i + 1 : link.y.i - len(joined)].text
        near = between == "" or (between == "," and joined[0] == "from")
        if len(joined) == 2 and " ".join(joined) not in _RELATIVES and not near:
            raise Dropped("a preposition before the relative")
        if not overt and not is_time(parent) and not _has_gap(clause):
            raise Dropped("nothing joins the clauses")
    if clause.dep_ in ("relcl", "ccomp", "acl") and not overt:
        tokens = parent.doc[parent.i + 1 : link.y.i]
        if any(t.text in (",", ";", ":", "–", "—") or t.tag_ == "CC" for t in tokens):
            raise Dropped("nothing joins the clauses")
        if parent.pos_ not in ("VERB", "AUX") and _opens_sentence(link.path[0]):
            raise Dropped("nothing joins the clauses")  # "Since he was a teenager he …"
    if clause.dep_ == "ccomp":
        _check_reported(parent, clause, joined)
    if joined == ["as"] and not {_base(parent), words[-1]}.isdisjoint(listed("takes_as")):
        raise Dropped("an as that reads otherwise")  # "was classified as"
    if joined == ["where"]:
        _check_where(clause, parent, words)


def _check_where(clause: Token, parent: Token, words: list[str]) -> None:
    """A "where" that is not a question must follow the place it refers to."""
    place = parent if clause.dep_ == "relcl" else clause.left_edge.nbor(-1)
    asked = clause.dep_ == "pcomp" or (clause.dep_ == "ccomp" and place.i == parent.i)
    kept = place.lower_ == words[-1] or (is_name(place) and words[-1] in ("city", "country"))
    if parent.lower_ == "from" or (not asked and (not kept or is_time(place))):
        raise Dropped("nothing joins the clauses")


def _check_reported(verb: Token, clause: Token, joined: list[str]) -> None:
    """Check the words between a verb of saying and what is said."""
    nouns = [c for c in verb.rights if c.dep_ == "dobj" and c.i < clause.i]
    whom = [c for c in verb.rights if c.dep_ == "dative" and c.i < clause.i]
    if nouns and joined[0] in ("how", "what", "why") and _base(verb) not in listed("two_objects"):
        raise Dropped("nothing joins the clauses")  # "started the brands how"
    if joined == ["that"] and nouns and (whom or nouns[0].lower_ == "it"):
        raise Dropped("two objects in a row")  # “told truth to everyone that”, “has it that”


def _check_antecedent(noun: Token, joined: list[str], persons: Set[str]) -> None:
    """A relative clause must follow a noun that it can modify."""
    if noun.pos_ not in _NOUNS and noun.lower_ not in listed("antecedents"):
        raise Dropped("a relative clause without its noun")
    role = noun.dep_ == "pobj" and noun.head.lower_ == "as"
    person = role or noun.lower_ == "figure" or is_person(noun.lower_, persons)
    if person and joined[-1] in ("where", "which"):
        raise Dropped("a relative clause without its noun")  # "was a lecturer (at …), where"
    if person and noun.dep_ == "attr" and joined == ["that"]:
        raise Dropped("a relative clause without its noun")  # "by the time he was a teenager he …"


def _has_gap(clause: Token) -> bool:
    """Whether something is missing in a clause, so that it can be relative: "the book he wrote"."""
    if any(t.pos_ == "ADP" and not t.n_rights and t.dep_ != "prt" for t in clause.subtree):
        return True  # "the pain he was in"
    if any(c.dep_ in ("xcomp", "ccomp", "advcl") for c in clause.rights):
        return True  # below it, maybe: "the book he wanted to write"
    verb = clause.pos_ == "VERB" or clause.lower_ in listed("do")
    return verb and not any(c.dep_ in ("dobj", "attr", "acomp") for c in clause.rights)


def _opening(link: Link) -> list[Token]:
    return [t for t in link.path[-1].subtree if t.i < link.y.i]


def _opens_sentence(verb: Token) -> bool:
    """Whether a verb with a subordinator has no main clause before it: that is what follows."""
    marked = any(c.dep_ == "mark" or c.tag_ == "WRB" for c in verb.lefts)
    return marked and (verb.head.i >= verb.i)


def _base(word: Token) -> str:
    return base_and_past(word.lower_, word.tag_)[0] if word.pos_ == "VERB" else word.lower_


def check_possessive(link: Link, words: list[str], persons: Set[str]) -> None:
    """Refuse a possessive where another person could be meant as well: "met her (wife)"."""
    owned = link.y.head.lower_
    if is_person(owned, persons) or is_person(owned.removesuffix("s"), persons):
        raise Dropped("[Y] could be another person")
    if words[-1] in listed("takes_him") or gives_gender_away(owned):
        raise Dropped("[Y] could be another person")


def check_reflexive(link: Link) -> None:
    """Refuse an emphasis: "was himself a …"."""
    if link.path[-2].pos_ == "AUX":
        raise Dropped("[Y] is not an object")


def check_words(words: list[str]) -> None:
    """Patterns that no template may contain, regardless of its parse."""
    if "than" in words:
        raise Dropped("comparison")
    if any(a == "because" and b in ("what", "how", "why") for a, b in pairwise(words)):
        raise Dropped("broken grammar")
    joints = (listed("coordinators") | listed("subordinators")) - {"that", "if", "whether"}
    if any(a in listed("needs_preposition") and b in joints for a, b in pairwise(words)):
        raise Dropped("incomplete predicate")  # "was interested (in music) since"
