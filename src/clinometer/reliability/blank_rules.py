"""The rules by which blanks are put: before a noun that could be narrowed down, and after what is
said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.english.parser import open_parser
from clinometer.reliability.statement import Span

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

NOUNS = ("NOUN", "PROPN")

_CLOSED_DETERMINERS = frozenset(
    {"no", "all", "what", "whatever", "which", "these", "every", "each"}
)
"""Determiners after which there is nothing to narrow down."""

_FIXED = frozenset(
    """front work home school bed time order fact case addition charge love need court jail prison
    church college town general public private particular turn return place trouble danger spite
    course least last first once all tears regard regards terms heart war peace fire foot person
    detail hand mind touch sight luck help consumption instance example""".split()
)
"""Nouns that are one with the preposition before them: "in front", "at work", "out of court"."""

_IDIOMS = frozenset(
    """lot lots way end rest bunch couple kind sort type number majority hands pride part care
    advantage fun sense use attention note time sake fact middle verge point chance best""".split()
)
"""Nouns that are one with the words around them: "a lot of", "on his way", "take pride in"."""

_BEFORE_PLACES = frozenset({"in", "from", "of", "across", "throughout"})
"""Prepositions before a name that can be narrowed down: "in northern Spain"."""


def places(doc: Doc, targets: Iterable[Span] = ()) -> list[int]:
    """Return the offsets at which the rules put a blank, none of them inside a target term."""
    offsets = set()
    for sentence in doc.sents:
        last_word = None
        for token in sentence:
            if _is_open(token):
                offsets.add(token.idx)
            if _is_bare_subject(token):
                offsets.add(token.idx + len(token))
            if any(map(str.isalnum, token.text)):
                last_word = token
        if last_word is not None:
            offsets.add(last_word.idx + len(last_word))
    for start, stop in targets:
        offsets -= set(range(start + 1, stop))
    return sorted(offsets)


def _is_open(noun: Token) -> bool:
    """Return whether a blank goes before this noun."""
    if noun.pos_ not in NOUNS or noun.i == 0 or noun.lower_ in _IDIOMS:
        return False
    before = noun.doc[noun.i - 1]
    if not before.whitespace_:
        return False
    if before.dep_ in ("det", "poss") and before.pos_ in ("DET", "PRON"):
        is_indefinite = before.lower_ in ("a", "an") and noun.dep_ == "attr"
        return before.lower_ not in _CLOSED_DETERMINERS and not is_indefinite
    is_name = noun.pos_ == "PROPN"  # "fool ___ Jamal": a name needs nothing before it
    if before.pos_ == "ADP":
        if is_name and before.lower_ not in _BEFORE_PLACES:
            return False
        return noun.dep_ in ("pobj", "compound") and noun.lower_ not in _FIXED
    if before.pos_ == "VERB":
        return not is_name and noun.dep_ in ("dobj", "compound", "conj")
    return False


def _is_bare_subject(noun: Token) -> bool:
    """Return whether a blank goes after this noun: a plural without any other word, before its
    verb."""
    if noun.tag_ not in ("NNS", "NNPS") or noun.dep_ not in ("nsubj", "nsubjpass"):
        return False
    if noun.n_lefts or noun.n_rights or not noun.whitespace_:
        return False
    following = noun.doc[noun.i + 1 : noun.i + 2]
    return any(token.pos_ in ("VERB", "AUX", "ADV") for token in following)


def parse(texts: Iterable[str]) -> Iterator[Doc]:
    """Yield parsed texts in order, without named entities and lemmas."""
    nlp = open_parser().nlp
    unused = [name for name in nlp.pipe_names if name in ("ner", "lemmatizer")]
    return nlp.pipe(texts, batch_size=64, disable=unused)
