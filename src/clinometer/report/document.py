"""What every page in a single file shares: its head, style, scripts and policy."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup, escape

from clinometer import __version__
from clinometer.display.numbers import MEANINGS, percent, show
from clinometer.display.text import brief, proper, visible
from clinometer.report.charts.look import PALETTE


def environment(*loaders: jinja2.BaseLoader) -> jinja2.Environment:
    """Return templates of the report, with the filters that make untrusted text safe to show."""
    templates = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [*loaders, jinja2.PackageLoader("clinometer.report", "templates")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "visible": visible,
        "brief": brief,
        "proper": proper,
        "explained": explained,
        "show": show,
        "percent": percent,
        "tail": tail,
        "unbroken": unbroken,
        "source_hash": source_hash,
    }
    return templates


def render_document(
    template: str, *, css: str = "", scripts: Sequence[str] = (), **content: Any
) -> str:
    """Return a page that extends `document.html`; `css` follows the style of all pages."""
    page: str = (
        environment()
        .get_template(template)
        .render(
            css=stylesheet() + css,
            scripts=scripts,
            made=datetime.now(UTC).strftime("%-d %B %Y"),
            version=__version__,
            **content,
        )
    )
    return page


def tail(text: str, length: int) -> str:
    """Return the end of a text, for the words before a slot.

    >>> tail("The old librarian believed that", 15)
    '… believed that'
    """
    safe = visible(text)
    if len(safe) <= length:
        return safe
    return "… " + safe[-length:].partition(" ")[2]


def unbroken(text: str) -> str:
    """Return a text whose numbers stay with what belongs to them when a line ends.

    >>> unbroken("R 0.25, 34 % of it")
    'R\\xa00.25, 34\\xa0% of it'
    """
    return re.sub(r"\b(R) (?=\d)|(?<=\d) (?=%)", "\\1\N{NO-BREAK SPACE}", text)


_NAMED = re.compile(
    r"(?<![\w&#.-])(?:"
    + "|".join(f"({names})" for names, _ in MEANINGS)
    + r")(?![\w+-])"
)


def explained(text: str, *, reachable: bool = True) -> Markup:
    """Return text in which R, its parts, the floor and effective contexts say what they are when
    one points at them; `reachable` by the keyboard too, which a name inside a button must not be.

    >>> explained("R <1")  # doctest: +ELLIPSIS
    Markup('<abbr tabindex="0" title="Discrimination risk R: ...">R</abbr> &lt;1')
    """

    def with_meaning(match: re.Match[str]) -> str:
        meaning = MEANINGS[(match.lastindex or 1) - 1][1]
        focus = ' tabindex="0"' if reachable else ""
        return f'<abbr{focus} title="{escape(meaning)}">{match[0]}</abbr>'

    return Markup(_NAMED.sub(with_meaning, str(escape(text))))  # noqa: S704  (escaped above)


def source_hash(text: str) -> str:
    """Return the hash of an inline script for a content security policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def asset(name: str) -> str:
    """Return a style sheet or script of the pages."""
    file = resources.files("clinometer.report") / "assets" / name
    return file.read_text("utf-8")


@cache
def stylesheet() -> str:
    """Return the style of pages, with the palette in light, dark and print."""
    light = "".join(f"--{name}:{colour};" for name, (colour, _) in PALETTE.items())
    dark = "".join(f"--{name}:{colour};" for name, (_, colour) in PALETTE.items())
    return (
        f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
        f"{asset('page.css')}"
    )
