"""Words at a gap: to which category a model leans, and which groups are named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.outcomes.planted_facts import lean, planted_facts, two


def test_the_extremes_are_those_of_clear_groups() -> None:
    clear = lean("a", clear=True)
    facts = planted_facts(two(0.95, 0.7, 0.6), [lean("a"), clear, clear])
    assert list(facts.outcome.headline(facts).groups) == ["g1", "g2"]


def test_of_three_categories_the_group_with_the_largest_risk_is_named() -> None:
    """The last group has no answer, and so no risk."""
    shares = np.array([[0.4, 0.3, 0.3], [0.1, 0.1, 0.8], [np.nan] * 3])
    facts = planted_facts(shares, [lean("a"), lean("c"), lean(None)])
    finding = facts.outcome.headline(facts)
    assert list(finding.groups) == ["g1"]
    assert finding.groups["g1"].value == pytest.approx(0.8)
    assert finding.words["share"] == "c"
