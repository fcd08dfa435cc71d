"""Drawings as text: what becomes of signs that fonts lack."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.sax.saxutils import escape

import numpy as np
import pytest
from tests.report.pixels import drawn

from clinometer.report.charts import OURS
from clinometer.report.figure import inline, small_signs


def lowest(markup: str) -> int:
    """The last row of pixels with ink."""
    return int(np.flatnonzero(drawn(markup).any(axis=1))[-1])


@pytest.mark.parametrize("sign", ["\u1d47", "\u1d5b", "\u2081", "\u207a"])
def test_a_superscript_uses_the_font_of_its_line(sign: str) -> None:
    ours = drawn(small_signs(f"RgQ{sign}"))
    assert (ours[:, :48] == drawn("RgQ")[:, :48]).all()


def test_superscripts_are_raised_and_subscripts_lowered() -> None:
    assert lowest(small_signs("\u1d47")) < lowest("b")
    assert lowest(small_signs("\u2081")) > lowest("1")


@pytest.mark.parametrize("text", ["\u1d47R", "x\u2081\u2080R"])
def test_text_returns_to_the_baseline(text: str) -> None:
    ink = drawn(small_signs(text) + "xxxxxxxx")
    assert lowest("x") == np.flatnonzero(ink[:, 60:].any(axis=1))[-1]


@pytest.mark.parametrize("sign", ["\u1d47", "\u2081"])
def test_the_next_line_keeps_its_distance(sign: str) -> None:
    second = '</tspan><tspan x="2" dy="14">second'
    assert lowest("<tspan>R" + small_signs(sign) + second + "</tspan>") == lowest(
        "<tspan>R" + second + "</tspan>"
    )


def test_characters_that_fonts_have_are_left_alone() -> None:
    assert small_signs("R², 10 °, x&lt;y") == "R², 10 °, x&lt;y"


def test_text_that_looks_like_markup_stays_text() -> None:
    said = 'x > 0.123456 id="a" url(#a) #1d5f9e class="b"'
    tip = escape(said, {'"': "&quot;"}).replace("&gt;", ">")
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20" class="marks"><defs>'
        '<clipPath id="a"><rect/></clipPath></defs><g class="c"/><path d="M0,0h0v0h0Z"/>'
        f'<g clip-path="url(#a)" transform="translate(1.23456,2)"><path aria-label="{OURS}{tip}" '
        f'role="graphics-symbol"/><text>{escape(said)}</text></g></svg>'
    )
    root = ElementTree.fromstring(inline(svg, key="k", label='a "b" <c>'))  # noqa: S314
    size = {"viewBox": "0 0 10 20", "width": "10", "height": "20"}
    assert root.attrib == {"role": "img", "aria-label": 'a "b" <c>', **size}
    assert [element.tag for element in root] == ["defs", "g"]
    assert root[0][0].attrib == {"id": "k-0"}
    assert root[1].attrib == {"clip-path": "url(#k-0)", "transform": "translate(1.23,2)"}
    assert root[1][0].attrib == {"data-tip": said}
    assert root[1][1].text == said
