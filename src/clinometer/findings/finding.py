"""A finding: one statement about results, as data with its sentence.

The terminal, pages, `gate`, `compare`, JSON and Python read the same objects. Each kind is made in
one place, where its sentence stands beside its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from clinometer.display.text import Plain
from clinometer.statistics.estimate import Estimate

Sure = Literal["clear", "unclear", "cannot tell", "exact", "described"]

UNDECIDED = "undecided"
"""The entry of a tally for groups without a clear side."""


@dataclass(frozen=True)
class Finding(Plain):
    """One statement."""

    kind: str
    """What it is about."""

    text: str
    """The sentence."""

    sure: Sure = "described"
    """Clear, unclear, cannot tell, exact (of a whole set) or described (no inference)."""

    who: tuple[str, ...] = ()
    """The models that it is about."""

    tally: Mapping[str, int] = field(default_factory=dict)
    """How many groups (or pairs, models) are on which side; with the undecided, all of them."""

    groups: Mapping[str, Estimate] = field(default_factory=dict)
    """The groups that it names, each with its number."""

    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    """All other numbers, by name."""

    words: Mapping[str, str] = field(default_factory=dict)
    """What the numbers are of: the measure, the unit, the answer."""

    @property
    def clear(self) -> int:
        """Return how many of what it counts are on a clear side."""
        return sum(n for side, n in self.tally.items() if side != UNDECIDED)

    @property
    def counted(self) -> int:
        """Return how many there are in all."""
        return sum(self.tally.values())

    def __str__(self) -> str:
        return self.text
