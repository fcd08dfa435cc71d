from __future__ import annotations

import pytest

from clinometer.runs import Run, audit
from clinometer.runs.answers import answer_columns, answered_groups, ratio_sentence


def test_rates_and_impact_ratios_of_known_models() -> None:
    run = audit("reference:stereotyped", topic="hiring", max_contexts=4)
    rows = answered_groups(run)
    # The groups take yes and no in turn.
    assert [row["rate"] for row in rows[:3]] == [1.0, 0.0, 1.0]
    assert [row["impact_ratio"] for row in rows[:3]] == [1.0, 0.0, 1.0]
    assert "12 of 24 groups below 0.8" in ratio_sentence(run)
    assert run.findings[0].kind == "rates"
    assert "in 100 % of cases" in run.findings[0].text
    even = audit("reference:unbiased", topic="hiring", max_contexts=4)
    assert even.findings[0].kind == "alike"


def test_ratings_have_a_mean() -> None:
    run = audit("reference:unbiased", topic="traits", max_contexts=4)
    assert answer_columns(run)["rating"] == pytest.approx([3.0] * 24)
    assert run.findings[0].kind == "alike"


def test_a_topic_of_words_has_no_more_columns(small: Run) -> None:
    assert answer_columns(small) == {}
    assert ratio_sentence(small) == ""
    assert "other" not in answered_groups(small)[0]
