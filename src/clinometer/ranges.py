"""Which numbers a setting accepts, declared once for the library and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Any

from clinometer.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class Range:
    """Finite numbers between two bounds, integers only if `whole`.

    `least` and `most` are inclusive, `above` and `below` exclusive, and `also` lists single numbers
    outside the bounds that are accepted too. NaN and infinity are never in a range.

    >>> SEED.check("seed", 7)
    >>> -1 in SEED, 0 in REPLICATES, 5 in REPLICATES, 1.0 in LEVEL
    (False, True, False, False)
    >>> LEVEL.check("level", 95)
    Traceback (most recent call last):
    clinometer.errors.SettingsError: level: expected a number above 0 and below 1, such as 0.95, \
found 95
    """

    least: float = -inf
    most: float = inf
    above: float = -inf
    below: float = inf
    whole: bool = False
    also: tuple[float, ...] = ()
    such_as: str = ""

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        number: Any = value  # comparing as float would overflow for a large whole number
        if number in self.also:
            return True
        inside = self.least <= number <= self.most and self.above < number < self.below
        return bool(inside and (not self.whole or number == int(number)))

    @property
    def expected(self) -> str:
        """The range in words."""
        kind = "a whole number" if self.whole else "a number"
        ends = [
            f"{words} {end:.16g}"
            for words, end in (
                ("of at least", self.least),
                ("above", self.above),
                ("at most", self.most),
                ("below", self.below),
            )
            if abs(end) != inf
        ]
        single = "".join(f"{number:g}, or " for number in self.also)
        example = f", such as {self.such_as}" if self.such_as else ""
        return single + " ".join([kind, " and ".join(ends)]) + example

    def check(self, name: str, value: object) -> None:
        """Refuse a value outside the range; `name` is the setting's name for the user."""
        if value not in self:
            raise SettingsError(f"{name}: expected {self.expected}, found {value!r}")


#: The largest seed that every random generator accepts (numpy's legacy one is the strictest).
SEED = Range(least=0, most=2**32 - 1, whole=True)
LEVEL = Range(above=0, below=1, such_as="0.95")
#: Below 100 replicates the ends of a 95 % interval rest on the two or three outermost of them.
#: More than 100,000 say nothing more, and a run.json from elsewhere must not keep a reader busy.
SOME_REPLICATES = Range(least=100, most=100_000, whole=True)
REPLICATES = Range(least=100, most=100_000, whole=True, also=(0,))
PORT = Range(least=0, most=65535, whole=True)

COUNT = Range(least=1, whole=True)
#: A text of one token has nothing to train on.
TOKENS = Range(least=2, whole=True)
#: With fewer shuffles no p-value could be as small as 0.05.
SHUFFLES = Range(least=20, whole=True)
COUNT_OR_0 = Range(least=0, whole=True)
#: The least in which the second half can be set against the first.
VERSIONS = Range(least=3, whole=True)
#: One sample cannot distinguish preference from chance.
SAMPLES = Range(least=2, whole=True)
POSITIVE = Range(above=0)
NOT_NEGATIVE = Range(least=0)
#: Temperatures of generated text: at 0 all samples are the same.
TEMPERATURE = Range(above=0)
#: A proper fraction.
PART = Range(above=0, below=1)
SHARE = Range(least=0, most=1)
SHARE_BELOW_1 = Range(least=0, below=1)
SHARE_ABOVE_0 = Range(above=0, most=1)
#: How far a preference may be moved; half the range of a preference would leave nothing of it.
TOLERANCE = Range(least=0, below=0.5)
