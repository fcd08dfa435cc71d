"""From a file, a zip member or standard input to lines of text: unpacked and decoded as read."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from clinometer.errors import ContextError
from clinometer.storage.untrusted import open_binary
from clinometer.storage.zstd import ZstReader

#: Standard input on the command line.
STDIN = "-"
PACKED = (".gz", ".zst", ".bz2", ".xz")
#: A line longer than this is not an article; it is skipped, and never loaded whole.
LONGEST_LINE = 16 * 1024 * 1024
_PROBE = 8192

TOO_LONG = f"line longer than {LONGEST_LINE // 1024 // 1024} MB"
NOT_UTF8 = "not valid UTF-8"
AS_WINDOWS_1252 = "read as Windows-1252 (not valid UTF-8)"

_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@contextlib.contextmanager
def opened(place: str, member: str | None = None) -> Iterator[IO[bytes]]:
    """The bytes of a file, a zip member or standard input, unpacked as they are read."""
    with contextlib.ExitStack() as stack:
        raw: Any
        try:
            if place == STDIN:
                raw = sys.stdin.buffer
            elif member is not None:
                archive = stack.enter_context(zipfile.ZipFile(place))
                raw = stack.enter_context(archive.open(member))
            else:
                raw = stack.enter_context(open_binary(Path(place)))
        except (zlib.error, OSError, zipfile.BadZipFile, RuntimeError, ValueError) as exc:
            raise ContextError(f"{place}: cannot be read: {exc}") from exc
        name = member or place
        if name.endswith(".gz"):
            raw = stack.enter_context(gzip.GzipFile(fileobj=raw))
        elif name.endswith(".bz2"):
            raw = stack.enter_context(bz2.BZ2File(raw))
        elif name.endswith(".xz"):
            raw = stack.enter_context(lzma.LZMAFile(raw))
        elif name.endswith(".zst"):
            raw = stack.enter_context(ZstReader(raw))
        yield raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw, 1 << 20)


def lines(stream: IO[bytes], *, name: str, damage: Counter[str]) -> Iterator[str]:
    """The lines of a stream as text, without their ends."""
    first = True
    while line := read(stream.readline, LONGEST_LINE, name=name):
        long = len(line) == LONGEST_LINE and not line.endswith(b"\n")
        if long:
            while (more := read(stream.readline, 1 << 20, name=name)) and not more.endswith(b"\n"):
                pass
        if first:
            line = _without_mark(line, name)
            first = False
        if long:
            damage[TOO_LONG] += 1
        elif (text := decoded(line, damage)) is not None:
            yield text.rstrip("\r\n")


def read(method: Any, size: int, *, name: str) -> bytes:
    """`method(size)` of a stream; a damaged file becomes a one-line error."""
    try:
        found: bytes = method(size)
    except _DAMAGED as exc:
        raise ContextError(f"{name}: damaged, cannot be unpacked: {exc}") from exc
    return found


def decoded(line: bytes, damage: Counter[str]) -> str | None:
    """A line as text; None if it is neither UTF-8 nor Windows-1252 (Latin-1).

    Bytes that are not UTF-8 are read as Windows-1252, unless other characters of the line are
    UTF-8: then the line is damaged.

    >>> damage = Counter()
    >>> decoded("café".encode("latin-1"), damage), decoded(b"caf\\xc3\\xa9 \\xff", damage)
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


def _without_mark(line: bytes, name: str) -> bytes:
    """The first line without a byte-order mark; raises if the file is not text."""
    if line.startswith(_UTF16):
        raise ContextError(f"{name}: expected UTF-8, found UTF-16; save it as UTF-8")
    if b"\0" in line[:_PROBE]:
        raise ContextError(f"{name}: expected text, found a binary file")
    return line.removeprefix(b"\xef\xbb\xbf")
