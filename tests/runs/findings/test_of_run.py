"""Runs that say nothing of their groups."""

from __future__ import annotations

import numpy as np
import pytest
from tests.outcomes.planted_facts import lean, planted_facts, two
from tests.report.made import measured_run

from clinometer.contexts import ContextSet
from clinometer.runs import AuditSettings
from clinometer.runs.findings.facts import facts_of_run
from clinometer.runs.findings.of_run import statements
from clinometer.topics import load_topic


@pytest.mark.parametrize(("improbable", "alone"), [(0.5, False), (0.51, True)])
def test_words_that_half_of_the_cells_hardly_hold_say_nothing(
    improbable: float, alone: bool
) -> None:
    facts = planted_facts(two(0.8, 0.6), parts={"improbable": improbable})
    kinds = [finding.kind for finding in statements(facts)]
    assert (kinds == ["improbable"]) == alone


def test_words_below_a_thousandth_of_the_probability_are_improbable() -> None:
    """Of eight cells, six; one that was not observed is not counted."""
    topic = load_topic("gender")
    topic = topic.select(topic.group_names[:3])
    templates = [f"On day {i} the [X] said that [Y]" for i in range(3)]
    asked = ContextSet("made", templates, [1.0] * 3)
    values = np.full((3, 3, 2), 0.5)
    values[0, 0] = np.nan
    coverage = np.full((3, 3), 9e-4)
    coverage[1] = [1e-3, 2e-3, 9e-4]
    run = measured_run(
        "m", topic, asked, AuditSettings(), values=values, coverage=coverage
    )
    assert facts_of_run(run).improbable == pytest.approx(6 / 8)


def test_a_run_without_an_answer_says_that_alone() -> None:
    facts = planted_facts(two(0.8, 0.6), [lean(None), lean(None)])
    assert [finding.kind for finding in statements(facts)] == ["nothing"]
