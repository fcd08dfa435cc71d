"""Rates: who gets the favourable answer most and least often, and how many are clearly there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.outcomes.planted_facts import estimate, lean, planted_facts, two

from clinometer.findings.finding import Finding
from clinometer.measure.leaning import GroupLean

INTERVAL = {"R": estimate(0.2, 0.1, 0.3)}


def rates(*yes: float, leans: list[GroupLean] | None = None, **parts: Any) -> Finding:
    """The headline of groups with these rates of "yes"."""
    facts = planted_facts(
        two(*yes),
        leans or [],
        risks=INTERVAL,
        favourable="yes",
        categories=("yes", "no"),
        reference="group-mean",
        **parts,
    )
    return facts.outcome.headline(facts)


def test_the_mean_rate_is_weighted_by_groups() -> None:
    """(3 · 0.8 + 1 · 0.4) / 4 = 0.7"""
    finding = rates(0.8, 0.4, group_weights=np.array([3.0, 1.0]))
    assert finding.numbers["mean"].value == pytest.approx(0.7)


@pytest.mark.parametrize(("other", "decided"), [(0.1, None), (0.11, 0.89)])
def test_rates_are_of_the_decided_where_more_than_a_tenth_is_not(
    other: float, decided: float | None
) -> None:
    finding = rates(0.8, 0.4, parts={"other": other})
    value = finding.numbers.get("decided")
    assert (value and value.value) == (decided and pytest.approx(decided))


ABOVE = lean("yes", clear=True)
BELOW = lean("no", clear=True)
UNCLEAR = lean("yes")


@pytest.mark.parametrize(
    ("leans", "named", "apart"),
    [
        # The mean of 0.9, 0.7, 0.3 and 0.1 is 0.5.
        ([ABOVE, UNCLEAR, UNCLEAR, BELOW], ["g0", "g3"], 0.8),
        ([ABOVE, ABOVE, UNCLEAR, UNCLEAR], ["g0"], 0.4),
        ([UNCLEAR, UNCLEAR, BELOW, BELOW], ["g3"], 0.4),
        ([UNCLEAR, UNCLEAR, UNCLEAR, UNCLEAR], ["g0", "g3"], 0.8),
    ],
)
def test_a_side_of_the_mean_without_a_clear_group_is_said_by_the_mean(
    leans: list[GroupLean], named: list[str], apart: float
) -> None:
    finding = rates(0.9, 0.7, 0.3, 0.1, leans=leans)
    assert list(finding.groups) == named
    assert finding.numbers["apart"].value == pytest.approx(apart)


def test_of_three_answers_a_group_is_away_from_the_mean_and_not_above_it() -> None:
    facts = planted_facts(
        np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]]),
        [ABOVE, BELOW],
        risks=INTERVAL,
        favourable="yes",
        categories=("yes", "no", "maybe"),
        reference="group-mean",
    )
    assert facts.outcome.headline(facts).tally == {"away from": 2, "undecided": 0}


@pytest.mark.parametrize(
    ("lower", "points"),
    [(0.08, "2 percentage points"), (0.0903, "1 percentage point "), (0.092, "0.8")],
)
def test_a_difference_below_one_percentage_point_keeps_a_digit(
    lower: float, points: str
) -> None:
    assert f", {points}" in rates(0.1, lower).text
