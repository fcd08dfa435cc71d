"""A chart with its title, caption, text alternative and data; as SVG for files and for pages."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from clinometer.display.numbers import MEANINGS
from clinometer.display.text import proper, visible
from clinometer.extras import require
from clinometer.report.charts.look import NARROW, PALETTE, WIDE, Spec, wrapped
from clinometer.report.charts.marks import OURS
from clinometer.storage.rows import csv_text


@dataclass(frozen=True, eq=False)
class Figure:
    """One chart.

    key      file name and id on a page: letters, digits, -
    title    what it shows, in words that readers remember
    caption  how to read it, and its basis (n, n_eff)
    alt      the text alternative, for those who cannot see it
    draw     width -> specification of Vega-Lite
    table    the numbers behind it, if they are few enough to read
    """

    key: str
    title: str
    caption: str
    alt: str
    draw: Callable[[int], Spec]
    table: pd.DataFrame | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Names of groups, models and contexts are other people's text."""
        for name in ("title", "caption", "alt"):
            object.__setattr__(self, name, proper(visible(getattr(self, name))))

    def inline(self, prefix: str = "") -> dict[str, str]:
        """The drawing embedded in a page, for wide and for narrow screens."""
        sizes = {"wide": WIDE, "narrow": NARROW}
        return {
            size: inline(
                to_svg(self.draw(width)),
                key=f"{prefix}{self.key}-{size}",
                label=self.alt,
            )
            for size, width in sizes.items()
        }

    def data_address(self) -> str:
        """The numbers behind the chart as a CSV file in a data address; "" where it has none."""
        if self.table is None:
            return ""
        data = base64.b64encode(csv_text(self.table).encode())
        return f"data:text/csv;base64,{data.decode()}"

    def spec(self, width: int = WIDE) -> Spec:
        """The chart alone, with title and caption in it: what a notebook shows, and what any tool
        for Vega-Lite opens."""
        title = {
            "text": wrapped(self.title, int(width / 1.4)),
            "subtitle": wrapped(self.caption, width),
        }
        return {**self.draw(width), "title": title, "description": self.alt}

    def svg(self, width: int = WIDE) -> str:
        return to_svg(self.spec(width))

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg()

    def png(self, width: int = WIDE, *, scale: float = 2.0) -> bytes:
        """On white."""
        spec = self.spec(width)
        spec["config"] = {**spec["config"], "background": "white"}
        return bytes(_converter().svg_to_png(to_svg(spec), scale=scale))


def chart(
    key: str,
    title: str,
    caption: str,
    table: pd.DataFrame,
    form: str,
    draw: Callable[..., Spec],
    **options: Any,
) -> Figure:
    """A chart of a table; `form` names the columns that its text alternative reads out."""
    words = "; ".join(form.format_map(row) for row in table.to_dict("records"))
    return Figure(
        key=key,
        title=title,
        caption=caption,
        alt=f"{title}. {words}.",
        draw=lambda width: draw(table, width=width, **options),
        table=table,
    )


_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_COLOURS = {light: f"var(--{name},{light})" for name, (light, _) in PALETTE.items()}
_COLOUR = re.compile("|".join(_COLOURS))
_NOTHING = "M0,0h0v0h0Z"
_ID = re.compile(r"url\(#([^)]+)\)")
_TEXT = re.compile(r">[^<]+</(?:text|tspan)>")


def _signs(kind: str) -> re.Pattern[str]:
    """Superscript and subscript characters other than ², which few fonts have."""
    blocks = (*range(0x1D2C, 0x1D6B), *range(0x2070, 0x209D))
    signs = [
        c for c in map(chr, blocks) if unicodedata.decomposition(c).startswith(kind)
    ]
    return re.compile(f"[{''.join(signs)}]+")


_RAISED, _LOWERED = _signs("<super>"), _signs("<sub>")


def to_svg(spec: Spec) -> str:
    """A chart as a complete SVG file."""
    svg = str(_converter().vegalite_to_svg(spec, allowed_base_urls=[]))
    return _TEXT.sub(lambda text: small_signs(proper(text[0])), svg)


