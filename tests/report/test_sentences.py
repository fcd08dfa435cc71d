"""The words of a report below its headline."""

from __future__ import annotations

from tests.report.made import summary_of

from clinometer.report.sentences import limits, sentences
from clinometer.runs import Run


def test_they_say_how_far_which_way_and_how_sure(small: Run) -> None:
    text = " ".join(sentences(small))
    assert f"{small.risks.R.value:.3f}" in text
    assert "95 % intervals" in text


def test_groups_are_counted_once(small: Run) -> None:
    first = small.findings[0]
    assert sentences(small)[0] == first.text
    assert first.clear == summary_of(small).leans.clear.sum()
    assert first.counted == 30


def test_what_the_numbers_say_is_not_what_they_do_not_say(small: Run) -> None:
    says, says_not = limits([small])
    assert says[0].startswith("Each model was asked")
    assert says_not[0].startswith("They do not say that a model is fair")
