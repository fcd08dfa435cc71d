"""Plans that hold: how many contexts and replies are asked for, and what comes out of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.preferences import pair

from clinometer.errors import SettingsError
from clinometer.measure import Estimate, compare, decompose, estimate_risks
from clinometer.measure.components import Components, GroupPart
from clinometer.measure.planning import (
    SPREAD,
    Spread,
    contexts_for_precision,
    contexts_to_detect,
    detectable,
)
from clinometer.measure.repetitions import plan_replies


def two(rng: np.random.Generator, contexts: int, gap: float = 0.0) -> list[np.ndarray]:
    """Two models that lean for 6 groups, the first further by `gap`; contexts shift all groups."""
    both = rng.normal(0, 0.1, (1, contexts))
    out = []
    for lean in (gap, 0.0):
        s = np.clip(0.4 + lean + both + rng.normal(0, 0.1, (1, contexts)), -1, 1)
        out.append(pair(np.repeat((1 + s) / 2, 6, axis=0)))
    return out


def test_a_planned_precision_is_reached() -> None:
    rng = np.random.default_rng(0)
    pilot = estimate_risks(two(rng, 100)[0])
    n = contexts_for_precision(Spread.of_report(pilot), 0.02)
    found = estimate_risks(two(rng, n)[0]).R
    assert found.high is not None
    assert found.high - found.value == pytest.approx(
        0.02, rel=0.3
    )  # a pilot's sd is 10 % off


def test_a_planned_difference_is_found_as_often_as_planned() -> None:
    """80 % of 100 comparisons, less 3 standard errors (12) and the error of the pilot's spread."""
    rng = np.random.default_rng(1)
    pilot = compare(*two(rng, 200))
    n = contexts_to_detect(Spread.of_comparison(pilot), 0.05)
    hits = 0
    for seed in range(100):
        overall = compare(*two(rng, n, gap=0.05), seed=seed).overall
        hits += next(d.p for d in overall if d.measure == "R") <= 0.05  # type: ignore[operator]
    assert 0.65 <= hits / 100 <= 0.95


def test_without_a_pilot_217_contexts_give_two_points() -> None:
    """As docs/howto/how-many.md has it: (1.96 × 0.15 / 0.02)² = 216.1."""
    assert contexts_for_precision(Spread(SPREAD, "a guess"), 0.02) == 217


def test_the_formulas_are_each_others_inverse() -> None:
    spread = Spread(0.12, "made")
    n = contexts_for_precision(spread, 0.03)
    assert detectable(spread, n, power=0.5) == pytest.approx(0.03, rel=0.02)
    assert detectable(spread, contexts_to_detect(spread, 0.03)) == pytest.approx(
        0.03, rel=0.02
    )
    assert spread.unpaired().sd == pytest.approx(0.12 * np.sqrt(2))


def test_the_longer_interval_arm_counts() -> None:
    ends = {
        "R": (0.4, 0.3, 0.45),
        "R_bias": (0.01, 0.0, 0.05),
        "R_volatility": (0.39, 0.35, 0.4),
    }
    summary = {name: Estimate(*values, 0.95) for name, values in ends.items()}
    report = replace(decompose([[0.6, 0.4], [0.3, 0.7]]), summary=summary, n_eff=50.0)
    assert Spread.of_report(report).sd == pytest.approx(
        0.1 / 1.96 * math.sqrt(50), rel=1e-4
    )


def test_a_plan_needs_intervals() -> None:
    with pytest.raises(SettingsError, match="estimate_risks"):
        Spread.of_report(decompose([[0.6, 0.4], [0.3, 0.7]]))


def made_components() -> Components:
    """Return a pilot whose two groups have half of the dice each: 0.04 + 0.5 / m with m replies."""
    groups = tuple(GroupPart(name, (0.0,), None, None, None) for name in "ab")
    return Components(
        Estimate(0.0), Estimate(0.04), Estimate(1.0), 1.0, groups, 17, 5.0
    )


SQUARED_QUANTILES = 7.849
"""(1.96 + 0.84)², for 95 % confidence and 80 % power."""


def test_a_plan_of_replies_by_hand() -> None:
    plans = {plan.replies: plan for plan in plan_replies(made_components(), find=0.2)}
    # Of one reply a context: (0.04 + 0.5 / 1) / 0.2² times the squared quantiles.
    assert plans[1].contexts == math.ceil(SQUARED_QUANTILES * 0.54 / 0.04)
    assert plans[10].requests == 2 * 10 * plans[10].contexts  # two groups


def test_a_plan_by_requests_inverts_a_plan_by_difference() -> None:
    pilot = made_components()
    by_difference = {plan.replies: plan for plan in plan_replies(pilot, find=0.2)}
    requests = by_difference[10].requests
    by_requests = {
        plan.replies: plan for plan in plan_replies(pilot, requests=requests)
    }
    assert by_requests[10].contexts == by_difference[10].contexts
    assert by_requests[10].finds == pytest.approx(0.2, abs=0.01)


def test_a_plan_for_two_models_doubles_the_variance_and_the_requests() -> None:
    pilot = made_components()
    plans = {plan.replies: plan for plan in plan_replies(pilot, pilot, find=0.2)}
    assert plans[1].contexts == math.ceil(2 * SQUARED_QUANTILES * 0.54 / 0.04)
    assert plans[1].requests == 2 * 2 * plans[1].contexts  # two models of two groups


def test_plans_that_cannot_be_made_are_refused() -> None:
    pilot = made_components()
    too_few = "at least 8, two contexts for each group, found 7"
    with pytest.raises(SettingsError, match=too_few):
        plan_replies(pilot, pilot, requests=7)
    first_group, second_group = pilot.groups
    renamed = replace(pilot, groups=(first_group, replace(second_group, group="c")))
    with pytest.raises(SettingsError, match="the same groups"):
        plan_replies(pilot, renamed, find=0.2)
    with pytest.raises(SettingsError, match="repeated replies"):
        plan_replies(replace(pilot, dice=None), find=0.2)
