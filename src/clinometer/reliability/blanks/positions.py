"""Places for blanks in a text: written into it, and read from a model's answer.

A place is an offset in the text at which a word begins or ends. A model's answer counts only when
nothing but blanks was added; its places are carried over to the text itself, so that what is kept
is the text, character for character.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from clinometer.reliability.blank_notation import BLANK, Blanks
from clinometer.reliability.statement import Span

#: What is wrong with an answer.
EMPTY, NO_BLANK, CHANGED = "empty", "no_blank", "text_changed"
IN_WORD, IN_TARGET = "inside_a_word", "inside_a_target"

_QUOTES = {'"': '"', "“": "”", "'": "'", "`": "`"}


class BlanksRefused(ValueError):
    """An answer that is no statement with blanks; `reason` is one of the names above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def with_blanks(text: str, places: Iterable[int]) -> str:
    """The text with a blank at each place, set off by a space.

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
    """The text with the blanks of a model's answer; raises NotAccepted when the answer changed
    anything else, put a blank inside a word or a target term, or put none.

    White space is the model's own business, and so are quotes around the whole.

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
    """The place itself, at the end of a word; or the beginning of the next word, where a determiner
    or the like has just ended and the blank belongs to what follows: both are one gap."""
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
    """A blank after the last full stop means one before it: context ends with the sentence."""
    while place and not text[place - 1].isalnum():
        place -= 1
    return place or len(text)


def _solid(text: str) -> str:
    return "".join(text.split())


def _unquoted(answer: str, text: str) -> str:
    """Without quotes around the whole that the text itself does not have."""
    opens = answer[:1]
    if opens in _QUOTES and answer.endswith(_QUOTES[opens]) and not text.startswith(opens):
        return answer[1:-1].strip()
    return answer
