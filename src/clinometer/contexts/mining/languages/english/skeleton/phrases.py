"""Noun phrases of a skeleton: article and head, no names, no gender, and of the adjectives only
those that the noun needs. A noun that lost a necessary modifier is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.lexicon import (
    GENDERED_PRONOUNS,
    gives_gender_away,
    is_person,
    listed,
)

if TYPE_CHECKING:
    from spacy.tokens import Token

_VOWEL = re.compile("[aeiouy]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")


@dataclass(frozen=True)
class Rendering:
    """What a skeleton must know beside its tokens.

    entity   the label of a name (GPE, ORG, …), looked up only where it matters
    persons  words for persons, in addition to the lists
    alone    the predicate is a clause by itself, "who played a role", and must end as one
    """

    entity: Callable[[Token], str]
    persons: Set[str]
    alone: bool = False


def noun_phrase(noun: Token, how: Rendering, *, step: Token | None = None) -> list[str]:
    """The words of a noun phrase as a skeleton keeps them.

    A possessive becomes "the"; adjectives are dropped if an article or plural reads well without.
    step  where the path continues below the noun: that part is not lost
    """
    word = noun.lower_
    if noun.pos_ == "PRON" or noun.tag_ in ("PRP", "WP", "EX"):
        return _pronoun(word)
    if is_name(noun):
        return [word] if word == "parliament" else _kind_of(noun, how, step)
    if noun.pos_ not in ("NOUN", "NUM") or (noun.dep_ == "attr" and noun.tag_ == "NNS"):
        raise Dropped("broken grammar")
    if not word.replace("-", "").isalpha():
        raise Dropped("number or sign in the skeleton")
    if gives_gender_away(word):
        raise Dropped("gender cue in the skeleton")
    if hyphenated(noun):
        raise Dropped("number or sign in the skeleton")
    check_description(noun, how.persons)
    before: list[str] = []
    kept: list[str] = []
    unnamed = False
    for child in noun.lefts:
        if child.dep_ == "poss" or child.tag_ == "PRP$":
            owned = listed("inalienable") | listed("own")
            if word in (owned | listed("needs_owner") if how.alone else owned):
                raise Dropped("a possessive that the skeleton needs")
            before = ["a" if how.alone and word in listed("one_has_one") else "the"]
        elif how.alone and child.lower_ in ("this", "that", "these", "those"):
            raise Dropped("pronoun in the skeleton")  # "used these years"
        elif child.dep_ in ("det", "predet") and child.lower_ in listed("determiners"):
            before = [*before, child.lower_] if child.lower_ == "the" else [child.lower_]
        elif child.dep_ == "det":
            raise Dropped("question word in the skeleton")
        elif not (child.is_alpha and child.is_lower):
            unnamed = unnamed or child.dep_ in ("compound", "nmod")  # drop names and numbers
        elif (child.dep_ == "nummod" and not before) or (
            child.dep_ == "compound" and child.tag_ in ("NN", "VBG") and not hyphenated(child)
        ):
            kept += _compound(child) if child.dep_ == "compound" else [child.lower_]
            # "a few different schools", "a long time member"
            before = before or [c.lower_ for c in child.lefts if c.tag_ == "DT"]
    adjectives = [c.lower_ for c in noun.lefts if _plain_adjective(c)]
    few = "few" in adjectives and before == ["a"]
    if before in (["a"], ["an"]) and not few:
        _check_number(noun)
    if noun.tag_ == "NNS" and before and before[-1] in listed("singular_determiners") and not few:
        before = []  # "another two goals", "a few goals": the number is gone, and so is the article
    if any(gives_gender_away(w) for w in kept):
        raise Dropped("gender cue in the skeleton")
    if unnamed and not before and noun.tag_ == "NN" and word not in listed("mass"):
        before = ["a"]  # "Hermitage castle"
    if (before or kept) and not few:
        adjectives = _needed(noun, before)
    _check_lost(noun, before, [*adjectives, *kept], step)
    words = [*before, *adjectives, *kept, word]
    if word in listed("needs_of") and not (step is not None and step.lower_ == "of"):
        words += _of(noun, how)
    if how.alone:
        if "of" not in words:
            words += _phrase_of(noun, how)
        if words[-1] == word:
            _check_end(noun, before)
        _check_alone(noun, before, kept)
    return words


def check_description(noun: Token, persons: Set[str]) -> None:
    """Refuse a noun that says what [X] is: another job, or no person at all.

    [X] is an occupation: "was a teacher", "became governor" and "worked as a nurse" contradict it.
    """
    verb, word = noun.head, noun.lower_
    is_x = noun.dep_ == "attr" and (verb.pos_ == "AUX" or verb.lower_ in listed("becoming"))
    called = noun.dep_ == "oprd" or (noun.dep_ == "pobj" and verb.lower_ == "as")
    if not is_x and not called:
        return
    job = word in listed("offices") or (is_person(word, persons) and word not in listed("anyone"))
    if job and not (word in listed("honorary") and (called or word in ("head", "home", "part"))):
        raise Dropped("another job in the skeleton")


def _plain_adjective(child: Token) -> bool:
    return child.dep_ == "amod" and child.is_alpha and child.is_lower and _whole(child)


def _phrase_of(noun: Token, how: Rendering) -> list[str]:
    """The "of …" of a noun that ends a clause, or the phrase that its meaning needs: "took
    advantage of the storm", "had access to the files"; refuses a noun that lost it."""
    for prep in noun.rights:
        needed = prep.lower_ == "of" or noun.lower_ in listed("relational")
        if prep.dep_ != "prep" or not needed:
            continue
        objects = [c for c in prep.rights if c.dep_ == "pobj"]
        if not objects or is_name(objects[0]) or is_time(objects[0]):
            raise Dropped("a noun that lost what it needs")
        return [prep.lower_, *noun_phrase(objects[0], how)]
    return []


