"""What can be left out of a clause: dates, connecting words, short phrases with a preposition."""

from __future__ import annotations

import re

from clinometer.contexts.mining.languages.chinese.vocabulary import (
    PRONOUNS,
    listed,
    longest_first,
)

_LONGEST_PHRASE = 14
"""Characters of a phrase with a preposition."""

_YEAR = r"(?:\d+年代|(?:公元前?)?\d{3,4}年|\d+世纪|[同次翌当]年|\d{1,2}月)"
_DATE = re.compile(
    rf"(?<![至到从近过约了])(?:自|在|于)?{_YEAR}(?:\d{{1,2}}月)?(?:\d{{1,2}}日)?(?:初期?|末期?|底|中期?|[春夏秋冬][天季]?|间|起|前后|左右)?"
)


def is_adverbial(clause: str) -> bool:
    """Return whether a clause is only a time or a connecting word: 1883年6月12日, 后来."""
    return not _DATE.sub("", clause, count=1) or clause in listed("before_subject")


def is_prepositional(clause: str) -> bool:
    """Return whether a clause is a short phrase with a preposition, of no person: 在演说中."""
    if len(clause) > _LONGEST_PHRASE or any(pronoun in clause for pronoun in PRONOUNS):
        return False
    return clause[:1] in "在于对随为以据除自至"


def is_start(text: str) -> bool:
    """Return whether nothing but adverbials and conjunctions stands in a text: 后来，虽然."""
    pieces = re.split("[，,]", text)
    return all(
        is_adverbial(piece) or is_prepositional(piece) or piece in listed("joining")
        for piece in pieces
    )


def without_adverbial(clause: str) -> str:
    """Return a clause without dates anywhere, and without what stands before a pronoun."""
    clause = _DATE.sub("", clause)
    for word in longest_first("before_subject"):
        rest = clause.removeprefix(word)
        if rest != clause and (len(word) > 1 or rest.startswith(PRONOUNS)):
            return rest
    return clause
