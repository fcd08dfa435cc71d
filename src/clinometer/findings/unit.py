"""The unit of a difference between answers, and the words of an amount of it."""

from __future__ import annotations

from dataclasses import dataclass

from clinometer.findings.phrases import ends
from clinometer.statistics.estimate import Estimate


@dataclass(frozen=True)
class Unit:
    """What differences of answers are measured in.

    >>> POINTS.amount(0.349), PERCENTAGE_POINTS.amount(3.52)
    ('0.35 points', '3.5 percentage points')
    """

    name: str
    """Its name in a sentence, and in JSON."""

    digits: int
    """The digits after the point that are shown."""

    factor: float
    """What a difference of the measured numbers (points, or shares) is multiplied by."""

    def number(self, value: float) -> str:
        """Return a number with the digits of the unit."""
        return f"{value:.{self.digits}f}"

    def amount(self, value: float) -> str:
        """Return a number with the name of the unit."""
        return f"{self.number(value)} {self.name}"

    def more_or_less(self, difference: Estimate, often: str = "") -> str:
        """Return how much more or less it is, with the interval of that size.

        >>> POINTS.more_or_less(Estimate(-0.35, -0.6, -0.09, 0.95))
        '0.35 points less (0.09 to 0.60)'
        """
        way = "more" if difference.value > 0 else "less"
        interval = ends(difference, self.digits, size=True)
        return f"{self.amount(abs(difference.value))} {way}{often}{interval}"


POINTS = Unit("points", digits=2, factor=1.0)
"""Points of a scale."""

PERCENTAGE_POINTS = Unit("percentage points", digits=1, factor=100.0)
"""Percentage points of a share."""

PER_CENT = Unit("%", digits=1, factor=100.0)
"""A share itself."""
