"""Drawings as text: what becomes of signs that fonts lack."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.pixels import drawn

from clinometer.report.svg import small_signs


def lowest(markup: str) -> int:
    """The last row of pixels with ink."""
    return int(np.flatnonzero(drawn(markup).any(axis=1))[-1])


@pytest.mark.parametrize("sign", ["\u1d47", "\u1d5b", "\u2081", "\u207a"])
def test_a_small_sign_is_drawn_in_the_font_of_its_line(sign: str) -> None:
    ours = drawn(small_signs(f"RgQ{sign}"))
    assert (ours[:, :48] == drawn("RgQ")[:, :48]).all()


def test_superscripts_stand_above_the_line_and_subscripts_below() -> None:
    assert lowest(small_signs("\u1d47")) < lowest("b")
    assert lowest(small_signs("\u2081")) > lowest("1")


@pytest.mark.parametrize("text", ["\u1d47R", "x\u2081\u2080R"])
def test_the_line_comes_back_to_its_height(text: str) -> None:
    ink = drawn(small_signs(text) + "xxxxxxxx")
    assert lowest("x") == np.flatnonzero(ink[:, 60:].any(axis=1))[-1]


@pytest.mark.parametrize("sign", ["\u1d47", "\u2081"])
def test_the_next_line_keeps_its_distance(sign: str) -> None:
    second = '</tspan><tspan x="2" dy="14">second'
    assert lowest("<tspan>R" + small_signs(sign) + second + "</tspan>") == lowest(
        "<tspan>R" + second + "</tspan>"
    )


def test_signs_that_fonts_have_are_left_alone() -> None:
    assert small_signs("R², 10 °, x&lt;y") == "R², 10 °, x&lt;y"
