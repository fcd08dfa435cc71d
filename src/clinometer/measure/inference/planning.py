"""Before an audit: how many contexts a precision or a comparison needs, from a pilot or a guess."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from clinometer.errors import SettingsError
from clinometer.measure.comparison.result import Comparison
from clinometer.measure.inference.sample_size import half_widths
from clinometer.measure.results import RiskReport
from clinometer.ranges import LEVEL, POSITIVE

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
        """The spread of the pilot's risk with the widest interval."""
        return cls(_sd(max(half_widths(pilot).values()), pilot.n_eff, pilot.R.level), "pilot run")

    @classmethod
    def of_comparison(cls, pilot: Comparison) -> Spread:
        """The spread of the widest paired difference of two pilot runs in the same contexts."""
        arms = [
            max(d.high - d.corrected, d.corrected - d.low)
            for d in pilot.overall
            if d.low is not None and d.high is not None and d.corrected is not None
        ]
        if not arms:
            raise SettingsError(
                "pilot: expected intervals of differences, found none; pilot with more contexts"
            )
        return cls(_sd(max(arms), pilot.n_eff, pilot.level), "paired pilot runs")

    def unpaired(self) -> Spread:
        """The spread of a difference without pairing: an upper bound, as pairing reduces it."""
        return Spread(self.sd * math.sqrt(2), f"{self.source}, as if the models shared nothing")


def contexts_for_precision(spread: Spread, half_width: float, *, level: float = 0.95) -> int:
    """Effective contexts at which an interval extends no further than half_width.

    >>> contexts_for_precision(Spread(0.15, "guess"), 0.02)
    217
    """
    POSITIVE.check("precision", half_width)
    return max(2, math.ceil((_z(level) * spread.sd / half_width) ** 2))


def half_width(spread: Spread, contexts: float, *, level: float = 0.95) -> float:
    """How far an interval extends with this many effective contexts."""
    return _z(level) * spread.sd / math.sqrt(contexts)


def contexts_to_detect(
    spread: Spread, difference: float, *, level: float = 0.95, power: float = POWER
) -> int:
    """Effective contexts at which a difference of this size is found in a share `power` of tests.

    >>> contexts_to_detect(Spread(0.1, "guess"), 0.03)
    88
    """
    POSITIVE.check("difference", difference)
    LEVEL.check("power", power)
    reach = (_z(level) + float(ndtri(power))) * spread.sd
    return max(2, math.ceil((reach / difference) ** 2))


def detectable(
    spread: Spread, contexts: float, *, level: float = 0.95, power: float = POWER
) -> float:
    """The smallest difference that this many effective contexts find in a share `power` of tests.

    >>> round(detectable(Spread(0.1, "guess"), 88), 3)
    0.03
    """
    return (_z(level) + float(ndtri(power))) * spread.sd / math.sqrt(contexts)


def _sd(arm: float, n_eff: float, level: float | None) -> float:
    return arm / _z(level or 0.95) * math.sqrt(max(n_eff, 1.0))


def _z(level: float) -> float:
    return float(ndtri(0.5 + level / 2))
