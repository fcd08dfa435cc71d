"""Positions of blanks: write them into a text, and read them from a model's answer.

A position is an offset at which a word begins or ends. A model's answer counts only if it adds
nothing but blanks; its positions are applied to the original text, which stays unchanged character
for character.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from clinometer.reliability.blank_notation import BLANK, Blanks
from clinometer.reliability.statement import Span

#: Reasons to reject an answer.
EMPTY, NO_BLANK, CHANGED = "empty", "no_blank", "text_changed"
IN_WORD, IN_TARGET = "inside_a_word", "inside_a_target"

_QUOTES = {'"': '"', "“": "”", "'": "'", "`": "`"}


class BlanksRefused(ValueError):
    """An answer that is not the statement with blanks; `reason` is one of the names above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def with_blanks(text: str, places: Iterable[int]) -> str:
    """The text with a blank at each position, separated by a space.

    >>> with_blanks("The nurse is tired.", [4, 18])
    'The ___ nurse is tired ___.'
    """
    done, last = "", 0
    for place in sorted(set(places)):
        done += text[last:place]
        opens = place == 0 or text[place - 1].isspace()
        done += f"{BLANK} " if opens else f" {BLANK}"
        last = place
    return done + text[last:]


def accept(answer: str, text: str, targets: Iterable[Span] = ()) -> str:
    """The text with the blanks of a model's answer. Raises NotAccepted if the answer changes
    anything else, has a blank inside a word or a target term, or has no blank.

    Differences in white space, and quotes around the whole answer, are ignored.

    >>> accept(' "The ____ nurse is tired ____ ." ', "The nurse is tired.")
    'The ___ nurse is tired ___.'
    """
    answer = _unquoted(answer.strip(), text)
    if not answer:
        raise BlanksRefused(EMPTY)
    blanks = Blanks.parse(answer)
    if not len(blanks):
        raise BlanksRefused(NO_BLANK)
    if _solid("".join(blanks.parts)) != _solid(text):
        raise BlanksRefused(CHANGED)
    ends = [i + 1 for i, c in enumerate(text) if not c.isspace()]
    before = accumulate(len(_solid(part)) for part in blanks.parts[:-1])
    places = {_word_edge(text, 0 if n == 0 else ends[n - 1]) for n in before}
    if any(a < place < b for place in places for a, b in targets):
        raise BlanksRefused(IN_TARGET)
    return with_blanks(text, places)


def _word_edge(text: str, place: int) -> int:
    """The position itself, at the end of a word; or the start of the next word if a determiner or
    the like has just ended, because the blank then belongs to what follows. Both are one gap."""
    if place == len(text):
        return _before_signs(text, place)
    if text[place].isspace():
        after = place + len(text[place:]) - len(text[place:].lstrip())
        return after if after < len(text) else place
    if place and text[place - 1].isalnum() and text[place].isalnum():
        raise BlanksRefused(IN_WORD)
    if place and text[place - 1].isalnum():
        rest = text[place:].split(maxsplit=1)[0]
        if any(c.isalnum() for c in rest):  # don ___ 't, well ___ -known
            raise BlanksRefused(IN_WORD)
    return place


def _before_signs(text: str, place: int) -> int:
    """Move a blank after the last full stop to before it: context ends with the sentence."""
    while place and not text[place - 1].isalnum():
        place -= 1
    return place or len(text)


def _solid(text: str) -> str:
    return "".join(text.split())


def _unquoted(answer: str, text: str) -> str:
    """The answer without enclosing quotes, unless the text itself has them."""
    opens = answer[:1]
    if opens in _QUOTES and answer.endswith(_QUOTES[opens]) and not text.startswith(opens):
        return answer[1:-1].strip()
    return answer
