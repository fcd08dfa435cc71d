"""Articles of a MediaWiki dump (pages-articles.xml, also .bz2 and multistream), as plain text.

https://meta.wikimedia.org/wiki/Data_dumps/Dump_format describes the format. Talk pages, templates
and redirects are left out; mwparserfromhell strips the markup.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING
from xml.parsers import expat

from clinometer.contexts.mining.corpora.unpack import LONGEST_LINE, read
from clinometer.errors import ContextError
from clinometer.extras import require

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Node
    from mwparserfromhell.wikicode import Wikicode

TOO_LONG = f"article longer than {LONGEST_LINE // 1024 // 1024} MB"
_CHUNK = 1 << 16
_KEPT = ("ns", "text")
#: Elements whose content is not prose.
_NOT_PROSE = ("ref", "table", "gallery", "math", "timeline", "score", "syntaxhighlight", "pre")
#: [[File:…]], [[Category:…]] and links to other languages: a prefix, in any language.
_NAMESPACE_LINK = re.compile(r"^\s*:?[^\W\d_][\w -]*:\S", re.UNICODE)


def dump_articles(stream: IO[bytes], *, name: str, damage: Counter[str]) -> Iterator[str]:
    """The text of each article of a dump, one at a time."""
    require("reading a Wikipedia dump", "mwparserfromhell")
    pages = _Pages(name)
    while chunk := read(stream.read, _CHUNK, name=name):
        pages.feed(chunk)
        for page in pages.take():
            if page is None:
                damage[TOO_LONG] += 1
            else:
                yield plain_text(page)
    pages.feed(b"", final=True)


class _Pages:
    """Collects the wikitext of articles from the XML of a dump."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        # A dump has no DOCTYPE; one could define entities that expand without limit.
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._found: list[str | None] = []
        self._page: dict[str, list[str]] = {}
        self._open: str | None = None
        self._size, self._redirect, self._root = 0, False, False

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as exc:
            raise ContextError(f"{self._name}: damaged XML: {exc}") from exc

    def take(self) -> list[str | None]:
        """Articles that were completed since the last call; None for one that is too long."""
        found, self._found = self._found, []
        return found

    def _refuse(self, *declaration: object) -> None:
        raise ContextError(f"{self._name}: expected a MediaWiki dump, found XML with a DOCTYPE")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._root:
            self._root = True
            if tag != "mediawiki":
                raise ContextError(f"{self._name}: expected a MediaWiki dump, found XML <{tag}>")
        if tag == "page":
            self._page, self._size, self._redirect = {}, 0, False
        elif tag == "redirect":
            self._redirect = True
        elif tag in _KEPT:
            self._open = tag
            self._page[tag] = []

    def _characters(self, text: str) -> None:
        if self._open is not None:
            self._size += len(text)
            if self._size <= LONGEST_LINE:
                self._page[self._open].append(text)

    def _end(self, tag: str) -> None:
        if tag == self._open:
            self._open = None
        if tag == "page" and self._is_article():
            text = "".join(self._page.get("text", ()))
            self._found.append(text if self._size <= LONGEST_LINE else None)

    def _is_article(self) -> bool:
        return not self._redirect and "".join(self._page.get("ns", ("0",))).strip() == "0"


def plain_text(wikitext: str) -> str:
    """The prose of wikitext, one paragraph per line.

    >>> plain_text("'''Ann''' was a [[nurse|nurse]]<ref>A book</ref> {{when}} in [[Paris]].")
    'Ann was a nurse in Paris.'
    """
    import mwparserfromhell

    code = mwparserfromhell.parse(wikitext, skip_style_tags=True)
    for node in code.filter_tags(matches=lambda n: str(n.tag).lower() in _NOT_PROSE):
        _remove(code, node)
    for link in code.filter_wikilinks(matches=lambda n: bool(_NAMESPACE_LINK.match(str(n.title)))):
        _remove(code, link)
    text = code.strip_code(normalize=True, collapse=True)
    text = re.sub(r"'{2,}", "", text)
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _remove(code: Wikicode, node: Node) -> None:
    with contextlib.suppress(ValueError):  # it was inside a node that has been removed
        code.remove(node)
