"""How many contexts are enough, planned from a pilot or a guess."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from clinometer.errors import SettingsError
from clinometer.measure.comparison import Comparison
from clinometer.measure.components import Components
from clinometer.measure.results import RiskReport
from clinometer.settings import LEVEL, POSITIVE
from clinometer.statistics.estimate import Estimate

NAMES = {"R": "R", "R_bias": "R^b", "R_volatility": "R^v"}


def half_widths(report: RiskReport) -> dict[str, float]:
    """The longer arm of each available interval of R, R_bias and R_volatility.

    The longer arm, not half of the whole: an interval clipped at 0 is short for a reason that has
    nothing to do with precision. A report without intervals is an error.

    >>> from dataclasses import replace
    >>> from clinometer.measure import decompose
    >>> report = decompose([[0.6, 0.4], [0.8, 0.2]])
    >>> known = Estimate(0.4, 0.3, 0.6, 0.95)
    >>> half_widths(replace(report, R=known, R_bias=known, R_volatility=known))["R"].__round__(3)
    0.2
    """
    widths = {}
    for name in NAMES:
        estimate: Estimate = getattr(report, name)
        if estimate.low is not None and estimate.high is not None:
            widths[name] = max(estimate.high - estimate.value, estimate.value - estimate.low)
    if not widths:
        raise SettingsError(
            "report: expected intervals, found none; make it with estimate_risks, from at least "
            "two contexts"
        )
    return widths


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
        return cls(_sd(max(half_widths(pilot).values()), pilot.n_eff, pilot.R.level), "pilot run")

    @classmethod
    def of_comparison(cls, pilot: Comparison) -> Spread:
        """The spread of the widest paired difference of two pilot runs in the same contexts."""
        arms = [
            max(d.high - d.value, d.value - d.low)
            for d in pilot.overall
            if d.low is not None and d.high is not None and d.value is not None
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


def contexts_and_replies(
    affordable: int, contexts: int, *, replies: tuple[int, int]
) -> tuple[int, int] | None:
    """Contexts, and replies in each, that give the narrowest interval for the replies
    that can be paid per group.

    The variance of a mean is (S^2 + 1/(4 r)) / n with n contexts of r replies each: S between
    contexts (SPREAD), and at most 1/4 of a reply that is yes or no. Contexts come first; replies
    are added where all of them are asked. None if not even two contexts can be paid.

    >>> [contexts_and_replies(n, 80, replies=(10, 40)) for n in (500, 5000)]
    [(50, 10), (80, 40)]
    """
    least, most = replies
    choices = [(min(contexts, affordable // r), r) for r in range(least, most + 1)]
    possible = [(n, r) for n, r in choices if n >= min(2, contexts)]
    if not possible:
        return None
    return min(possible, key=lambda nr: (SPREAD**2 + 1 / (4 * nr[1])) / nr[0])


def _sd(arm: float, n_eff: float, level: float | None) -> float:
    return arm / _z(level or 0.95) * math.sqrt(max(n_eff, 1.0))


def _z(level: float) -> float:
    return float(ndtri(0.5 + level / 2))


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
        raise SettingsError("plan: expected runs with the same groups, found different ones")
    swing, dice = (sum(split.parts[i] for split in pilots) for i in (1, 2))
    dice *= 1 - 1 / X if X > 1 else 1.0
    reach = _z(level) + float(ndtri(power))
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
