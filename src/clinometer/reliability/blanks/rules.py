"""Blanks from the parse: before a noun that could be narrowed down, and after what is said.

The rules, chosen by what people verified in the COBIAS dataset (figures in the docs):

1. after the last word of every sentence: when, where, why, with whom;
2. before a noun that directly follows its determiner or owner ("the ___ office", "his ___ son"),
   unless the determiner leaves nothing to narrow down ("no", "all", "these", …) or the noun phrase
   is an indefinite predicate ("is a ___ nurse");
3. before a bare noun that is the object of a preposition or of a verb ("buy ___ drugs");
4. after a bare plural that is a subject ("Women ___ are"): which ones?

A blank is never inside a target term. People rarely saw room for context before an adjective or a
comma (one in five), so the rules add no blanks there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clinometer.reliability.blanks.positions import with_blanks
from clinometer.reliability.parsing import DEFAULT_PARSER, parse
from clinometer.reliability.statement import Span, Statement

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

#: Determiners after which there is nothing to narrow down.
_CLOSED = frozenset({"no", "all", "what", "whatever", "which", "these", "every", "each"})
_NOUNS = frozenset({"NOUN", "PROPN"})
#: Nouns that are one with the preposition before them: "in front", "at work", "out of court".
_FIXED = frozenset(
    """front work home school bed time order fact case addition charge love need court jail prison
    church college town general public private particular turn return place trouble danger spite
    course least last first once all tears regard regards terms heart war peace fire foot person
    detail hand mind touch sight luck help consumption instance example""".split()  # noqa: SIM905
)
#: Nouns that are one with the words around them: "a lot of", "on his way", "take pride in".
_IDIOMS = frozenset(
    """lot lots way end rest bunch couple kind sort type number majority hands pride part care
    advantage fun sense use attention note time sake fact middle verge point chance best""".split()  # noqa: SIM905
)
#: Prepositions before a name that can be narrowed down: "in northern Spain".
_BEFORE_PLACES = frozenset({"in", "from", "of", "across", "throughout"})


def rule_points(statements: Sequence[Statement], *, parser: str = DEFAULT_PARSER) -> Iterator[str]:
    """Every statement with blanks from the rules; a statement without words gets none."""
    docs = parse([s.text for s in statements], parser=parser)
    for statement, doc in zip(statements, docs, strict=True):
        yield with_blanks(statement.text, places(doc, statement.target_spans()))


def places(doc: Doc, targets: Iterable[Span] = ()) -> list[int]:
    """Offsets at which the rules put a blank."""
    spans = tuple(targets)
    found = {*_after_sentences(doc), *(t.idx for t in doc if _is_open(t))}
    found |= {t.idx + len(t) for t in doc if _is_bare_subject(t)}
    return sorted(p for p in found if not any(a < p < b for a, b in spans))


def _after_sentences(doc: Doc) -> Iterator[int]:
    for sentence in doc.sents:
        words = [t for t in sentence if any(c.isalnum() for c in t.text)]
        if words:
            yield words[-1].idx + len(words[-1])


def _is_open(noun: Token) -> bool:
    """Whether a blank goes before this noun."""
    if noun.pos_ not in _NOUNS or noun.i == 0 or not noun.doc[noun.i - 1].whitespace_:
        return False
    if noun.lower_ in _IDIOMS:
        return False
    before = noun.doc[noun.i - 1]
    if before.dep_ in ("det", "poss") and before.pos_ in ("DET", "PRON"):
        word = before.lower_
        indefinite = word in ("a", "an") and noun.dep_ == "attr"
        return word not in _CLOSED and not indefinite
    named = noun.pos_ == "PROPN"  # "fool ___ Jamal": a name needs nothing before it
    if before.pos_ == "ADP":
        placed = not named or before.lower_ in _BEFORE_PLACES
        return placed and noun.dep_ in ("pobj", "compound") and noun.lower_ not in _FIXED
    return before.pos_ == "VERB" and not named and noun.dep_ in ("dobj", "compound", "conj")


def _is_bare_subject(noun: Token) -> bool:
    """Whether a blank goes after this noun: a plural without any other word, before its verb."""
    if noun.tag_ not in ("NNS", "NNPS") or noun.dep_ not in ("nsubj", "nsubjpass"):
        return False
    if noun.n_lefts or noun.n_rights or not noun.whitespace_ or noun.i + 1 == len(noun.doc):
        return False
    return noun.doc[noun.i + 1].pos_ in ("VERB", "AUX", "ADV")
