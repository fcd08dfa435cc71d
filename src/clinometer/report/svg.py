"""Drawings as text: SVG for files, and SVG that lives inside a page."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

from clinometer.extras import require
from clinometer.report.charts.style.theme import OURS, PALETTE

_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_LABELLED_MARK = re.compile(
    rf' aria-label="{OURS}([^"]*)" role="graphics-symbol" aria-roledescription="[^"]*"'
)
_ARIA = re.compile(r' (?:role="graphics-[a-z]+"|aria-[a-z]+="[^"]*"|class="[^"]*")')
_COLOURS = {light: f"var(--{name},{light})" for name, (light, _) in PALETTE.items()}
_COLOUR = re.compile("|".join(_COLOURS))
_HIDDEN = re.compile(r"<path[^>]*(?:display=\"none\"|d=\"M0,0h0v0h0Z\")[^>]*/>")
_TEXT = re.compile(r">[^<]+</(?:text|tspan)>")


def _signs(kind: str) -> re.Pattern[str]:
    """The superscript or subscript signs beyond ², which few fonts have."""
    blocks = (*range(0x1D2C, 0x1D6B), *range(0x2070, 0x209D))
    known = [c for c in map(chr, blocks) if unicodedata.decomposition(c).startswith(kind)]
    return re.compile(f"[{''.join(known)}]+")


_RAISED, _LOWERED = _signs("<super>"), _signs("<sub>")


def to_svg(chart: Any) -> str:
    """A chart as a complete SVG file."""
    return _drawn(chart.to_dict(validate=False))


def to_png(chart: Any, *, scale: float = 2.0) -> bytes:
    """A chart as a PNG, on white."""
    spec = chart.to_dict(validate=False)
    spec.setdefault("config", {})["background"] = "white"
    return bytes(_converter().svg_to_png(_drawn(spec), scale=scale))


def _drawn(spec: dict[str, Any]) -> str:
    svg = str(_converter().vegalite_to_svg(spec, allowed_base_urls=[]))
    return _TEXT.sub(lambda text: small_signs(text[0]), svg)


def small_signs(text: str) -> str:
    """Superscripts and subscripts as smaller letters of the same font, moved up or down.

    A font that lacks the sign in Rᵇ would have the whole line drawn in another one.

    >>> small_signs("Rᵇ bias")
    'R<tspan dy="-.33em" font-size="70%">b</tspan><tspan dy=".23em">\u200b</tspan> bias'
    """
    text = _RAISED.sub(lambda signs: _moved(signs[0], "-.33em", ".23em"), text)
    return _LOWERED.sub(lambda signs: _moved(signs[0], ".2em", "-.14em"), text)


def _moved(signs: str, away: str, back: str) -> str:
    """`away` is in the small size, `back` in that of the line, which an invisible sign carries
    back to its height: a shift without a letter would be none."""
    letters = unicodedata.normalize("NFKC", signs)
    return f'<tspan dy="{away}" font-size="70%">{letters}</tspan><tspan dy="{back}">\u200b</tspan>'


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
    require("drawing charts", "vl_convert")
    import vl_convert

    return vl_convert
