"""Is a text a version of a statement? Its words survive, and every addition is at a blank."""

from __future__ import annotations

import re

from clinometer.reliability.statement import Blanks, Refused

CHANGED = "text_changed"
BAD_FILL = "fill_is_no_phrase"
LONG_FILL = "fill_too_long"
ORIGINAL = "original"
REPEATED = "repeated"
"""These are the reasons to reject a version."""

MAX_FILL_WORDS = 15
"""Most words in one blank."""

_PHRASE = re.compile(r",? ?[\w$€£#&][\w\s$€£%&'’,/#-]*[\w%'’,]|[\w$€£#&]")
"""Letters, digits and the punctuation of phrases; the end of a sentence, a bracket or another blank
means that the model wrote more than a fill."""


def accept_version(blanks: Blanks, version: str, *, as_in_paper: bool = False) -> str:
    """Return the statement with the version's fills; raise Refused if it is no valid version.

    `as_in_paper` keeps fills of any kind and length, and the statement itself. The text returned is
    built from the statement and the fills, so the statement's own text never changes.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> accept_version(b, "the young nurse is tired , again.")
    'The young nurse is tired, again.'
    """
    fills = blanks.fills_of(version)
    if fills is None:
        raise Refused(CHANGED)
    text = re.sub(r"\s+,", ",", blanks.fill(fills))
    if _spaced(text) != _spaced(version):  # "Therapist" is not "The ___" filled
        raise Refused(CHANGED)
    if as_in_paper:
        return text
    for fill in filter(None, fills):
        if not _PHRASE.fullmatch(fill) or "_" in fill:
            raise Refused(BAD_FILL)
        if len(fill.split()) > MAX_FILL_WORDS:
            raise Refused(LONG_FILL)
    if not any(fills):
        raise Refused(ORIGINAL)
    return text


def _spaced(text: str) -> str:
    """Return a text with one space between words and none before punctuation, ignoring case."""
    return re.sub(r"\s+([.,;:!?…])", r"\1", " ".join(text.split())).casefold()