def _check_end(noun: Token, before: list[str]) -> None:
    """A clause cannot end with some nouns: "took advantage", "climbed into the top"."""
    part = before == ["the"] and noun.lower_ in listed("needs_of")
    phrase = any(c.dep_ == "prep" and c.i > noun.i for c in noun.head.rights)
    lost = noun.lower_ in listed("relational") and not (noun.dep_ == "dobj" and phrase)
    if part or lost:
        raise Dropped("a noun that lost what it needs")


def _check_alone(noun: Token, before: list[str], kept: list[str]) -> None:
    """What only a clause by itself forbids: "gave four", "collected type specimen"."""
    if noun.pos_ == "NUM":
        raise Dropped("a quantity without its noun")
    if noun.tag_ == "NN" and any(c.lower_ in listed("of_several") for c in noun.lefts):
        raise Dropped("broken grammar")
    if kept and not before and noun.tag_ == "NN" and noun.lower_ not in listed("mass"):
        raise Dropped("a noun that lost what it needs")
    if any(not _VOWEL.search(word) for word in kept):
        raise Dropped("number or sign in the skeleton")  # "(16) mm film"
    thing = noun.dep_ == "attr" and noun.head.dep_ == "xcomp"
    if thing and noun.lower_ not in listed("anyone"):
        raise Dropped("subject is no person")  # "was considered to be a coveted position"


def _whole(adjective: Token) -> bool:
    """Whether an adjective can be kept: no part of "two-year-old", no "such", no "own"."""
    return not hyphenated(adjective) and adjective.lower_ not in ("such", "own")


def _needed(noun: Token, before: list[str]) -> list[str]:
    """The adjectives that a noun with an article needs: ordinals, superlatives, a light noun's.

    "the first player to …", "the most promising player", "a great deal", "a critical condition".
    """
    found: list[str] = []
    for child in noun.lefts:
        if child.dep_ != "amod" or not (child.is_alpha and child.is_lower) or not _whole(child):
            continue
        most = [c.lower_ for c in child.lefts if c.lower_ in ("most", "least")]
        best = most or child.tag_ == "JJS"
        kept = child.lower_ in listed("ordinals") or noun.lower_ in listed("light")
        if kept or (best and before == ["the"]):
            found += [*most, child.lower_]
    return found


def _check_lost(noun: Token, before: list[str], kept: list[str], step: Token | None) -> None:
    """Refuse a noun that is incomplete with its remaining modifiers."""
    word = noun.lower_
    if word in listed("magnitudes") or any(k in listed("magnitudes") for k in kept):
        raise Dropped("number or sign in the skeleton")  # "million yuan"
    mods = [c for c in noun.lefts if c.dep_ in ("amod", "compound", "nummod", "nmod")]
    if any(c.dep_ == "nummod" and c.lower_ in kept and hyphenated(c) for c in mods):
        raise Dropped("number or sign in the skeleton")  # "twenty-six organizations"
    lost = [c for c in mods if c.lower_ not in kept]
    if any(c.dep_ == "npadvmod" for mod in mods if mod.lower_ in kept for c in mod.lefts):
        raise Dropped("a noun that lost what it needs")  # "a year long trip"
    bare = not before and not kept and noun.tag_ == "NN" and word not in listed("mass")
    on_path = step.i if step is not None else -1
    other = [c for c in noun.rights if c.dep_ in ("acl", "prep") and c.i != on_path]
    if (
        (bare and lost and lost[0].dep_ != "compound")  # "of Chinese descent"
        or any(_ORDINAL.fullmatch(c.lower_) for c in lost)  # "in the 40th round"
        or (before in (["a"], ["an"]) and word in listed("mass"))  # "a factory making clothing"
        or (word in listed("never_alone") and not kept and (lost or not before))
        # "in order (to …)"
        or (word in listed("stranded") and not kept and noun.dep_ == "pobj" and other)
    ):
        raise Dropped("a noun that lost what it needs")


