"""Drawings of charts: as SVG and PNG for files, and as SVG in pages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from clinometer.display.numbers import MEANINGS
from clinometer.display.text import proper
from clinometer.extras import require
from clinometer.report.charts.look import PALETTE, Spec
from clinometer.report.charts.marks import OURS

_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_COLOURS = {light: f"var(--{name},{light})" for name, (light, _) in PALETTE.items()}
_COLOUR = re.compile("|".join(_COLOURS))
_EMPTY_PATH = "M0,0h0v0h0Z"
_ID = re.compile(r"url\(#([^)]+)\)")
_TEXT = re.compile(r">[^<]+</(?:text|tspan)>")


def _signs(kind: str) -> re.Pattern[str]:
    """Return superscript or subscript characters other than ², which few fonts have."""
    blocks = (*range(0x1D2C, 0x1D6B), *range(0x2070, 0x209D))
    signs = [
        sign
        for sign in map(chr, blocks)
        if unicodedata.decomposition(sign).startswith(kind)
    ]
    return re.compile(f"[{''.join(signs)}]+")


_RAISED = _signs("<super>")
_LOWERED = _signs("<sub>")


def to_svg(spec: Spec) -> str:
    """Return a chart as a complete SVG file."""
    svg = str(_converter().vegalite_to_svg(spec, allowed_base_urls=[]))
    return _TEXT.sub(lambda text: small_signs(proper(text[0])), svg)


def to_png(spec: Spec, *, scale: float) -> bytes:
    """Return a chart as a PNG file, `scale` times as large."""
    return bytes(_converter().svg_to_png(to_svg(spec), scale=scale))


def _converter() -> Any:
    require("drawing charts", "vl_convert")
    import vl_convert

    return vl_convert


def small_signs(text: str) -> str:
    """Return superscripts and subscripts as smaller letters of the same font, moved up or down.

    If a font lacks the ᵇ of Rᵇ, the whole line would be drawn in another font.

    >>> small_signs("Rᵇ bias")
    'R<tspan dy="-.33em" font-size="70%">b</tspan><tspan dy=".23em">\u200b</tspan> bias'
    """
    text = _RAISED.sub(lambda signs: _moved(signs[0], "-.33em", ".23em"), text)
    return _LOWERED.sub(lambda signs: _moved(signs[0], ".2em", "-.14em"), text)


def _moved(signs: str, shift: str, shift_back: str) -> str:
    """Return letters moved by `shift`, in the small size, and back, in that of the line. An
    invisible character carries the shift back: a shift without a character has no effect."""
    letters = unicodedata.normalize("NFKC", signs)
    small = f'<tspan dy="{shift}" font-size="70%">{letters}</tspan>'
    return f'{small}<tspan dy="{shift_back}">\u200b</tspan>'


def inline(svg: str, *, key: str, label: str) -> str:
    """Return the same drawing for embedding in a page.

    Colours become CSS variables, so that it follows light, dark and print; ids get the prefix
    `key`, so that two drawings do not share one; the description of a mark moves from `aria-label`
    to `data-tip`, because the drawing as a whole is one image with one text alternative.
    """
    root = ElementTree.fromstring(svg)  # noqa: S314  (our own drawing)
    width = root.get("width", "680")
    height = root.get("height", "300")
    elements = [element for element in root.iter() if element is not root]
    # Vega never resets its ids: renumbered, the same chart gives the same text each time.
    names = [element.attrib["id"] for element in elements if "id" in element.attrib]
    ids = {name: f"{key}-{number}" for number, name in enumerate(dict.fromkeys(names))}
    for element in elements:
        element.tag = _local(element.tag)
        element.attrib = dict(_attributes(element.attrib, ids))
        meaning = _meaning(element)
        if meaning:
            element.attrib["data-tip"] = meaning
    _leave_out(root, _is_hidden)
    _leave_out(root, _is_empty_group)
    root.tag = "svg"
    root.attrib = {
        "role": "img",
        "aria-label": label,
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
    }
    return ElementTree.tostring(root, encoding="unicode")


def _meaning(element: ElementTree.Element) -> str:
    """Return what a label that begins with the name of a measure means; "" for anything else."""
    if element.tag != "text":
        return ""
    label = "".join(element.itertext()).replace("\u200b", "")
    label = label.replace("Rb ", "Rᵇ ").replace("Rv ", "Rᵛ ")
    for names, meaning in MEANINGS:
        if re.match(rf"(?:{names})(?!\w)", label):
            return meaning
    return ""


def _attributes(
    attributes: Mapping[str, str], ids: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Return the attributes of a mark to keep: numbers shortened, colours named, labels as tips."""
    for full_name, value in attributes.items():
        name = _local(full_name)
        if name == "aria-label" and value.startswith(OURS):
            yield "data-tip", proper(value.removeprefix(OURS))
        elif name == "id":
            yield name, ids[value]
        elif name == "href":
            yield name, value
        elif not (name.startswith("aria-") or name in ("class", "role")):
            value = _ID.sub(lambda match: f"url(#{ids.get(match[1], match[1])})", value)
            value = _LONG_NUMBER.sub(lambda match: _shortened(match[0]), value)
            yield name, _COLOUR.sub(lambda match: _COLOURS[match[0]], value)


def _shortened(number: str) -> str:
    """Return a number with at most two digits after the point."""
    return f"{float(number):.2f}".rstrip("0").rstrip(".")


def _local(name: str) -> str:
    """Return a name without its namespace, as in HTML."""
    return name.rpartition("}")[2]


def _is_hidden(element: ElementTree.Element) -> bool:
    """Return whether an element is a path that cannot be seen."""
    if element.tag != "path":
        return False
    return element.get("display") == "none" or element.get("d") == _EMPTY_PATH


def _is_empty_group(element: ElementTree.Element) -> bool:
    """Return whether an element is a group of nothing."""
    has_content = element.attrib or len(element) or element.text
    return element.tag == "g" and not has_content


def _leave_out(
    root: ElementTree.Element, unwanted: Callable[[ElementTree.Element], bool]
) -> None:
    """Remove the unwanted elements below a root."""
    for parent in list(root.iter()):
        for child in list(parent):
            if unwanted(child):
                parent.remove(child)