def small_signs(text: str) -> str:
    """Superscripts and subscripts as smaller letters of the same font, moved up or down.

    If a font lacks the ᵇ of Rᵇ, the whole line would be drawn in another font.

    >>> small_signs("Rᵇ bias")
    'R<tspan dy="-.33em" font-size="70%">b</tspan><tspan dy=".23em">\u200b</tspan> bias'
    """
    text = _RAISED.sub(lambda signs: _moved(signs[0], "-.33em", ".23em"), text)
    return _LOWERED.sub(lambda signs: _moved(signs[0], ".2em", "-.14em"), text)


def _moved(signs: str, away: str, back: str) -> str:
    """`away` is in the small size, `back` in that of the line. An invisible character carries the
    shift back: a shift without a character has no effect."""
    letters = unicodedata.normalize("NFKC", signs)
    return f'<tspan dy="{away}" font-size="70%">{letters}</tspan><tspan dy="{back}">\u200b</tspan>'


def inline(svg: str, *, key: str, label: str) -> str:
    """The same drawing for embedding in a page.

    Colours become CSS variables, so that it follows light, dark and print; ids get the prefix
    `key`, so that two drawings do not share one; the description of a mark moves from `aria-label`
    to `data-tip`, because the drawing as a whole is one image with one text alternative.
    """
    root = ElementTree.fromstring(svg)  # noqa: S314  (our own drawing)
    size = {
        name: root.get(name, other)
        for name, other in (("width", "680"), ("height", "300"))
    }
    elements = [element for element in root.iter() if element is not root]
    # Vega never resets its ids: renumbered, the same chart gives the same text each time.
    names = [element.attrib["id"] for element in elements if "id" in element.attrib]
    ids = {old: f"{key}-{number}" for number, old in enumerate(dict.fromkeys(names))}
    for element in elements:
        element.tag = _local(element.tag)
        element.attrib = dict(_attributes(element.attrib, ids))
        if element.tag == "text" and (meaning := _meaning("".join(element.itertext()))):
            element.attrib["data-tip"] = meaning
    _leave_out(root, _is_hidden)
    _leave_out(
        root, lambda e: e.tag == "g" and not e.attrib and not len(e) and not e.text
    )
    box = f"0 0 {size['width']} {size['height']}"
    root.tag, root.attrib = (
        "svg",
        {"role": "img", "aria-label": label, "viewBox": box, **size},
    )
    return ElementTree.tostring(root, encoding="unicode")


def _meaning(label: str) -> str:
    """What a label that begins with the name of a measure means; "" for any other."""
    plain = label.replace("\u200b", "")
    for letters, sign in (("Rb ", "Rᵇ "), ("Rv ", "Rᵛ ")):
        plain = plain.replace(letters, sign)
    found = (
        meaning for names, meaning in MEANINGS if re.match(rf"(?:{names})(?!\w)", plain)
    )
    return next(found, "")


def _attributes(
    attributes: Mapping[str, str], ids: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The attributes of a mark to keep: numbers shortened, colours named, labels as tips."""
    for full, value in attributes.items():
        name = _local(full)
        if name == "aria-label" and value.startswith(OURS):
            yield "data-tip", proper(value.removeprefix(OURS))
        elif name == "id":
            yield name, ids[value]
        elif name == "href":
            yield name, value
        elif not (name.startswith("aria-") or name in ("class", "role")):
            value = _ID.sub(lambda m: f"url(#{ids.get(m[1], m[1])})", value)
            value = _LONG_NUMBER.sub(
                lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), value
            )
            yield name, _COLOUR.sub(lambda m: _COLOURS[m[0]], value)


def _local(name: str) -> str:
    """A name without its namespace, as in HTML."""
    return name.rpartition("}")[2]


def _is_hidden(element: ElementTree.Element) -> bool:
    return element.tag == "path" and (
        element.get("display") == "none" or element.get("d") == _NOTHING
    )


def _leave_out(
    root: ElementTree.Element, unwanted: Callable[[ElementTree.Element], bool]
) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if unwanted(child):
                parent.remove(child)


def _converter() -> Any:
    require("drawing charts", "vl_convert")
    import vl_convert

    return vl_convert
