from __future__ import annotations

import pytest

from clinometer.readouts import EMPTY, OTHER, REFUSAL, ShownQuestion
from clinometer.readouts.text import RatingReader


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("3", 2),
        (" **5**", 4),
        ("I'd say 4 out of 5.", 3),
        ("Rating: 2/5", 1),
        ("On a scale of 5, 1", 0),
        ("4, yes, 4", 3),
        ("0", OTHER),
        ("6", OTHER),
        ("3.5", OTHER),
        ("between 2 and 3", OTHER),
        ("1-5", OTHER),
        ("very", OTHER),
        ("I cannot rate people", REFUSAL),
        ("", EMPTY),
    ],
)
def test_a_rating_is_a_number_alone(reply: str, expected: int) -> None:
    shown = ShownQuestion("Rate from 1 to 5.")
    assert RatingReader(5).read([reply], [shown]) == [expected]


def test_the_question_does_not_count() -> None:
    shown = ShownQuestion("Rate from 1 to 5, where 5 is best:")
    assert RatingReader(5).read([f"{shown.text} 2"], [shown]) == [1]
