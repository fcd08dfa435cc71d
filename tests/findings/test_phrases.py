"""Parts of sentences: intervals, amounts and lists."""

from __future__ import annotations

import pytest

from clinometer.findings.phrases import ends, listed, ruled_out, share_range
from clinometer.findings.unit import PERCENTAGE_POINTS, POINTS
from clinometer.statistics.estimate import Estimate


def interval(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, 0.95, "made")


def test_the_interval_of_a_size_has_no_signs_and_ends_at_zero() -> None:
    assert ends(interval(-0.3, -0.6, 0.1), 2, size=True) == " (0.00 to 0.60)"
    assert ends(interval(0.3, -0.1, 0.6), 2, size=True) == " (0.00 to 0.60)"


def test_a_range_of_one_share_is_that_share() -> None:
    assert share_range(0.2, 0.2) == "20 %"


@pytest.mark.parametrize("missing", [0, 1])
def test_nothing_is_ruled_out_where_a_difference_has_no_interval(missing: int) -> None:
    differences = [interval(0.1, -0.2, 0.4), interval(-0.1, -0.5, 0.3)]
    assert ruled_out(differences)["ruled out"].value == 0.5
    differences[missing] = Estimate(0.1)
    assert ruled_out(differences) == {}


def test_amounts_have_the_digits_of_their_unit() -> None:
    assert POINTS.more_or_less(interval(0.35, 0.09, 0.6)) == (
        "0.35 points more (0.09 to 0.60)"
    )
    assert PERCENTAGE_POINTS.more_or_less(Estimate(-3.52), " often") == (
        "3.5 percentage points less often"
    )


def test_the_last_of_several_names_is_joined_by_a_word() -> None:
    assert listed([]) == ""
    assert listed(["a", "b", "c"], "or") == "a, b or c"
