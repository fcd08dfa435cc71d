"""What a system can ask instead of refusing: a question for every blank."""

from __future__ import annotations

import pytest

from clinometer.reliability import Blanks, Statement
from clinometer.reliability.blanks import propose_points


@pytest.mark.parametrize(
    ("points", "asked"),
    [
        (
            "The ___ women at the ___ office are arrogant ___.",
            ["Which women?", "At which office?", "Arrogant on what occasion?"],
        ),
        ("Women ___ lie ___.", ["Which women?", "On what occasion?"]),
        ("They buy ___ drugs.", ["What kind of drugs?"]),
        ("He saw a ___ doctor ___ .", ["What kind of doctor?", "On what occasion?"]),
        ("Women lie ___. Men lie ___.", ["On what occasion?", "Where, and why?"]),
        ("She is from ___ Iraq.", ["Which Iraq is meant?"]),
        ("Nobody asks.", []),
    ],
)
def test_questions_follow_the_position_of_a_blank(points: str, asked: list[str]) -> None:
    statement = Statement("x", Blanks.parse(points).plain, points=points)
    assert propose_points([statement]).rows[0]["questions"] == asked


def test_points_that_are_spaced_otherwise_ask_the_same() -> None:
    statement = Statement("x", "They  buy drugs .", points="They buy ___ drugs.")
    assert propose_points([statement]).rows[0]["questions"] == ["What kind of drugs?"]
