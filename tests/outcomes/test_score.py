"""Scores on a scale: leans in points, their intervals, and the answer that shows a lean most."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import t
from tests.outcomes.planted_facts import estimate, lean, planted_facts, two
from tests.preferences import labelled

from clinometer.measure.components import Components, GroupPart
from clinometer.outcomes.choose import outcome_of
from clinometer.outcomes.score import scores, steady_lean, strongest_case
from clinometer.runs.findings.facts import RunFacts

SCALE = ("0", "10")
INTERVAL = {"R": estimate(0.2, 0.1, 0.3)}


def scored(*leans: Any) -> RunFacts:
    """Groups on a scale from 0 to 10 with these leans."""
    return planted_facts(
        two(*np.linspace(0.4, 0.6, len(leans))),
        leans,
        risks=INTERVAL,
        categories=SCALE,
        criterion="points",
        reference="group-mean",
    )


def split_of(*parts: GroupPart) -> Components:
    """A split of eleven contexts with a clear lean."""

    def clear_groups() -> tuple[GroupPart, ...]:
        return parts

    return cast(
        Components,
        SimpleNamespace(
            groups=parts,
            contexts=11,
            lean=estimate(0.1, 0.05, 0.2),
            clear_groups=clear_groups,
        ),
    )


def part(name: str, middle: float, arm: float) -> GroupPart:
    return GroupPart(name, (middle,), middle - arm, middle + arm, 0.01)


@pytest.mark.parametrize("favoured", ["10", "0"])
def test_the_interval_of_a_lean_holds_for_all_groups(favoured: str) -> None:
    """Bonferroni for three groups, Student's t of ten degrees of freedom: an arm of 0.2 points
    becomes t(1 - 0.05/6) / t(1 - 0.05/2) times as long, and a share of the 10 points."""
    sign = 1 if favoured == "10" else -1
    split = split_of(part("g", sign * 0.5, 0.2), part("h", 0, 1), part("i", 0, 1))
    steady = steady_lean(lean(favoured, 0.05), split, "10", 10.0)
    arm = 0.2 * t.ppf(1 - 0.05 / 6, 10) / t.ppf(1 - 0.05 / 2, 10)
    assert steady.low == pytest.approx((0.5 - arm) / 10)
    assert steady.high == pytest.approx((0.5 + arm) / 10)
    assert steady.category == favoured


def test_the_interval_of_a_lean_holds_the_lean() -> None:
    """The split weights contexts otherwise, so that its middle may lie elsewhere."""
    split = split_of(part("g", 0.5, 0.1))
    below = steady_lean(lean("10", 0.01), split, "10", 10.0)
    above = steady_lean(lean("10", 0.09), split, "10", 10.0)
    assert below.low == pytest.approx(0.01)
    assert above.high == pytest.approx(0.09)


def test_leans_are_in_points_above_zero_towards_the_top() -> None:
    high = lean("10", 0.02, clear=True, ends=(0.01, 0.03))
    low = lean("0", 0.03, clear=True, ends=(0.02, 0.05))
    facts = scored(high, low)
    groups = scores(facts, np.array([0.0, 10.0])).groups
    assert list(groups) == ["g0", "g1"]
    more, less = groups.values()
    assert (more.low, more.value, more.high) == pytest.approx((0.1, 0.2, 0.3))
    assert (less.low, less.value, less.high) == pytest.approx((-0.5, -0.3, -0.2))


def test_the_two_furthest_groups_are_named_on_each_side() -> None:
    leans = [lean("0", size, clear=True) for size in (0.01, 0.03, 0.02)]
    assert list(scores(scored(*leans), np.array([0.0, 10.0])).groups) == ["g1", "g2"]


def test_a_mark_is_placed_between_the_ends_of_its_scale() -> None:
    """A mean of 2 on a scale from 1 to 5 is a quarter of the way."""
    table = labelled(
        np.full((1, 1, 5), 0.2),
        categories=("1", "2", "3", "4", "5"),
        criterion="points",
        reference="group-mean",
    )
    outcome = outcome_of(table)
    mark = outcome.mark(np.array([0.0, 1, 0, 0, 0]), np.array([0.0, 0, 0, 1, 0]))
    assert mark is not None
    assert (mark.position, mark.usual_position) == (0.25, 0.75)
    assert outcome.in_points(0.25) == 1.0


def named(c: int) -> str:
    return f"case {c}"


CELLS = np.array([[4.0, 8.0], [10.0, 5.0]])
USUAL = np.full((2, 2), 5.0)


def test_the_strongest_case_is_the_furthest_answer() -> None:
    case = strongest_case(scored(lean("10"), lean("10")), CELLS, USUAL, named)
    assert case.words["case"] == "case 0"
    assert case.numbers["apart"].value == 5.0
    assert case.groups["g1"].value == 10.0


def test_the_strongest_case_goes_the_way_of_a_group_that_leans_clearly() -> None:
    """The first group leans to low scores: 4 in place of 5 shows it, 8 does not."""
    facts = scored(lean("0", clear=True), lean("10"))
    case = strongest_case(facts, CELLS, USUAL, named)
    assert case.groups["g0"].value == 4.0
    assert case.numbers["apart"].value == -1.0
    assert "1.0 points below" in case.text
