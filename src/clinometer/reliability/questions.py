"""The question that each blank raises: Which? Where? When?

Step 4 of Figure 2 of the COBIAS paper: instead of refusing, a system can ask for missing context.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clinometer.reliability.parsing import neighbouring_words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_OCCASION = "On what occasion?"
_NOUNS = ("NOUN", "PROPN")


def questions(doc: Doc, places: Iterable[int]) -> list[str]:
    """A question for a blank at each of these offsets of a parsed sentence.

    Before a noun, which one is meant ("At which office?"); after a clause, on what occasion. A
    repeated question is made more specific if possible.
    """
    asked: list[str] = []
    for place in places:
        asked.append(_question(doc, *neighbouring_words(doc, place), asked))
    return asked


def _question(doc: Doc, before: Token | None, after: Token | None, asked: list[str]) -> str:
    noun = _noun_at(after)
    if noun is not None:
        return _which(doc, noun)
    if before is not None and before.pos_ == "ADJ":
        said = before.text.capitalize()
        options = (f"{said} on what occasion?", f"{said} in what way?")
    elif before is not None and before.pos_ in _NOUNS and after is not None and not after.is_punct:
        bare = "subj" in before.dep_ and not before.n_lefts
        options = (
            _which(doc, before) if bare else f"{_which(doc, before)[:-1]}, exactly?",
            _OCCASION,
        )
    else:
        options = (_OCCASION, "Where, and why?")
    return next((q for q in options if q not in asked), options[-1])


def _noun_at(token: Token | None) -> Token | None:
    """The noun that a blank before this token would narrow down, if any."""
    if token is None:
        return None
    if token.pos_ in _NOUNS:
        while token.dep_ == "compound" and token.head.i > token.i:
            token = token.head
        return token
    if token.dep_ == "amod" and token.head.pos_ in _NOUNS and token.head.i > token.i:
        return token.head
    return None


def _which(doc: Doc, noun: Token) -> str:
    phrase = _phrase(doc, noun)
    if noun.pos_ == "PROPN":
        return f"Which {phrase} is meant?"
    said = [t.lower_ for t in noun.lefts if t.dep_ in ("det", "poss", "nummod")]
    bare_object = not said and "subj" not in noun.dep_
    indefinite = bare_object or bool({"a", "an", "some", "any"} & set(said))
    asked = "what kind of" if indefinite else "which"
    if noun.dep_ == "pobj" and noun.head.pos_ == "ADP" and noun.head.lower_ != "of":
        return f"{noun.head.text.capitalize()} {asked} {phrase}?"
    return f"{asked.capitalize()} {phrase}?"


def _phrase(doc: Doc, noun: Token) -> str:
    """The noun with its modifiers, without its determiner or possessor."""
    first = min(
        [t.i for t in noun.lefts if t.dep_ in ("compound", "amod", "nummod") and t.i < noun.i],
        default=noun.i,
    )
    text = str(doc[first : noun.i + 1].text)
    begins = doc[first].is_sent_start and doc[first].pos_ != "PROPN" and doc[first].is_title
    return text[:1].lower() + text[1:] if begins else text
