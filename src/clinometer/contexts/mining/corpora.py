"""Corpora in all common formats: list the files and stream their articles.

A place is a file (.txt, .jsonl, a Wikipedia dump .xml, each also as .gz, .zst, .bz2 or .xz;
.parquet, .zip), a member of a zip file (calls.zip:switchboard/transcript), or a folder of these.
Nothing is ever loaded whole. Damaged articles are counted and skipped; a source without a readable
one is an error.
"""

from __future__ import annotations

import bz2
import contextlib
import itertools
import json
import lzma
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

from clinometer.errors import ContextError
from clinometer.extras import require
from clinometer.storage.untrusted import PACKED, Unpack, bounded, open_binary

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Node
    from mwparserfromhell.wikicode import Wikicode

_PACKED: dict[str, Unpack] = {**PACKED, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
_KINDS = (".txt", ".jsonl", ".xml")
_ENDINGS = tuple(f"{kind}{packed}" for kind in _KINDS for packed in ("", *_PACKED))
_FILES = (*_ENDINGS, ".parquet", ".zip")

#: A line longer than this is not an article; it is skipped, and never loaded whole.
LONGEST_LINE = 16 * 1024 * 1024
#: A .txt file is split at line ends into articles of at least this many characters.
BLOCK = 10_000
#: Bytes of a tag or comment of a dump.
_LONGEST_TAG = 1 << 20
#: Bytes of a dump that are read at a time.
_CHUNK = 1 << 16

#: Times its own size to which a file may unpack, and bytes that any may: text packs to a fifth, and
#: what is made to keep a reader busy to a ten-thousandth.
_MOST_TIMES, _ALWAYS = 1000, 16 << 20

#: What is skipped or read with a guess, as counted in the sidecar.
TOO_LONG = f"line longer than {LONGEST_LINE // 1024 // 1024} MB"
ARTICLE_TOO_LONG = f"article longer than {LONGEST_LINE // 1024 // 1024} MB"
NOT_UTF8 = "not valid UTF-8"
AS_WINDOWS_1252 = "read as Windows-1252 (not valid UTF-8)"
NOT_JSON = "not valid JSON"
NO_TEXT = "field missing or not text"
NOT_UNICODE = "text with half a surrogate pair"

#: Elements of a Wikipedia dump, and of wikitext those whose content is not prose.
_FIELDS = ("ns", "text")
_NOT_PROSE = (
    "ref",
    "table",
    "gallery",
    "math",
    "timeline",
    "score",
    "syntaxhighlight",
    "pre",
)
#: [[File:…]], [[Category:…]] and links to other languages: a prefix, in any language.
_NAMESPACE_LINK = re.compile(r"^\s*:?[^\W\d_][\w -]*:\S", re.UNICODE)


@dataclass(frozen=True)
class Source:
    """One stream of articles: a file, or a member of a zip file."""

    place: str
    name: str  # without folders, as in the sidecar and messages
    member: str | None = None

    @property
    def identity(self) -> list[object]:
        """Identifies the source, to detect changes when a run is resumed."""
        about = Path(self.place).stat()
        return [self.name, about.st_size, about.st_mtime_ns]

    @property
    def kind(self) -> str:
        """The suffix of the format, without that of the compression."""
        path = Path(self.member or self.place)
        return (path.with_suffix("") if path.suffix in _PACKED else path).suffix


def find_sources(places: Iterable[str]) -> list[Source]:
    """Every source of the places, in a fixed order; an error names a place that has none."""
    sources: list[Source] = []
    for place in places:
        before = len(sources)
        sources += _sources(place)
        if len(sources) == before:
            raise ContextError(
                f"{place}: no corpus file in it; expected {', '.join(_FILES)}"
            )
    if not sources:
        raise ContextError("corpus: expected at least one file or folder, found none")
    return sources


def articles(
    source: Source,
    *,
    field: str,
    damage: Counter[str],
    numbers: Iterable[int] | None = None,
) -> Iterator[str]:
    """The texts of a source, one by one, or of its articles with these `numbers`, which count from
    1 and increase; `damage` counts what is skipped."""
    texts = raw_articles(source, field=field, damage=damage)
    if numbers is not None:
        texts = _numbered(texts, numbers)
    return map(plain_text, texts) if source.kind == ".xml" else texts


def _numbered(texts: Iterator[str], numbers: Iterable[int]) -> Iterator[str]:
    before = 0
    for number in numbers:
        yield from itertools.islice(texts, number - before - 1, number - before)
        before = number


def raw_articles(source: Source, *, field: str, damage: Counter[str]) -> Iterator[str]:
    """The same without the markup of a dump taken out, which takes most of the time."""
    name, kind = source.name, source.kind
    if kind == ".parquet":
        rows = _parquet_rows(Path(source.place), field)
        yield from _texts(rows, field, name=name, damage=damage)
        return
    with _opened(source.place, source.member) as stream:
        if kind == ".xml":
            yield from _dump_articles(stream, name=name, damage=damage)
            return
        lines = _lines(stream, name=name, damage=damage)
        if kind == ".jsonl":
            yield from _texts(
                _json_lines(lines, damage), field, name=name, damage=damage
            )
        else:
            yield from _blocks(lines)


def _sources(place: str) -> list[Source]:
    path = Path(place)
    if path.is_dir():
        inside = sorted(
            p for p in path.rglob("*") if p.is_file() and p.name.endswith(_FILES)
        )
        return [source for p in inside for source in _sources(str(p))]
    if not path.exists() and ".zip:" in place:
        archive, _, member = place.rpartition(":")
        return _members(Path(archive), member)
    if not path.exists():
        raise ContextError(f"{place}: no such file or folder; check the path")
    if path.name.endswith(".zip"):
        return _members(path, None)
    if not path.name.endswith(_FILES):
        raise ContextError(f"{place}: expected a file that ends in {', '.join(_FILES)}")
    return [Source(str(path), _shown(path))]


def _shown(path: Path) -> str:
    """The name of a file as text, also where it is not UTF-8."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def _members(path: Path, wanted: str | None) -> list[Source]:
    try:
        with open_binary(path) as raw, zipfile.ZipFile(raw) as archive:
            names = sorted(n for n in archive.namelist() if not n.endswith("/"))
    except (OSError, zipfile.BadZipFile, ValueError, RuntimeError) as exc:
        raise ContextError(f"{path}: not a readable zip file: {exc}") from exc
    if wanted is not None and wanted not in names:
        raise ContextError(
            f"{path}: expected one of its members ({', '.join(names[:8])}), found {wanted!r}"
        )
    chosen = (
        [wanted] if wanted is not None else [n for n in names if n.endswith(_ENDINGS)]
    )
    return [Source(str(path), f"{_shown(path)}:{name}", name) for name in chosen]


def _parquet_rows(path: Path, field: str) -> Iterator[dict[str, Any]]:
    """The column of a parquet file, some rows at a time; without it one row of Nones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        left = max(_ALWAYS, path.stat().st_size * _MOST_TIMES)
        with open_binary(path) as raw:
            columns = pq.read_schema(raw).names
            if field not in columns:
                yield dict.fromkeys(columns)
                return
            # As references: a text that a thousand rows share is in memory once.
            with pq.ParquetFile(raw, read_dictionary=[field]) as file:
                batches = file.iter_batches(batch_size=64, columns=[field])
                for value in itertools.chain.from_iterable(
                    b.column(field) for b in batches
                ):
                    text = value.as_py()
                    left -= len(text) if isinstance(text, str) else 0
                    if left < 0:  # a million references to one long text
                        raise OSError(
                            f"it is more than {_MOST_TIMES:,} times as large as the file"
                        )
                    yield {field: text}
    except (OSError, pa.ArrowException) as exc:
        message = " ".join(str(exc).split())  # may have several lines
        raise ContextError(
            f"{path.name}: not a readable parquet file: {message}"
        ) from exc


@contextlib.contextmanager
def _opened(place: str, member: str | None = None) -> Iterator[IO[bytes]]:
    """The bytes of a file or a zip member, unpacked as they are read."""
    with contextlib.ExitStack() as stack:
        raw: Any
        try:
            about = Path(place).stat()
            size = about.st_size
            if member is not None:
                archive = _archive(place, about.st_mtime_ns)
                raw = stack.enter_context(archive.open(member))
                size = archive.getinfo(member).compress_size
            else:
                raw = stack.enter_context(open_binary(Path(place)))
        except (
            zlib.error,
            OSError,
            zipfile.BadZipFile,
            RuntimeError,
            ValueError,
        ) as exc:
            raise ContextError(f"{place}: cannot be read: {exc}") from exc
        large = OSError(f"it is more than {_MOST_TIMES:,} times as large as the file")
        most, unpack = (
            max(_ALWAYS, size * _MOST_TIMES),
            _PACKED.get(Path(member or place).suffix),
        )
        yield stack.enter_context(bounded(raw, unpack, most, large))


@lru_cache(maxsize=1)
def _archive(place: str, changed_ns: int) -> zipfile.ZipFile:
    """A zip file, whose list of members is read once for all of them."""
    return zipfile.ZipFile(place)


def _lines(stream: IO[bytes], *, name: str, damage: Counter[str]) -> Iterator[str]:
    """The lines of a stream as text, without their ends and a byte-order mark; raises if it is not
    text."""
    first = True
    while line := _read(stream.readline, LONGEST_LINE, name=name):
        long = len(line) == LONGEST_LINE and not line.endswith(b"\n")
        if long:
            while (
                more := _read(stream.readline, 1 << 20, name=name)
            ) and not more.endswith(b"\n"):
                pass
        if first:
            first = False
            if line.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise ContextError(
                    f"{name}: expected UTF-8, found UTF-16; save it as UTF-8"
                )
            if b"\0" in line[:8192]:
                raise ContextError(f"{name}: expected text, found a binary file")
            line = line.removeprefix(b"\xef\xbb\xbf")
        if long:
            damage[TOO_LONG] += 1
        elif (text := _decoded(line, damage)) is not None:
            yield text.rstrip("\r\n")


def _read(method: Any, size: int, *, name: str) -> bytes:
    """`method(size)` of a stream; a damaged file becomes a one-line error."""
    try:
        data: bytes = method(size)
    except (OSError, lzma.LZMAError, zipfile.BadZipFile) as exc:
        why = getattr(exc, "strerror", None) or exc
        raise ContextError(f"{name}: damaged, cannot be unpacked: {why}") from exc
    return data


def _decoded(line: bytes, damage: Counter[str]) -> str | None:
    """A line as text; None if it is neither UTF-8 nor Windows-1252 (Latin-1).

    Bytes that are not UTF-8 are read as Windows-1252, unless other characters of the line are
    UTF-8: then the line is damaged.

    >>> damage = Counter()
    >>> _decoded("café".encode("latin-1"), damage), _decoded(b"caf\\xc3\\xa9 \\xff", damage)
    ('café', None)
    >>> dict(damage)
    {'read as Windows-1252 (not valid UTF-8)': 1, 'not valid UTF-8': 1}
    """
    with contextlib.suppress(UnicodeDecodeError):
        return line.decode("utf-8")
    if line.decode("utf-8", "ignore").isascii():
        with contextlib.suppress(UnicodeDecodeError):
            text = line.decode("cp1252")
            damage[AS_WINDOWS_1252] += 1
            return text
    damage[NOT_UTF8] += 1
    return None


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Lines of plain text, joined into articles of at least BLOCK characters."""
    article: list[str] = []
    size = 0
    for line in lines:
        article.append(line)
        size += len(line)
        if (size >= BLOCK and not line.strip()) or size >= 8 * BLOCK:
            yield "\n".join(article)
            article, size = [], 0
    if size:
        yield "\n".join(article)


def _json_lines(lines: Iterable[str], damage: Counter[str]) -> Iterator[Any]:
    """The value on each line."""
    for line in lines:
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                damage[NOT_JSON] += 1


def _texts(
    rows: Iterable[Any], field: str, *, name: str, damage: Counter[str]
) -> Iterator[str]:
    """The text of each article: a field of an object, or a plain string."""
    articles = 0
    fields: list[str] = []
    for row in rows:
        text = row.get(field) if isinstance(row, dict) else row
        if not isinstance(text, str):
            fields = fields or (list(map(str, row)) if isinstance(row, dict) else [])
            damage[NO_TEXT] += 1
            continue
        try:
            text.encode("utf-8")  # JSON may escape half of a surrogate pair
        except UnicodeEncodeError:
            damage[NOT_UNICODE] += 1
        else:
            articles += 1
            yield text
    if not articles and damage[NO_TEXT]:
        raise ContextError(
            f"{name}: no article has text in the field {field!r}, found "
            f"{', '.join(fields[:8]) or 'no fields'}; name the right one with --field"
        )


def _dump_articles(
    stream: IO[bytes], *, name: str, damage: Counter[str]
) -> Iterator[str]:
    """The wikitext of each article of a dump, one at a time."""
    require("reading a Wikipedia dump", "mwparserfromhell")
    pages = _Pages(name)
    while chunk := _read(stream.read, _CHUNK, name=name):
        pages.feed(chunk)
        for page in pages.take():
            if page is None:
                damage[ARTICLE_TOO_LONG] += 1
            else:
                yield page
    pages.feed(b"", final=True)


class _Pages:
    """Collects the wikitext of articles from the XML of a dump."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parser = expat.ParserCreate("UTF-8")  # whatever it says of itself
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        # A dump has no DOCTYPE; one could define entities that expand without limit.
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._complete: list[str | None] = []
        self._page: dict[str, list[str]] = {}
        self._open: str | None = None
        self._fed, self._size, self._redirect, self._root = 0, 0, False, False

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        self._fed += len(chunk)
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as exc:
            raise ContextError(f"{self._name}: damaged XML: {exc}") from exc
        # It is looked at from its beginning with every chunk: time grows with the square.
        if self._fed - self._parser.CurrentByteIndex > _LONGEST_TAG:
            raise ContextError(
                f"{self._name}: expected a MediaWiki dump, found an endless tag"
            )

    def take(self) -> list[str | None]:
        """Articles that were completed since the last call; None for one that is too long."""
        pages, self._complete = self._complete, []
        return pages

    def _refuse(self, *declaration: object) -> None:
        raise ContextError(
            f"{self._name}: expected a MediaWiki dump, found XML with a DOCTYPE"
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._root:
            self._root = True
            if tag != "mediawiki":
                raise ContextError(
                    f"{self._name}: expected a MediaWiki dump, found XML <{tag}>"
                )
        if tag == "page":
            self._page, self._size, self._redirect = {}, 0, False
        elif tag == "redirect":
            self._redirect = True
        elif tag in _FIELDS:
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
        ns = "".join(self._page.get("ns", ("0",))).strip()
        if tag == "page" and not self._redirect and ns == "0":
            text = "".join(self._page.get("text", ()))
            self._complete.append(text if self._size <= LONGEST_LINE else None)


def plain_text(wikitext: str) -> str:
    """The prose of wikitext, one paragraph per line.

    >>> plain_text("'''Ann''' was a [[nurse|nurse]]<ref>A book</ref> {{when}} in [[Paris]].")
    'Ann was a nurse in Paris.'
    """
    import mwparserfromhell

    code = mwparserfromhell.parse(wikitext, skip_style_tags=True)
    for node in code.filter_tags(matches=lambda n: str(n.tag).lower() in _NOT_PROSE):
        _remove(code, node)
    for link in code.filter_wikilinks(
        matches=lambda n: bool(_NAMESPACE_LINK.match(str(n.title)))
    ):
        _remove(code, link)
    text = code.strip_code(normalize=True, collapse=True)
    text = re.sub(r"'{2,}", "", text)
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _remove(code: Wikicode, node: Node) -> None:
    with contextlib.suppress(ValueError):  # it was inside a node that has been removed
        code.remove(node)
