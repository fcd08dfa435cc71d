"""The size of R, and how much of it is steady and shared, as far as intervals show."""

from __future__ import annotations

import pytest
from tests.outcomes.planted_facts import estimate, planted_facts, two

from clinometer.runs.findings.risk import shared, size, steady


@pytest.mark.parametrize(("n_eff", "worth"), [(9.6, False), (9.4, True)])
def test_effective_contexts_are_said_where_they_round_to_fewer(
    n_eff: float, worth: bool
) -> None:
    finding = size(planted_facts(two(0.8, 0.6), report={"n_eff": n_eff}))
    assert ("worth about" in finding.text) == worth


@pytest.mark.parametrize(
    ("low", "high", "sentence"),
    [
        (0.96, 0.99, "Nearly all of R swings"),
        (0.94, 0.98, "Most of R (94–98 %) swings"),
        (0.51, 0.90, "Most of R (51–90 %) swings"),
        (0.45, 0.90, "About half of R (10–55 %) is a steady lean"),
        (0.25, 0.49, "Most of R (51–75 %) is a steady lean"),
        (0.02, 0.06, "Most of R (94–98 %) is a steady lean"),
        (0.01, 0.04, "Nearly all of R is a steady lean"),
        (0.20, 0.69, "About half of R (31–80 %) is a steady lean"),
        (0.20, 0.71, "How much of R is steady"),  # wider than a half
    ],
)
def test_what_swings_is_r_less_the_interval_of_the_bias_risk(
    low: float, high: float, sentence: str
) -> None:
    """The share that swings is 1 - bias risk / R; R is 1."""
    middle = (low + high) / 2
    risks = {
        "R": estimate(1.0, 0.9, 1.1),
        "R_bias": estimate(1 - middle, 1 - high, 1 - low),
        "R_volatility": estimate(middle, low, high),
    }
    finding = steady(planted_facts(two(0.8, 0.6), risks=risks))
    assert finding is not None
    assert finding.text.startswith(sentence)
    share = finding.numbers["swing share"]
    assert (share.low, share.high) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("common", "between", "sentence"),
    [
        ((0.30, 0.26, 0.35), (0.20, 0.15, 0.25), "Most of R is the same"),
        ((0.30, 0.24, 0.35), (0.20, 0.15, 0.25), "0.300 of R is the same"),
        ((0.20, 0.15, 0.25), (0.30, 0.24, 0.35), "0.200 of R is the same"),
        ((0.20, 0.15, 0.25), (0.30, 0.26, 0.35), "Most of R differs"),
    ],
)
def test_most_of_r_is_shared_where_the_intervals_do_not_overlap(
    common: tuple[float, float, float],
    between: tuple[float, float, float],
    sentence: str,
) -> None:
    risks = {"R_shared": estimate(*common), "R_between": estimate(*between)}
    finding = shared(planted_facts(two(0.8, 0.6), risks=risks))
    assert finding is not None
    assert finding.text.startswith(sentence)
