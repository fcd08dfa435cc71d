"""R and bias risk beside what shuffled words give."""

from __future__ import annotations

import pytest
from tests.outcomes.planted_facts import estimate, planted_facts, two

from clinometer.runs.findings.shuffled import shuffled
from clinometer.runs.folder.record import FloorRecord


@pytest.mark.parametrize(
    ("p", "bias", "above", "sure"),
    [
        (0.05, 0.31, (1, 1), "clear"),
        (0.06, 0.31, (0, 1), "unclear"),
        (
            0.05,
            0.29,
            (1, 0),
            "unclear",
        ),  # within the shuffles, which go from 0.1 to 0.3
    ],
)
def test_a_risk_is_above_shuffled_words_that_hardly_ever_reach_it(
    p: float, bias: float, above: tuple[int, int], sure: str
) -> None:
    of_shuffles = estimate(0.2, 0.1, 0.3)
    floor = FloorRecord(
        shuffles=99, R=of_shuffles, R_bias=of_shuffles, R_volatility=of_shuffles, p=p
    )
    risks = {"R": estimate(0.4, 0.3, 0.5), "R_bias": estimate(bias, 0.2, 0.4)}
    facts = planted_facts(two(0.8, 0.6), risks=risks, parts={"floor": floor})
    finding = shuffled(facts)
    assert finding is not None
    assert finding.tally == {"R": above[0], "R_bias": above[1]}
    assert finding.sure == sure
