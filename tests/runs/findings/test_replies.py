"""Lean, swing and dice as standard deviations, and irrelevant edits beside groups."""

from __future__ import annotations

import pytest
from tests.outcomes.planted_facts import estimate, planted_facts, two

from clinometer.findings.finding import Finding
from clinometer.measure.placebo import Placebo
from clinometer.runs.findings.replies import deviation, placebo


def test_a_variance_becomes_a_standard_deviation_in_the_unit() -> None:
    """Of shares in percentage points: 100 · √0.04 = 20; a variance below 0 is none."""
    root = deviation(estimate(0.04, -0.01, 0.09), 100.0)
    assert (root.low, root.value, root.high) == pytest.approx((0.0, 20.0, 30.0))


def of_edits(low: float | None, high: float | None) -> Finding:
    edits = Placebo(("a", "b"), 0.03, 0.01, 3.0, low, high, 0.95)
    finding = placebo(planted_facts(two(0.6, 0.4), parts={"placebo": edits}))
    assert finding is not None
    return finding


@pytest.mark.parametrize(
    ("low", "high", "sure"),
    [
        (1.1, 5.0, "clear"),  # groups move the answer more
        (0.9, 5.0, "unclear"),
        (0.2, 0.9, "clear"),  # edits do
        (0.2, 1.1, "unclear"),
        (1.1, None, "clear"),  # the edits may move nothing
        (None, None, "unclear"),
    ],
)
def test_a_ratio_is_clear_where_its_interval_excludes_one(
    low: float | None, high: float | None, sure: str
) -> None:
    assert of_edits(low, high).sure == sure


@pytest.mark.parametrize(
    ("low", "words"), [(0.04, "leave open"), (0.06, "at least 0.1")]
)
def test_a_ratio_is_open_where_it_may_be_next_to_nothing(
    low: float, words: str
) -> None:
    assert words in of_edits(low, None).text
