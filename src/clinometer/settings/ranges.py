"""Ranges of numbers: which numbers a setting accepts, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Any

from clinometer.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class Range:
    """Finite numbers between two bounds. NaN and infinity are never in a range.

    >>> SEED.check("seed", 7)
    >>> -1 in SEED, 0 in REPLICATES, 5 in REPLICATES, 1.0 in LEVEL
    (False, True, False, False)
    >>> LEVEL.check("level", 95)
    Traceback (most recent call last):
    clinometer.errors.SettingsError: level: expected a number above 0 and below 1, such as 0.95, \
found 95
    """

    least: float = -inf
    """The smallest number of the range."""

    most: float = inf
    """The largest number of the range."""

    above: float = -inf
    """An end below the range that is not in it."""

    below: float = inf
    """An end above the range that is not in it."""

    whole: bool = False
    """Whether only integers are accepted."""

    also: tuple[float, ...] = ()
    """Single numbers outside the bounds that are accepted too."""

    such_as: str = ""
    """An example for the error."""

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        # Comparing as float would overflow for a large whole number.
        number: Any = value
        if number in self.also:
            return True
        inside = self.least <= number <= self.most and self.above < number < self.below
        return bool(inside and (not self.whole or number == int(number)))

    @property
    def expected(self) -> str:
        """Return the range in words."""
        ends = []
        if self.least != -inf:
            ends.append(f"of at least {self.least:.16g}")
        if self.above != -inf:
            ends.append(f"above {self.above:.16g}")
        if self.most != inf:
            ends.append(f"at most {self.most:.16g}")
        if self.below != inf:
            ends.append(f"below {self.below:.16g}")
        alternatives = "".join(f"{number:g}, or " for number in self.also)
        kind = "a whole number" if self.whole else "a number"
        example = f", such as {self.such_as}" if self.such_as else ""
        return f"{alternatives}{kind} {' and '.join(ends)}{example}"

    def check(self, name: str, value: object) -> None:
        """Refuse a value outside the range; `name` is the setting's name for the user."""
        if value not in self:
            raise SettingsError(f"{name}: expected {self.expected}, found {value!r}")


SEED = Range(least=0, most=2**32 - 1, whole=True)
"""Every random generator accepts these seeds (numpy's legacy one is the strictest)."""

LEVEL = Range(above=0, below=1, such_as="0.95")

REPLICATES = Range(least=100, most=100_000, whole=True, also=(0,))
"""Below 100 replicates the ends of a 95 % interval rest on the two or three outermost of them.
More than 100,000 say nothing more, and a run.json from elsewhere must not keep a reader busy."""

PORT = Range(least=0, most=65535, whole=True)

COUNT = Range(least=1, whole=True)

COUNT_OR_0 = Range(least=0, whole=True)

TOKENS = Range(least=2, whole=True)
"""A text of one token has nothing to train on."""

VERSIONS = Range(least=3, whole=True)
"""Three is the least number in which the second half can be set against the first."""

SAMPLES = Range(least=2, whole=True)
"""One sample cannot distinguish preference from chance."""

POSITIVE = Range(above=0)

TEMPERATURE = Range(above=0)
"""Temperatures of generated text: at 0 all samples are the same."""

SHARE = Range(least=0, most=1)
SHARE_BELOW_1 = Range(least=0, below=1)
SHARE_ABOVE_0 = Range(above=0, most=1)

TOLERANCE = Range(least=0, below=0.5)
"""How far a preference may be moved; half the range of a preference would leave nothing of it."""
