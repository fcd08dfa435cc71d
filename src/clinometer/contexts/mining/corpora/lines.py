"""Lines of text, whatever is wrong with some of them, and what they hold: JSON, or plain text."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any

from clinometer.contexts.mining.corpora.damage import (
    AS_WINDOWS_1252,
    LONGEST_LINE,
    NOT_JSON,
    NOT_UTF8,
    TOO_LONG,
)
from clinometer.contexts.mining.corpora.streams import read_some
from clinometer.errors import ContextError

BLOCK = 10_000
"""A .txt file is split at line ends into articles of at least this many characters."""

_CHUNK = 1 << 20
"""Bytes of an endless line that are skipped at a time."""


def read_lines(stream: IO[bytes], *, name: str, damage: Counter[str]) -> Iterator[str]:
    """Yield the lines of a stream as text, without their ends and a byte-order mark.

    A stream that is not text is an error.
    """
    is_first = True
    while line := read_some(stream.readline, LONGEST_LINE, name=name):
        is_long = len(line) == LONGEST_LINE and not line.endswith(b"\n")
        if is_long:
            _skip_rest_of_line(stream, name)
        if is_first:
            is_first = False
            _check_text(line, name)
            line = line.removeprefix(b"\xef\xbb\xbf")
        if is_long:
            damage[TOO_LONG] += 1
            continue
        text = _decoded(line, damage)
        if text is not None:
            yield text.rstrip("\r\n")


def _skip_rest_of_line(stream: IO[bytes], name: str) -> None:
    while chunk := read_some(stream.readline, _CHUNK, name=name):
        if chunk.endswith(b"\n"):
            return


def _check_text(first_line: bytes, name: str) -> None:
    """Refuse UTF-16 and binary files."""
    if first_line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ContextError(f"{name}: expected UTF-8, found UTF-16; save it as UTF-8")
    if b"\0" in first_line[:8192]:
        raise ContextError(f"{name}: expected text, found a binary file")


def _decoded(line: bytes, damage: Counter[str]) -> str | None:
    """Return a line as text; None if it is neither UTF-8 nor Windows-1252 (Latin-1).

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


def blocks_of_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines of plain text, joined into articles of at least BLOCK characters."""
    article: list[str] = []
    size = 0
    for line in lines:
        article.append(line)
        size += len(line)
        ends_paragraph = size >= BLOCK and not line.strip()
        if ends_paragraph or size >= 8 * BLOCK:
            yield "\n".join(article)
            article = []
            size = 0
    if size:
        yield "\n".join(article)


def json_of_lines(lines: Iterable[str], damage: Counter[str]) -> Iterator[Any]:
    """Yield the value on each line."""
    for line in lines:
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                damage[NOT_JSON] += 1
