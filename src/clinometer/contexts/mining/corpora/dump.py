"""Articles of a Wikipedia dump, and the prose of their wikitext."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING
from xml.parsers import expat

from clinometer.contexts.mining.corpora.damage import ARTICLE_TOO_LONG, LONGEST_LINE
from clinometer.contexts.mining.corpora.streams import read_some
from clinometer.errors import ContextError
from clinometer.extras import require

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Node, Tag, Wikilink
    from mwparserfromhell.wikicode import Wikicode

_LONGEST_TAG = 1 << 20
"""Bytes of a tag or comment of a dump."""

_CHUNK = 1 << 16
"""Bytes of a dump that are read at a time."""

_FIELDS = ("ns", "text")
"""Elements of a dump whose text matters."""

_NOT_PROSE = frozenset(
    ["ref", "table", "gallery", "math", "timeline", "score", "syntaxhighlight", "pre"]
)
"""Elements of wikitext whose content is not prose."""

_NAMESPACE_LINK = re.compile(r"^\s*:?[^\W\d_][\w -]*:\S", re.UNICODE)
"""[[File:…]], [[Category:…]] and links to other languages: a prefix, in any language."""


def dump_articles(
    stream: IO[bytes], *, name: str, damage: Counter[str]
) -> Iterator[str]:
    """Yield the wikitext of each article of a dump, one at a time."""
    require("reading a Wikipedia dump", "mwparserfromhell")
    pages = _Pages(name)
    while chunk := read_some(stream.read, _CHUNK, name=name):
        pages.feed(chunk)
        for wikitext in pages.take():
            if wikitext is None:
                damage[ARTICLE_TOO_LONG] += 1
            else:
                yield wikitext
    pages.feed(b"", final=True)


class _Pages:
    """A collector of the wikitext of articles from the XML of a dump."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parser = expat.ParserCreate("UTF-8")  # whatever it says of itself
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        # A dump has no DOCTYPE; one could define entities that expand without limit.
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._complete: list[str | None] = []
        self._page: dict[str, list[str]] = {}
        self._open_field: str | None = None
        self._bytes_fed = 0
        self._page_size = 0
        self._is_redirect = False
        self._has_root = False

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        """Parse some more bytes."""
        self._bytes_fed += len(chunk)
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as exc:
            raise ContextError(f"{self._name}: damaged XML: {exc}") from exc
        # A tag is looked at from its beginning with every chunk: time grows with the square.
        if self._bytes_fed - self._parser.CurrentByteIndex > _LONGEST_TAG:
            raise self._not_a_dump("an endless tag")

    def take(self) -> list[str | None]:
        """Return the articles completed since the last call; None for one that is too long."""
        pages = self._complete
        self._complete = []
        return pages

    def _not_a_dump(self, contents: str) -> ContextError:
        return ContextError(
            f"{self._name}: expected a MediaWiki dump, found {contents}"
        )

    def _refuse_doctype(self, *declaration: object) -> None:
        raise self._not_a_dump("XML with a DOCTYPE")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._has_root:
            self._has_root = True
            if tag != "mediawiki":
                raise self._not_a_dump(f"XML <{tag}>")
        if tag == "page":
            self._page = {}
            self._page_size = 0
            self._is_redirect = False
        elif tag == "redirect":
            self._is_redirect = True
        elif tag in _FIELDS:
            self._open_field = tag
            self._page[tag] = []

    def _characters(self, text: str) -> None:
        if self._open_field is not None:
            self._page_size += len(text)
            if self._page_size <= LONGEST_LINE:
                self._page[self._open_field].append(text)

    def _end(self, tag: str) -> None:
        if tag == self._open_field:
            self._open_field = None
        if tag == "page" and self._is_article():
            is_whole = self._page_size <= LONGEST_LINE
            self._complete.append(self._field("text", "") if is_whole else None)

    def _is_article(self) -> bool:
        """Return whether a page is in the namespace of articles, and no redirect."""
        return not self._is_redirect and self._field("ns", "0").strip() == "0"

    def _field(self, tag: str, default: str) -> str:
        return "".join(self._page.get(tag, (default,)))


def plain_text(wikitext: str) -> str:
    """Return the prose of wikitext, one paragraph per line.

    >>> plain_text("'''Ann''' was a [[nurse|nurse]]<ref>A book</ref> {{when}} in [[Paris]].")
    'Ann was a nurse in Paris.'
    """
    import mwparserfromhell

    code = mwparserfromhell.parse(wikitext, skip_style_tags=True)
    for node in code.filter_tags(matches=_is_not_prose):
        _remove(code, node)
    for link in code.filter_wikilinks(matches=_is_in_namespace):
        _remove(code, link)
    text = code.strip_code(normalize=True, collapse=True)
    text = re.sub(r"'{2,}", "", text)
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n")]
    return "\n".join(line for line in lines if line)


def _is_not_prose(tag: Tag) -> bool:
    return str(tag.tag).lower() in _NOT_PROSE


def _is_in_namespace(link: Wikilink) -> bool:
    return _NAMESPACE_LINK.match(str(link.title)) is not None


def _remove(code: Wikicode, node: Node) -> None:
    with contextlib.suppress(ValueError):  # it was inside a node that has been removed
        code.remove(node)
