"""Noun phrases of a skeleton: article and head, no names, no adjectives, no gender."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiltmeter.contexts.mining.decision import Refused
from tiltmeter.contexts.mining.languages.english.words import (
    GENDERED_PRONOUNS,
    INALIENABLE,
    INSTITUTIONS,
    NEEDS_OF,
    gives_gender_away,
)

if TYPE_CHECKING:
    from spacy.tokens import Token

_ARTICLES = frozenset(
    "a an the this that these those some any no each every another all both either neither".split()
)
_SINGULAR = frozenset(["a", "an", "another", "this", "that", "each", "every", "either"])
_PRONOUNS = frozenset(
    "me us them it you something nothing anything everything someone everyone anyone nobody "
    "others itself themselves each".split()
)
_TIMES = frozenset(
    "second minute hour day night morning afternoon evening week weekend month year decade century "
    "season time moment date period january february march april may june july august september "
    "october november december monday tuesday wednesday thursday friday saturday sunday spring "
    "summer autumn winter age career end beginning start".split()
)


def noun_phrase(noun: Token) -> list[str]:
    """The words of a noun phrase as a skeleton keeps them.

    A possessive becomes "the"; adjectives go where an article or a plural stands without them.
    """
    word = noun.lower_
    if noun.pos_ == "PRON" or noun.tag_ in ("PRP", "WP", "EX"):
        return _pronoun(word)
    if is_name(noun):
        return _institution(noun)
    if noun.pos_ not in ("NOUN", "NUM") or (noun.dep_ == "attr" and noun.tag_ == "NNS"):
        raise Refused("broken grammar")
    if not word.replace("-", "").isalpha():
        raise Refused("number or sign in the skeleton")
    if gives_gender_away(word):
        raise Refused("gender cue in the skeleton")
    if _hyphenated(noun):
        raise Refused("number or sign in the skeleton")
    before: list[str] = []
    kept: list[str] = []
    adjectives: list[str] = []
    unnamed = False
    for child in noun.lefts:
        if child.dep_ == "poss" or child.tag_ == "PRP$":
            if word in INALIENABLE:
                raise Refused("a possessive that the skeleton needs")
            before = ["the"]
        elif child.dep_ in ("det", "predet") and child.lower_ in _ARTICLES:
            before = [*before, child.lower_] if child.lower_ == "the" else [child.lower_]
        elif child.dep_ == "det":
            raise Refused("question word in the skeleton")
        elif not (child.is_alpha and child.is_lower):
            unnamed = unnamed or child.dep_ == "compound"  # names and numbers go
        elif (child.dep_ == "nummod" and not before) or (
            child.dep_ == "compound" and child.tag_ == "NN" and not _hyphenated(child)
        ):
            kept.append(child.lower_)
        elif child.dep_ == "amod":
            adjectives.append(child.lower_)
    if noun.tag_ == "NNS" and before and before[-1] in _SINGULAR:
        before = []  # "another two goals", "a few goals": the number is gone, and so is the article
    if any(gives_gender_away(w) for w in kept):
        raise Refused("gender cue in the skeleton")
    if unnamed and not before and noun.tag_ == "NN":
        before = ["a"]  # "Hermitage castle"
    bare = not before and not kept and noun.tag_ == "NN"
    words = [*before, *(adjectives if bare else []), *kept, word]
    return [*words, *_of(noun)] if word in NEEDS_OF else words


def _institution(noun: Token) -> list[str]:
    """ "Vassar College" is a college; "Paris" is a name and nothing else."""
    word = noun.lower_
    if word not in INSTITUTIONS or noun.tag_ == "NNPS":
        raise Refused("name in the skeleton")
    determined = any(c.dep_ in ("det", "poss") for c in noun.lefts)
    return ["the" if determined else "a", word]


def is_time(noun: Token) -> bool:
    """Whether a noun names a time: such a phrase says when, not what."""
    return noun.lower_.rstrip("s") in _TIMES or noun.lower_ in _TIMES or noun.like_num


def is_name(noun: Token) -> bool:
    """Whether a noun is a proper name: by its tag, or by its capital."""
    if noun.pos_ == "PROPN" or noun.tag_ in ("NNP", "NNPS"):
        return True
    return noun.i > 0 and noun.pos_ == "NOUN" and not noun.is_lower and noun.is_alpha


def _hyphenated(noun: Token) -> bool:
    """Whether the tokenizer cut the word at a hyphen: call-up."""
    doc = noun.doc
    around = [doc[i].text for i in (noun.i - 1, noun.i + 1) if 0 <= i < len(doc)]
    return "-" in around or "–" in around or "/" in around


def _pronoun(word: str) -> list[str]:
    if word in GENDERED_PRONOUNS:
        raise Refused("gender cue in the skeleton")
    if word not in _PRONOUNS:
        raise Refused("pronoun in the skeleton")
    return [word]


def _of(noun: Token) -> list[str]:
    for child in noun.rights:
        if child.dep_ == "prep" and child.lower_ == "of":
            for inner in child.rights:
                if inner.dep_ == "pobj":
                    return ["of", *noun_phrase(inner)]
    if noun.lower_ in ("one", "some", "many", "most", "number", "lot", "half", "kind"):
        raise Refused("incomplete predicate")
    return []
