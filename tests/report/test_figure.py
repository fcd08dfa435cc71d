"""Drawings as text: what becomes of signs that fonts lack."""

from __future__ import annotations

import io
from functools import cache
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import numpy as np
import pytest
from PIL import Image

from clinometer.report.charts import FONT, OURS
from clinometer.report.figure import inline, small_signs


def drawn(markup: str) -> np.ndarray:
    """How much ink is in each pixel of a line (or several) in the font of the charts."""
    import vl_convert

    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="60">'
        f'<text x="2" y="20" font-family="{FONT}" font-size="12">{markup}</text></svg>'
    )
    with Image.open(io.BytesIO(vl_convert.svg_to_png(svg, scale=2))) as image:
        return np.asarray(image)[:, :, 3]


@cache
def stays_in_font(sign: str) -> bool:
    """False for a sign that the font lacks: the letters before it are drawn in another font too.
    `sign` as it stands in an SVG."""
    before = 48  # pixels that RgQ takes
    return bool((drawn("RgQ" + sign)[:, :before] == drawn("RgQ")[:, :before]).all())


def lowest(markup: str) -> int:
    """The last row of pixels with ink."""
    return int(np.flatnonzero(drawn(markup).any(axis=1))[-1])


@pytest.mark.parametrize("sign", ["\u1d47", "\u1d5b", "\u2081", "\u207a"])
def test_a_superscript_uses_the_font_of_its_line(sign: str) -> None:
    assert not stays_in_font(sign)
    assert stays_in_font(small_signs(sign))


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
    assert root[1].attrib == {
        "clip-path": "url(#k-0)",
        "transform": "translate(1.23,2)",
    }
    assert root[1][0].attrib == {"data-tip": said}
    assert root[1][1].text == said
