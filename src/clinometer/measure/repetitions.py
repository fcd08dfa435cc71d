"""How many contexts, and replies to each request, show a steady lean."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from clinometer.errors import SettingsError
from clinometer.measure.components import Components
from clinometer.measure.planning import POWER
from clinometer.settings import LEVEL, POSITIVE
from clinometer.statistics.intervals.reach import detectable_difference

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

    >>> from clinometer.statistics.estimate import Estimate
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
