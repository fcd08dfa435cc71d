"""A version is accepted if the statement's words survive in order and additions are at blanks."""

from __future__ import annotations

import re

from clinometer.reliability.blank_notation import Blanks
from clinometer.reliability.blanks.contribution import fills_of

#: Reasons to reject a version.
CHANGED, BAD_FILL, LONG_FILL, ORIGINAL, REPEATED = (
    "text_changed",
    "fill_is_no_phrase",
    "fill_too_long",
    "original",
    "repeated",
)

#: Most words in one blank.
LONGEST_FILL = 15

#: Letters, digits and the punctuation of phrases; the end of a sentence, a bracket or another blank
#: means that the model wrote more than a fill.
_PHRASE = re.compile(r",? ?[\w$€£#&][\w\s$€£%&'’,/#-]*[\w%'’,]|[\w$€£#&]")


class VariantRefused(ValueError):
    """A rejected version; `reason` is one of the names above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def accept_version(blanks: Blanks, version: str) -> tuple[str, tuple[str, ...]]:
    """The statement with the version's fills, and the fills; raises NotAccepted.

    The text returned is built from the statement and the fills, so the statement's own text never
    changes.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> accept_version(b, "the young nurse is tired , again.")
    ('The young nurse is tired, again.', ('young', ', again'))
    """
    fills = fills_of(blanks, version)
    if fills is None:
        raise VariantRefused(CHANGED)
    made = join(blanks, fills)
    if _spaced(made) != _spaced(version):  # "Therapist" is not "The ___" filled
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
    """Normalised white space: one space between words, none before punctuation."""
    return re.sub(r"\s+([.,;:!?…])", r"\1", " ".join(text.split())).casefold()
