"""What every sentence and every template must be, whatever was recognised in it."""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import pairwise
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import drop_if
from clinometer.contexts.mining.languages.english.vocabulary import (
    gives_gender_away,
    listed,
)
from clinometer.topics.prompt import english_article

if TYPE_CHECKING:
    from spacy.tokens import Token

MOST_WORDS = 14
"""Words of a template, slots included."""

_BROKEN = "broken grammar"
_GENDER_CUE = "gender cue in the skeleton"
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*\Z")
_SLOTS = frozenset(["The", "[X]", "[Y]"])
_PREPOSITIONS = frozenset(["at", "by", "for", "from", "in", "of", "on", "with"])
_QUOTES = frozenset('"“”«»„')


def check_sentence(token: Token) -> None:
    """Refuse a sentence that is not a plain statement before making a skeleton."""
    doc = token.doc
    drop_if("?" in (token.sent[-1].text, doc[-1].text), "question")
    marks = sum(t.text in _QUOTES for t in doc[: token.i])
    drop_if(marks % 2, "inside a quotation")


def check_words(words: list[str]) -> None:
    """Refuse patterns that no template may contain, regardless of its parse."""
    drop_if("than" in words, "comparison")
    drop_if(any(_is_because_what(*pair) for pair in pairwise(words)), _BROKEN)
    lacks_preposition = any(_lacks_preposition(*pair) for pair in pairwise(words))
    drop_if(lacks_preposition, "incomplete predicate")


def _is_because_what(word: str, following: str) -> bool:
    """Return whether two words are "because what"."""
    return word == "because" and following in ("what", "how", "why")


def _lacks_preposition(word: str, following: str) -> bool:
    """Return whether a word lost its phrase: "was interested (in music) since"."""
    if word not in listed("needs_preposition"):
        return False
    joints = listed("coordinators") | listed("subordinators")
    return following in joints - {"that", "if", "whether"}


def finish(
    words: list[str],
    *,
    cues: Set[str],
    rule: str = _GENDER_CUE,
    longest: int | None = MOST_WORDS,
) -> str:
    """Return the template as text.

    It is dropped if it has more than `longest` words, a name or a number, or, by `rule`, a cue.
    """
    words = _with_articles([word for word in words if word])
    for i, word in enumerate(words):
        bare_word = word.removesuffix(",")
        is_opening = i == 0 and bare_word.lower() in listed("subordinators")
        if bare_word not in _SLOTS and not is_opening:
            _check_word(bare_word, cues, rule)
    drop_if(longest is not None and len(words) > longest, "too long")
    for word, following in pairwise(words):
        _check_pair(word, following)
    return " ".join(words)


def _with_articles(words: list[str]) -> list[str]:
    """Return the words with "a" or "an", for the word that now follows."""
    fitting = list(words)
    for i, (word, following) in enumerate(pairwise(words)):
        if word in ("a", "an") and following.islower():
            fitting[i] = english_article(following)
    return fitting


def _check_word(word: str, cues: Set[str], rule: str) -> None:
    """Refuse "Paris", "17th" and "waitress", and by `rule` a word of the topic."""
    is_plain = word.islower() and word.isascii()
    drop_if(not is_plain, "name in the skeleton")
    drop_if(not _WORD.fullmatch(word), "number or sign in the skeleton")
    drop_if(gives_gender_away(word), _GENDER_CUE)
    drop_if(word in cues, rule)


def _check_pair(word: str, following: str) -> None:
    """Refuse "the the", "in of" and "wanted to because"."""
    drop_if(word == following, _BROKEN)
    drop_if(word in _PREPOSITIONS and following in _PREPOSITIONS, _BROKEN)
    if word == "to":
        joints = listed("coordinators") | listed("subordinators")
        drop_if(following in joints or following == "[Y]", _BROKEN)
