"""How many contexts are enough, planned from a pilot or a guess."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.special import ndtri

from clinometer.errors import SettingsError
from clinometer.measure.comparison import Comparison, Difference
from clinometer.measure.components import Components
from clinometer.measure.risk import RiskReport
from clinometer.settings import LEVEL, POSITIVE
from clinometer.statistics.estimate import Estimate

# --- Before an audit -----------------------------------------------------------------------------


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
        return cls(
            _sd((pilot.R, pilot.R_bias, pilot.R_volatility), pilot, pilot.R.level),
            "pilot run",
        )

    @classmethod
    def of_comparison(cls, pilot: Comparison) -> Spread:
        """The spread of the widest paired difference of two pilot runs in the same contexts."""
        return cls(_sd(pilot.overall, pilot, pilot.level), "paired pilot runs")

    def unpaired(self) -> Spread:
        """The spread of a difference without pairing: an upper bound, as pairing reduces it."""
        return Spread(
            self.sd * math.sqrt(2), f"{self.source}, as if the models shared nothing"
        )


def contexts_for_precision(
    spread: Spread, half_width: float, *, level: float = 0.95
) -> int:
    """Effective contexts at which an interval extends no further than half_width.

    >>> contexts_for_precision(Spread(0.15, "guess"), 0.02)
    217
    """
    POSITIVE.check("precision", half_width)
    return max(2, math.ceil((_reach(level) * spread.sd / half_width) ** 2))


def contexts_to_detect(
    spread: Spread, difference: float, *, level: float = 0.95, power: float = POWER
) -> int:
    """Effective contexts at which a difference of this size is found in a share `power` of tests.

    >>> contexts_to_detect(Spread(0.1, "guess"), 0.03)
    88
    """
    POSITIVE.check("difference", difference)
    LEVEL.check("power", power)
    return max(2, math.ceil((_reach(level, power) * spread.sd / difference) ** 2))


def detectable(
    spread: Spread, contexts: float, *, level: float = 0.95, power: float = POWER
) -> float:
    """The smallest difference that this many effective contexts find in a share `power` of tests;
    with half of them, how far an interval extends.

    >>> round(detectable(Spread(0.1, "guess"), 88), 3)
    0.03
    """
    return _reach(level, power) * spread.sd / math.sqrt(contexts)


def _sd(
    numbers: Iterable[Estimate | Difference],
    pilot: RiskReport | Comparison,
    level: float | None,
) -> float:
    """From the longest arm, not half of the widest interval: one that is clipped at 0 is short for
    a reason that has nothing to do with precision."""
    arms = [
        max(e.high - e.value, e.value - e.low)
        for e in numbers
        if e.value is not None and e.low is not None and e.high is not None
    ]
    if not arms:
        raise SettingsError(
            "pilot: expected intervals, found none; pilot with more contexts, and make a report "
            "with estimate_risks"
        )
    return max(arms) / _reach(level or 0.95) * math.sqrt(max(pilot.n_eff, 1.0))


def _reach(level: float, power: float = 0.5) -> float:
    """How many standard errors the smallest difference is away that is found so often."""
    return float(ndtri(0.5 + level / 2) + ndtri(power))


# --- Repeated replies ----------------------------------------------------------------------------


REPETITIONS = (1, 2, 3, 5, 10, 20)
"""Replies per cell that a plan compares."""


@dataclass(frozen=True)
class RepliesPlan:
    """Contexts with this many replies per cell, the requests that all groups and models need, and
    the steady lean, or difference of leans, that is found."""

    replies: int
    contexts: int
    requests: int
    finds: float


def plan_replies(
    *pilots: Components,
    find: float | None = None,
    requests: int | None = None,
    level: float = 0.95,
    power: float = POWER,
) -> tuple[RepliesPlan, ...]:
    """Contexts and replies that show a steady lean of one group, from the components of a pilot;
    from those of two models, how much further a group leans in one of them.

    The variance of a group's mean is (V_swing + (1 - 1/X) V_dice / m) / C, and that of a difference
    the sum of two. More replies of the same request lower the dice alone; more contexts lower both.

    Args:
        pilots: the components of one model or of two.
        find: the lean or difference to find; without it,
        requests: what can be paid in all.

    A pilot without repeated replies is an error; so are pilots with different groups.

    >>> from clinometer.measure.components import Components
    >>> pilot = Components(Estimate(0.0), Estimate(0.04), Estimate(0.5), 1.0, (), 17, 5.0)
    >>> [(plan.replies, plan.contexts) for plan in plan_replies(pilot, find=0.2)][::2]
    [(1, 106), (3, 41), (10, 18)]
    >>> [(plan.replies, round(plan.finds, 2)) for plan in plan_replies(pilot, requests=200)][::2]
    [(1, 0.15), (3, 0.16), (10, 0.19)]
    """
    LEVEL.check("power", power)
    if find is not None:
        POSITIVE.check("find", find)
    for split in pilots:
        if split.swing is None or split.dice is None:
            raise SettingsError(
                f"plan: expected a run with repeated replies in several contexts: {split.note}"
            )
    X = max(len(pilots[0].groups), 1)
    if len({frozenset(part.group for part in split.groups) for split in pilots}) > 1:
        raise SettingsError(
            "plan: expected runs with the same groups, found different ones"
        )
    swing, dice = (sum(split.parts[i] for split in pilots) for i in (1, 2))
    dice *= 1 - 1 / X if X > 1 else 1.0
    reach = _reach(level, power)
    found = []
    for m in REPETITIONS:
        spread, cost = swing + dice / m, m * X * len(pilots)
        if find is not None:
            contexts = max(2, math.ceil((reach / find) ** 2 * spread))
        else:
            contexts = (requests or 0) // cost
        if contexts > 1:
            finds = reach * math.sqrt(spread / contexts)
            found.append(RepliesPlan(m, contexts, contexts * cost, finds))
    if not found:
        raise SettingsError(
            f"requests: expected at least {2 * X * len(pilots)}, two contexts for each group, "
            f"found {requests}"
        )
    return tuple(found)
