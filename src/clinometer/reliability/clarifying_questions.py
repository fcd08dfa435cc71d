"""The question that each blank raises: Which? Where? When?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clinometer.reliability.parsing import neighbouring_words, parse
from clinometer.reliability.statement import Blanks

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

#: Frequent words of other languages that are not English words, and frequent English ones.
_FOREIGN = frozenset(
    """der das und ist nicht sind ein eine einen im zu mit auf für von den dem sich auch wir
    les des est une que qui dans pour avec sont nous vous ils elles très au aux
    el los las es un una y que por con para son muy ella ellos del al
    il gli è sono che non di della nel uno e lo
    het een van niet zijn dat os uma não com são mais""".split()  # noqa: SIM905
)
_ENGLISH = frozenset(
    """the a an of to and in is are was were be have has had that this it he she they we you i his
    her their my your not with for on at by as from but or who all can will would do does did
    when there what which so if because always never""".split()  # noqa: SIM905
)
_OCCASION = "On what occasion?"
_NOUNS = ("NOUN", "PROPN")


def questions(blanks: Blanks) -> list[str]:
    """A question for every blank, from the parse of the statement without blanks.

    Before a noun, which one is meant ("At which office?"); after a clause, on what occasion. A
    repeated question is made more specific if possible.
    """
    doc = next(iter(parse([blanks.plain])))
    asked: list[str] = []
    for place in blanks.positions:
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


def is_foreign(text: str) -> bool:
    """Whether a sentence has frequent words of another language and none of English.

    >>> is_foreign("Die Frauen im Büro sind arrogant."), is_foreign("Water boils.")
    (True, False)
    """
    words = {"".join(c for c in w if c.isalpha()) for w in text.casefold().split()}
    return bool(words & _FOREIGN) and not words & _ENGLISH
