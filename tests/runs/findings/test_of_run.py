"""Runs that say nothing of their groups."""

from __future__ import annotations

import pytest
from tests.outcomes.planted_facts import lean, planted_facts, two

from clinometer.runs.findings.of_run import statements


@pytest.mark.parametrize(("improbable", "alone"), [(0.5, False), (0.51, True)])
def test_words_that_half_of_the_cells_hardly_hold_say_nothing(
    improbable: float, alone: bool
) -> None:
    facts = planted_facts(two(0.8, 0.6), parts={"improbable": improbable})
    kinds = [finding.kind for finding in statements(facts)]
    assert (kinds == ["improbable"]) == alone


def test_a_run_without_an_answer_says_that_alone() -> None:
    facts = planted_facts(two(0.8, 0.6), [lean(None), lean(None)])
    assert [finding.kind for finding in statements(facts)] == ["nothing"]
