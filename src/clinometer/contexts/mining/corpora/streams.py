"""The bytes of a source, unpacked as they are read, with an end to how many they may be."""

from __future__ import annotations

import contextlib
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from clinometer.contexts.mining.corpora.sources import UNPACK, Source
from clinometer.errors import ContextError
from clinometer.storage.untrusted import bounded, open_binary

MOST_TIMES = 1000
"""Times its own size to which a file may unpack.

Text packs to a fifth, and what is made to keep a reader busy to a ten-thousandth.
"""

ALWAYS_ALLOWED = 16 << 20
"""Bytes that any file may unpack to."""


def most_bytes(size: int) -> int:
    """Return how much a file of this size may unpack to."""
    return max(ALWAYS_ALLOWED, size * MOST_TIMES)


def too_large() -> OSError:
    """Return the error of a file that unpacks to more."""
    return OSError(f"it is more than {MOST_TIMES:,} times as large as the file")


@contextlib.contextmanager
def open_source(source: Source) -> Iterator[IO[bytes]]:
    """Open the bytes of a file or a zip member, unpacked as they are read."""
    with contextlib.ExitStack() as stack:
        try:
            raw, size = _open_packed(source, stack)
        except (
            zlib.error,
            OSError,
            zipfile.BadZipFile,
            RuntimeError,
            ValueError,
        ) as exc:
            raise ContextError(f"{source.place}: cannot be read: {exc}") from exc
        unpack = UNPACK.get(source.packing)
        yield stack.enter_context(bounded(raw, unpack, most_bytes(size), too_large()))


def _open_packed(source: Source, stack: contextlib.ExitStack) -> tuple[Any, int]:
    """Open a file or a zip member as it is; return it with its size."""
    path = Path(source.place)
    status = path.stat()
    if source.member is None:
        return stack.enter_context(open_binary(path)), status.st_size
    archive = _archive(source.place, status.st_mtime_ns)
    raw = stack.enter_context(archive.open(source.member))
    return raw, archive.getinfo(source.member).compress_size


@lru_cache(maxsize=1)
def _archive(place: str, changed_ns: int) -> zipfile.ZipFile:
    """Open a zip file, whose list of members is read once for all of them."""
    return zipfile.ZipFile(place)


def read_some(method: Callable[[int], bytes], size: int, *, name: str) -> bytes:
    """Return `method(size)` of a stream; a damaged file becomes a one-line error."""
    try:
        return method(size)
    except (OSError, lzma.LZMAError, zipfile.BadZipFile) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise ContextError(f"{name}: damaged, cannot be unpacked: {reason}") from exc
