"""Numbers for people."""

from __future__ import annotations

import pytest

from clinometer.display.numbers import between, p_value, risk, show


def test_missing_values_are_a_dash() -> None:
    assert risk(None) == p_value(None) == show(None, "share") == "–"
    assert between(None, 1.0) == ""
    assert between(0.4554, 0.5) == "0.455–0.500"


@pytest.mark.parametrize(("p", "text"), [(0.0009, "< 0.001"), (0.001, "0.001"), (0.5, "0.500")])
def test_small_p_values_are_bounded(p: float, text: str) -> None:
    assert p_value(p) == show(p, "p") == text


def test_shares_keep_two_digits_when_small() -> None:
    assert (show(0.123, "share"), show(0.00123, "share")) == ("12.3 %", "0.12 %")
