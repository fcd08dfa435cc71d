"""How many contexts are enough, planned from a pilot or a guess."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from clinometer.errors import SettingsError
from clinometer.measure.components import Components
from clinometer.measure.differences import Comparison, Difference
from clinometer.measure.risk import RiskReport
from clinometer.settings import LEVEL, POSITIVE
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.reach import detectable_difference, normal_reach

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
    """Return contexts and replies that show a steady lean of one group, from the components of a
    pilot; from those of two models, how much further a group leans in one of them.

    The variance of a group's mean is (V_swing + (1 - 1/X) V_dice / m) / C, and that of a difference
    the sum of two. More replies of the same request lower the dice alone; more contexts lower both.

    Args:
        pilots: the components of one model or of two.
        find: the lean or difference to find; without it,
        requests: what can be paid in all.
        level: of the test.
        power: the share of tests that find it.

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
    _check_pilots(pilots)
    X = max(len(pilots[0].groups), 1)
    swing = sum(pilot.parts.swing for pilot in pilots)
    dice = sum(pilot.parts.dice for pilot in pilots)
    if X > 1:
        dice *= 1 - 1 / X
    standard_errors = detectable_difference(level=level, power=power)
    plans = []
    for replies in REPETITIONS:
        variance = swing + dice / replies
        requests_per_context = replies * X * len(pilots)
        if find is not None:
            contexts = max(2, math.ceil((standard_errors / find) ** 2 * variance))
        else:
            contexts = (requests or 0) // requests_per_context
        if contexts > 1:
            finds = standard_errors * math.sqrt(variance / contexts)
            cost = contexts * requests_per_context
            plans.append(RepliesPlan(replies, contexts, cost, finds))
    if not plans:
        raise SettingsError(
            f"requests: expected at least {2 * X * len(pilots)}, two contexts for each group, "
            f"found {requests}"
        )
    return tuple(plans)


def _check_pilots(pilots: Iterable[Components]) -> None:
    """Refuse pilots without repeated replies, and pilots with different groups."""
    groups = set()
    for pilot in pilots:
        if pilot.swing is None or pilot.dice is None:
            raise SettingsError(
                f"plan: expected a run with repeated replies in several contexts: {pilot.note}"
            )
        groups.add(frozenset(part.group for part in pilot.groups))
    if len(groups) > 1:
        raise SettingsError(
            "plan: expected runs with the same groups, found different ones"
        )
