"""What a token of a parse is: a verb, a finite one, a name, a time, an age, part of a compound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.english.vocabulary import listed

if TYPE_CHECKING:
    from spacy.tokens import Token

SUBJECTS = ("nsubj", "nsubjpass")
"""Dependency labels of subjects."""

NOUNS = ("NOUN", "PROPN", "NUM")
"""Parts of speech of a noun, names and numbers included."""

_FINITE_TAGS = ("VBD", "VBZ", "VBP")
_ONES = tuple(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen".split()
)
_TENS = tuple("zero ten twenty thirty forty fifty sixty seventy eighty ninety".split())


def is_verb(token: Token) -> bool:
    """Return whether a token is a verb or an auxiliary."""
    return token.pos_ in ("VERB", "AUX")


def is_finite(verb: Token) -> bool:
    """Return whether a verb is finite, by itself or by an auxiliary before it."""
    if verb.tag_ in _FINITE_TAGS:
        return True
    auxiliaries = [c for c in verb.lefts if c.dep_ in ("aux", "auxpass")]
    return any(c.tag_ in (*_FINITE_TAGS, "MD") for c in auxiliaries)


def is_time(noun: Token) -> bool:
    """Return whether a noun names a time: such a phrase says when, not what."""
    if noun.like_num:
        return True
    singular = noun.lower_.rstrip("s")
    return noun.lower_ in listed("times") or singular in listed("times")


def is_name(noun: Token) -> bool:
    """Return whether a noun is a proper name: by its tag, or by its capital."""
    if noun.pos_ == "PROPN" or noun.tag_ in ("NNP", "NNPS"):
        return True
    return noun.i > 0 and noun.pos_ == "NOUN" and not noun.is_lower and noun.is_alpha


def is_hyphenated(token: Token) -> bool:
    """Return whether the tokenizer split the word at a hyphen: call-up."""
    doc = token.doc
    neighbours = [i for i in (token.i - 1, token.i + 1) if 0 <= i < len(doc)]
    return any(doc[i].text in ("-", "–", "/") for i in neighbours)


def age(token: Token) -> list[str]:
    """Return an age in words, the same of "17", "17 years old" and "seventeen".

    Nothing for any other word.
    """
    if token.lower_ == "old":
        return _age_of_years(token)
    if token.text.isdigit() and 2 <= int(token.text) < 100:
        return [_number_in_words(int(token.text))]
    word = token.lower_
    is_number = word in _ONES[2:] or word in _TENS[2:]
    return [word] if is_number and not token.n_rights else []


def _age_of_years(old: Token) -> list[str]:
    """Return the age of "17 years old", from its last word."""
    numbers: list[Token] = []
    for years in old.lefts:
        if years.dep_ == "npadvmod" and years.lower_.startswith("year"):
            numbers += [n for n in years.lefts if n.dep_ == "nummod" and not n.n_lefts]
    return age(numbers[-1]) if numbers else []


def _number_in_words(number: int) -> str:
    """Return a number below 100 in words.

    >>> _number_in_words(17), _number_in_words(40), _number_in_words(42)
    ('seventeen', 'forty', 'forty-two')
    """
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    if ones == 0:
        return _TENS[tens]
    return f"{_TENS[tens]}-{_ONES[ones]}"
