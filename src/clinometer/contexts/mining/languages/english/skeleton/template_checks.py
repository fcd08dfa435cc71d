"""The quality gate of English templates: what a skeleton must never contain."""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import pairwise
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.lexicon import gives_gender_away, listed
from clinometer.topics.articles import Articles

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

LONGEST = 14  # words of a template, slots included
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*\Z")
_SLOTS = frozenset(["The", "[X]", "[Y]"])
_PREPOSITIONS = frozenset(["at", "by", "for", "from", "in", "of", "on", "with"])
_ARTICLES = Articles()
_QUOTES = frozenset('"“”«»„')


def check_sentence(doc: Doc, token: Token) -> None:
    """Refuse a sentence that is not a plain statement before making a skeleton."""
    sentence = token.sent if doc.has_annotation("SENT_START") else doc[:]
    if sentence[-1].text == "?" or (len(doc) and doc[-1].text == "?"):
        raise Dropped("question")
    if sum(t.text in _QUOTES for t in doc[: token.i]) % 2:
        raise Dropped("inside a quotation")


def finish(words: list[str], *, cues: Set[str], rule: str = "gender cue in the skeleton") -> str:
    """The template as text; raises Dropped with the rule that it breaks, `rule` for a cue."""
    words = _articles([w for w in words if w])
    for i, word in enumerate(words):
        word = word.removesuffix(",")
        if word in _SLOTS or (i == 0 and word.lower() in listed("subordinators")):
            continue
        if not word.islower() or not word.isascii():
            raise Dropped("name in the skeleton")
        if not _WORD.fullmatch(word):
            raise Dropped("number or sign in the skeleton")
        if gives_gender_away(word):
            raise Dropped("gender cue in the skeleton")
        if word in cues:
            raise Dropped(rule)
    if len(words) > LONGEST:
        raise Dropped("too long")
    for one, two in pairwise(words):
        if one == two or (one in _PREPOSITIONS and two in _PREPOSITIONS):
            raise Dropped("broken grammar")
        if one == "to" and two in listed("coordinators") | listed("subordinators") | {"[Y]"}:
            raise Dropped("broken grammar")
    return " ".join(words)


def _articles(words: list[str]) -> list[str]:
    """Choose a or an for the word that now follows."""
    fixed = list(words)
    for i, word in enumerate(words[:-1]):
        if word in ("a", "an") and words[i + 1].islower():
            fixed[i] = _ARTICLES.choose(words[i + 1])
    return fixed
