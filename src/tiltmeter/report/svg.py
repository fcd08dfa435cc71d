"""Drawings as text: SVG for files, and SVG that lives inside a page."""

from __future__ import annotations

import html
import re
from typing import Any

from tiltmeter.errors import MissingExtra
from tiltmeter.report.charts.theme import OURS, PALETTE

_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_LABELLED_MARK = re.compile(
    rf' aria-label="{OURS}([^"]*)" role="graphics-symbol" aria-roledescription="[^"]*"'
)
_ARIA = re.compile(r' (?:role="graphics-[a-z]+"|aria-[a-z]+="[^"]*"|class="[^"]*")')
_COLOURS = {light: f"var(--{name},{light})" for name, (light, _) in PALETTE.items()}
_COLOUR = re.compile("|".join(_COLOURS))
_HIDDEN = re.compile(r"<path[^>]*(?:display=\"none\"|d=\"M0,0h0v0h0Z\")[^>]*/>")


def to_svg(chart: Any) -> str:
    """A chart as a complete SVG file."""
    return str(_converter().vegalite_to_svg(chart.to_dict(validate=False), allowed_base_urls=[]))


def to_png(chart: Any, *, scale: float = 2.0) -> bytes:
    """A chart as a PNG, on white."""
    spec = chart.to_dict(validate=False)
    spec.setdefault("config", {})["background"] = "white"
    return bytes(_converter().vegalite_to_png(spec, scale=scale, allowed_base_urls=[]))


def inline(svg: str, *, key: str, label: str) -> str:
    """The same drawing for the inside of a page.

    Colours become CSS variables, so that it follows light, dark and print; ids get `key` before
    them, so that two drawings do not share one; what a mark stands for moves from `aria-label` to
    `data-tip`, because the drawing as a whole is one image with one text alternative.
    """
    head, _, body = svg.partition(">")
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', head)
    width, height = size.groups() if size else ("680", "300")
    body = _LABELLED_MARK.sub(r' data-tip="\1"', body)
    body = _HIDDEN.sub("", body)
    body = _outside_tips(body)
    body = body.replace("xlink:href=", "href=")
    # Vega numbers ids on and on: counted afresh, the same chart is the same text each time.
    for number, old in enumerate(dict.fromkeys(re.findall(r'<[^>]* id="([^"]+)"', body))):
        body = body.replace(f' id="{old}"', f' id="{key}-{number}"')
        body = body.replace(f"url(#{old})", f"url(#{key}-{number})")
    body = re.sub(r"<g>(\s*)</g>", "", body)
    return (
        f'<svg role="img" aria-label="{html.escape(label)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">{body}'
    )


def _outside_tips(body: str) -> str:
    """Numbers, colours and attributes shortened in what draws, never in what is text."""
    parts = re.split(r'( data-tip="[^"]*"|>[^<]+<|href="[^"]*")', body)
    for i in range(0, len(parts), 2):
        part = _ARIA.sub("", parts[i])
        part = _LONG_NUMBER.sub(lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), part)
        parts[i] = _COLOUR.sub(lambda m: _COLOURS[m[0]], part)
    return "".join(parts)


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtra("drawing charts", "vl-convert-python", extra="report") from error
    return vl_convert
