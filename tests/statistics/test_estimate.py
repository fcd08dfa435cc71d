"""How an estimate is shown."""

from __future__ import annotations

from clinometer.statistics.estimate import Estimate


def test_an_estimate_is_shown_with_its_interval() -> None:
    assert repr(Estimate(0.12345)) == "0.123"
    assert repr(Estimate(0.2, 0.1, 0.3, 0.95)) == "0.200 (0.100 to 0.300)"


def test_a_notebook_shows_the_level_too() -> None:
    assert Estimate(0.2)._repr_html_() == "<span>0.200</span>"
    shown = Estimate(0.2, 0.1, 0.3, 0.9)._repr_html_()
    assert shown == "<span>0.200 (0.100 to 0.300) <small>90 % interval</small></span>"
