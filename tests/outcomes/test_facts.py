"""How sure a headline is: what follows from intervals, the number of units and the clear leans."""

from __future__ import annotations

import numpy as np
import pytest
from tests.outcomes.planted_facts import estimate, lean, planted_facts, two

INTERVAL = {"R": estimate(0.5, 0.3, 0.7)}


@pytest.mark.parametrize(("units", "too_few"), [(5, True), (6, False)])
def test_five_units_cannot_reject_at_five_per_cent(units: int, too_few: bool) -> None:
    """All n units agree by chance, either way, with probability 2 / 2^n: 0.0625 of five and 0.031
    of six."""
    assert planted_facts(two(0.8), risks=INTERVAL, units=units).too_few == too_few


def test_r_without_an_interval_is_of_too_few_units() -> None:
    no_interval = {"R": estimate(0.5, None, None)}
    assert planted_facts(two(0.8), risks=no_interval).too_few


def test_r_of_two_replies_a_cell_has_no_interval_and_enough_units() -> None:
    no_interval = {"R": estimate(0.5, None, None)}
    answers = np.full((1, 10), 2.0)
    assert not planted_facts(two(0.8), risks=no_interval, answers=answers).too_few


def test_units_that_list_a_group_are_not_too_few() -> None:
    facts = planted_facts(two(0.8), [lean("a", clear=True)], risks=INTERVAL, units=5)
    assert not facts.too_few


NOTHING = {"R": estimate(0.0, 0.0, 0.0)}


def test_answers_without_any_departure_are_alike() -> None:
    assert planted_facts(two(0.5), risks=NOTHING).alike


def test_answers_are_not_alike_where_r_may_be_above_zero() -> None:
    assert not planted_facts(two(0.5), risks={"R": estimate(0.0, 0.0, 0.1)}).alike


def test_two_replies_a_cell_may_be_alike_by_chance() -> None:
    answers = np.full((1, 10), 2.0)
    assert not planted_facts(two(0.5), risks=NOTHING, answers=answers).alike


def test_replies_are_not_alike_where_only_their_dice_explain_r() -> None:
    """Without dice R is 0; by its equation it is not, since the shares are 0.8 and 0.2."""
    answers = np.full((1, 10), 10.0)
    assert planted_facts(two(0.5), risks=NOTHING, answers=answers).alike
    assert not planted_facts(two(0.8), risks=NOTHING, answers=answers).alike


@pytest.mark.parametrize(
    ("lowest_R", "lowest_bias", "together"),
    [(0.1, 0.05, True), (0.1, 0.0, False), (0.0, 0.05, False)],
)
def test_groups_lean_together_where_neither_risk_may_be_zero(
    lowest_R: float, lowest_bias: float, together: bool
) -> None:
    risks = {
        "R": estimate(0.5, lowest_R, 0.7),
        "R_bias": estimate(0.4, lowest_bias, 0.6),
    }
    assert planted_facts(two(0.8), risks=risks).on_the_whole == together


def test_a_group_without_an_answer_is_not_undecided() -> None:
    leans = [lean("a", clear=True), lean("b"), lean(None)]
    tally = planted_facts(two(0.9, 0.4, 0.5), leans).tally({"a": "low", "b": "high"})
    assert tally == {"low": 1, "undecided": 1}


def test_the_highest_group_is_named_before_the_lowest() -> None:
    facts = planted_facts(two(0.2, 0.9, 0.5))
    values = facts.extremes(np.array([0.2, 0.9, 0.5]), [0, 1, 2])
    assert {name: number.value for name, number in values.items()} == {
        "g1": 0.9,
        "g0": 0.2,
    }
    assert list(values) == ["g1", "g0"]
