"""A version is kept when the statement's words survive in order and all else stands at a blank."""

from __future__ import annotations

import re

from clinometer.reliability.blank_notation import Blanks
from clinometer.reliability.blanks.contribution import fills_of

#: What is wrong with a version.
CHANGED, BAD_FILL, LONG_FILL, ORIGINAL, REPEATED = (
    "text_changed",
    "fill_is_no_phrase",
    "fill_too_long",
    "original",
    "repeated",
)

#: Words that one blank may hold.
LONGEST_FILL = 15

#: Letters, digits and the signs inside phrases; an end of a sentence, a bracket or another blank
#: means that the model went on talking.
_PHRASE = re.compile(r",? ?[\w$€£#&][\w\s$€£%&'’,/#-]*[\w%'’,]|[\w$€£#&]")


class VariantRefused(ValueError):
    """A version that is not kept; `reason` is one of the names above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def accept_version(blanks: Blanks, version: str) -> tuple[str, tuple[str, ...]]:
    """The version as the statement with its fills, and the fills; raises NotAccepted.

    What is given back is made from the statement and the fills, so that not a letter of the
    statement can differ.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> accept_version(b, "the young nurse is tired , again.")
    ('The young nurse is tired, again.', ('young', ', again'))
    """
    fills = fills_of(blanks, version)
    if fills is None:
        raise VariantRefused(CHANGED)
    made = join(blanks, fills)
    if _spaced(made) != _spaced(version):  # "Therapist" is no filled "The ___"
        raise VariantRefused(CHANGED)
    for fill in filter(None, fills):
        if not _PHRASE.fullmatch(fill) or "_" in fill:
            raise VariantRefused(BAD_FILL)
        if len(fill.split()) > LONGEST_FILL:
            raise VariantRefused(LONG_FILL)
    if not any(fills):
        raise VariantRefused(ORIGINAL)
    return made, fills


def join(blanks: Blanks, fills: tuple[str, ...] | list[str]) -> str:
    """The statement with its fills; no space before a comma."""
    return re.sub(r"\s+,", ",", blanks.fill(fills))


def _spaced(text: str) -> str:
    """Text in which only words and their order count: one space between them, none before signs."""
    return re.sub(r"\s+([.,;:!?…])", r"\1", " ".join(text.split())).casefold()
