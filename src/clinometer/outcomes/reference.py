"""What the answers of a group are held against, in the words of a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Nouns:
    """What a sentence calls one group, several, a context and a unit of inference."""

    one: str = "group"
    many: str = "groups"
    context: str = "context"
    unit: str = "context"


@dataclass(frozen=True)
class Reference:
    """A kind of reference, and what sentences say of it.

    >>> MEAN.name(Nouns(many="nurses", context="question"))
    'what all nurses get in the same question'
    """

    is_mean: bool
    """Whether it is the mean of the groups, so that a departure is a difference between them."""

    naming: str
    """Its name in a sentence, with {many} and {context}."""

    alike: str
    """How a model answers that never departs from it."""

    verb: str
    """What groups do that depart from it together."""

    zero: str
    """What a risk of 0 means at the end of an axis, with {one}."""

    def name(self, nouns: Nouns) -> str:
        """Return what risks measure from."""
        return self.naming.format(many=nouns.many, context=nouns.context)


MEAN = Reference(
    is_mean=True,
    naming="what all {many} get in the same {context}",
    alike="alike for every group",
    verb="differ",
    zero="0: every {one} gets the same",
)
"""The mean of the groups in the same context."""

EVEN = Reference(
    is_mean=False,
    naming="an even split",
    alike="as the reference",
    verb="lean",
    zero="0: an even split",
)
"""The same share for every category."""

GIVEN = Reference(
    is_mean=False,
    naming="the given reference",
    alike="as the reference",
    verb="lean",
    zero="0: as the reference",
)
"""Shares that the topic names."""


def reference_of(reference: Any) -> Reference:
    """Return the kind of the reference that `Preferences` hold: None, a name, or shares."""
    if reference is None:
        return EVEN
    return MEAN if isinstance(reference, str) else GIVEN
