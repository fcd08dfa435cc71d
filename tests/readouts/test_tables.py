"""The `[readout]` of a topic file: what a scale is divided into, and where it ends."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest

from clinometer.errors import TopicError
from clinometer.readouts.tables import KINDS, NumberTable, parse_readout

PAGE = Path(__file__).resolve().parents[2] / "docs" / "readouts.md"


def scale(low: float, high: float) -> NumberTable:
    table = parse_readout({"kind": "number", "scale": [low, high]})
    assert isinstance(table, NumberTable)
    return table


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (0, 10, 1),  # whole numbers
        (-100, 100, 1),  # 200 steps are the most
        (0, 201, 2.01),  # one more: a hundredth of the scale
        (0, 1000, 10),
        (0, 0.5, 0.005),
        (0.5, 9.5, 0.09),  # no end is a whole number
        (0, 9.5, 0.095),  # one end is none
    ],
)
def test_numbers_are_rounded_to_whole_ones_or_a_hundredth_of_the_scale(
    low: float, high: float, step: float
) -> None:
    assert scale(low, high).interval == pytest.approx(step)


def test_a_scale_has_both_of_its_ends() -> None:
    numbers = [float(name) for name in scale(0, 0.5).steps() or {}]
    assert len(numbers) == 101
    assert (numbers[0], numbers[1], numbers[-1]) == (0, 0.005, 0.5)


def refused(table: dict[str, Any], attributes: dict[str, tuple[str, ...]]) -> bool:
    """Whether a readout does not suit attributes."""
    try:
        parse_readout(table).check(attributes)
    except TopicError:
        return True
    return False


def test_letters_label_as_many_options_as_there_are() -> None:
    alphabet: dict[str, tuple[str, ...]]
    alphabet = {letter: (letter * 2,) for letter in string.ascii_uppercase}
    assert not refused({"kind": "choice"}, alphabet)
    assert refused({"kind": "choice"}, {**alphabet, "another": ("another",)})


def test_a_rating_has_two_to_ten_steps() -> None:
    suits = [
        steps
        for steps in range(13)
        if not refused({"kind": "rating", "scale": steps}, {})
    ]
    assert suits == [2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_every_kind_has_a_row_in_the_docs() -> None:
    page = PAGE.read_text("utf-8")
    for kind in KINDS:
        assert f"\n| `{kind}` |" in page, kind