def _check_number(noun: Token) -> None:
    """Refuse "a" before a plural that no number explains: "made a living painting portraits"."""
    if noun.tag_ == "NNS" and not any(c.dep_ == "nummod" for c in noun.lefts):
        raise Dropped("a noun that lost what it needs")


def _compound(part: Token) -> list[str]:
    """All of a compound or none of it: "injured reserve" list, but not "(30) point" barrier."""
    inner = [c for c in part.lefts if c.dep_ != "det"]
    if not all(c.is_alpha and c.is_lower and _whole(c) for c in inner):
        return []
    return [*(c.lower_ for c in inner), part.lower_]


def _kind_of(noun: Token, how: Rendering, step: Token | None) -> list[str]:
    """ "Vassar College" is a college, "Paris" a city; other names cannot be replaced."""
    word = noun.lower_
    plural = word in ("championships", "games", "olympics", "paralympics")
    if word in listed("institutions") and (plural or noun.tag_ != "NNPS"):
        determined = plural or any(c.dep_ in ("det", "poss") for c in noun.lefts)
        return ["the" if determined else "a", word]
    if _is_where(noun, step):
        return ["a", "city"]
    if how.alone:
        raise Dropped("name in the skeleton")  # "represented Spain"
    return place(noun, how)


def _is_where(name: Token, step: Token | None) -> bool:
    """ "moved to Madras, where …": a place, however it is labelled."""
    if name.dep_ != "pobj" or name.head.lower_ not in ("in", "to") or name.tag_ != "NNP":
        return False
    long = name.i - name.left_edge.i > 1 or any(c.dep_ in ("det", "poss") for c in name.lefts)
    known = "-".join(t.lower_ for t in name.lefts) + "-" + name.lower_
    if step is None or long or known.strip("-") in listed("countries"):
        return False
    opening = step.left_edge
    return step.dep_ == "relcl" and opening.lower_ == "where"


def place(noun: Token, how: Rendering) -> list[str]:
    """ "a city" or "a country" for the name of one; raises Dropped for any other name."""
    if how.entity(noun) != "GPE" or any(c.dep_ in ("conj", "poss") for c in noun.children):
        raise Dropped("name in the skeleton")
    name = "-".join(c.lower_ for c in noun.lefts if c.dep_ in ("compound", "amod"))
    known = f"{name}-{noun.lower_}" if name else noun.lower_
    return ["a", "country" if known in listed("countries") else "city"]


def is_time(noun: Token) -> bool:
    """Whether a noun names a time: such a phrase says when, not what."""
    return noun.like_num or not listed("times").isdisjoint([noun.lower_, noun.lower_.rstrip("s")])


def is_name(noun: Token) -> bool:
    """Whether a noun is a proper name: by its tag, or by its capital."""
    if noun.pos_ == "PROPN" or noun.tag_ in ("NNP", "NNPS"):
        return True
    return noun.i > 0 and noun.pos_ == "NOUN" and not noun.is_lower and noun.is_alpha


def hyphenated(noun: Token) -> bool:
    """Whether the tokenizer split the word at a hyphen: call-up."""
    doc = noun.doc
    around = [doc[i].text for i in (noun.i - 1, noun.i + 1) if 0 <= i < len(doc)]
    return "-" in around or "–" in around or "/" in around


def _pronoun(word: str) -> list[str]:
    if word in GENDERED_PRONOUNS:
        raise Dropped("gender cue in the skeleton")
    if word not in listed("kept_pronouns"):
        raise Dropped("pronoun in the skeleton")
    return [word]


def _of(noun: Token, how: Rendering) -> list[str]:
    for child in noun.rights:
        if child.dep_ == "prep" and child.lower_ == "of":
            for inner in child.rights:
                if inner.dep_ == "pobj":
                    return ["of", *noun_phrase(inner, how)]
    if noun.lower_ in ("one", "some", "many", "most", "number", "lot", "half", "kind"):
        raise Dropped("incomplete predicate")
    return []
