"""Drawings as text: what becomes of signs that fonts lack."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

from clinometer.report.charts.marks import OURS
from clinometer.report.svg import inline, small_signs


def shifts(markup: str) -> list[tuple[str, float, float]]:
    """Text of each span, its shift from the baseline and its size, in sizes of the line.

    Read as SVG defines it: `dy` is in the size of its own span, and stays in force for all
    text after it.
    """
    line = ElementTree.fromstring(f"<text>{markup}</text>")  # noqa: S314
    spans = [(line.text or "", 0.0, 1.0)]
    shift = 0.0
    for span in line:
        size = float(span.get("font-size", "100%").removesuffix("%")) / 100
        shift += size * float(span.get("dy", "0em").removesuffix("em"))
        spans.append((span.text or "", shift, size))
        spans.append((span.tail or "", shift, 1.0))
    return spans


@pytest.mark.parametrize("sign", ["\u1d47", "\u1d5b", "\u2081", "\u207a"])
def test_superscripts_are_written_with_letters_that_every_font_has(sign: str) -> None:
    text = "".join(text for text, _, _ in shifts(small_signs(f"R{sign}")))
    assert text.replace("\u200b", "").isascii()


def test_superscripts_are_raised_and_subscripts_lowered() -> None:
    (_, raised, size), *_ = shifts(small_signs("\u1d47"))[1:]
    (_, lowered, _), *_ = shifts(small_signs("\u2081"))[1:]
    assert raised < -0.1 < 0.1 < lowered  # up is negative in SVG
    assert size < 1


@pytest.mark.parametrize("signs", ["\u1d47", "\u2081", "x\u2081\u2080", "\u1d47\u2081"])
def test_text_after_a_sign_returns_to_the_baseline(signs: str) -> None:
    text, shift, size = shifts(small_signs(signs) + "second line")[-1]
    assert (text, size) == ("second line", 1.0)
    assert abs(shift) < 0.005  # a twentieth of a pixel in letters of 12


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
