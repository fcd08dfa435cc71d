"""How many contexts are enough, planned from a pilot or a guess."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from clinometer.errors import SettingsError
from clinometer.measure.differences import Comparison, Difference
from clinometer.measure.risk import RiskReport
from clinometer.settings import LEVEL, POSITIVE
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.reach import detectable_difference, normal_reach

POWER = 0.8
"""The share of comparisons that should find a difference of the size planned for."""

SPREAD = 0.15
"""Standard deviation between contexts assumed without a pilot run; a guess, not measured."""


@dataclass(frozen=True)
class Spread:
    """How much a number varies between contexts, and the source of that figure."""

    sd: float
    source: str

    @classmethod
    def of_report(cls, pilot: RiskReport) -> Spread:
        """Return the spread of the pilot's risk with the widest interval."""
        risks = (pilot.R, pilot.R_bias, pilot.R_volatility)
        return cls(_sd_of_contexts(risks, pilot, pilot.R.level), "pilot run")

    @classmethod
    def of_comparison(cls, pilot: Comparison) -> Spread:
        """Return the spread of the widest paired difference of two pilot runs in the same
        contexts."""
        sd = _sd_of_contexts(pilot.overall, pilot, pilot.level)
        return cls(sd, "paired pilot runs")

    def unpaired(self) -> Spread:
        """Return the spread of a difference without pairing: an upper bound, as pairing reduces
        it."""
        return Spread(
            self.sd * math.sqrt(2), f"{self.source}, as if the models shared nothing"
        )


def contexts_for_precision(
    spread: Spread, half_width: float, *, level: float = 0.95
) -> int:
    """Return the effective contexts at which an interval extends no further than half_width.

    n = (z sd / half_width)², at least 2.

    >>> contexts_for_precision(Spread(0.15, "guess"), 0.02)
    217
    """
    POSITIVE.check("precision", half_width)
    reach_of_one = float(normal_reach(spread.sd, level=level))
    return max(2, math.ceil((reach_of_one / half_width) ** 2))


def contexts_to_detect(
    spread: Spread, difference: float, *, level: float = 0.95, power: float = POWER
) -> int:
    """Return the effective contexts at which a difference of this size is found in a share `power`
    of tests.

    >>> contexts_to_detect(Spread(0.1, "guess"), 0.03)
    88
    """
    POSITIVE.check("difference", difference)
    LEVEL.check("power", power)
    found_with_one = detectable(spread, 1, level=level, power=power)
    return max(2, math.ceil((found_with_one / difference) ** 2))


def detectable(
    spread: Spread, contexts: float, *, level: float = 0.95, power: float = POWER
) -> float:
    """Return the smallest difference that this many effective contexts find in a share `power` of
    tests; with half of them, how far an interval extends.

    >>> round(detectable(Spread(0.1, "guess"), 88), 3)
    0.03
    """
    standard_errors = detectable_difference(level=level, power=power)
    return standard_errors * spread.sd / math.sqrt(contexts)


def _sd_of_contexts(
    numbers: Iterable[Estimate | Difference],
    pilot: RiskReport | Comparison,
    level: float | None,
) -> float:
    """Return the standard deviation between contexts that the longest arm of the numbers shows.

    Not half of the widest interval: one that is clipped at 0 is short for a reason that has
    nothing to do with precision.
    """
    arms = []
    for number in numbers:
        if number.value is None or number.low is None or number.high is None:
            continue
        arms.append(max(number.high - number.value, number.value - number.low))
    if not arms:
        raise SettingsError(
            "pilot: expected intervals, found none; pilot with more contexts, and make a report "
            "with estimate_risks"
        )
    standard_error = max(arms) / float(normal_reach(1.0, level=level or 0.95))
    return standard_error * math.sqrt(max(pilot.n_eff, 1.0))
