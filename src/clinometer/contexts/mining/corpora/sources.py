"""The files of a corpus, and the members of its zip files."""

from __future__ import annotations

import bz2
import hashlib
import lzma
import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clinometer.errors import ContextError
from clinometer.storage.untrusted import PACKED, Unpack, open_binary

UNPACK: dict[str, Unpack] = {**PACKED, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
"""Ending of a packed file -> what unpacks it."""

_KINDS = (".txt", ".jsonl", ".xml")
_TEXTS = tuple(f"{kind}{packing}" for kind in _KINDS for packing in ("", *UNPACK))
_FILES = (*_TEXTS, ".parquet", ".zip")


_BLOCK = 16 << 10
"""Bytes of a block that tells whether a corpus has changed."""

_BLOCKS = 64
"""How many of them are read of a large file: hashing all of a dump would take minutes."""


@dataclass(frozen=True)
class Source:
    """One stream of articles: a file, or a member of a zip file."""

    place: str

    name: str
    """The name without folders, as in the sidecar and messages."""

    member: str | None = None

    @property
    def identity(self) -> list[object]:
        """Return what identifies the source, to detect changes when a run is resumed."""
        status = Path(self.place).stat()
        return [self.name, status.st_size, status.st_mtime_ns]

    @property
    def packing(self) -> str:
        """Return the ending of the compression, "" for none."""
        suffix = Path(self.member or self.place).suffix
        return suffix if suffix in UNPACK else ""

    @property
    def kind(self) -> str:
        """Return the suffix of the format, without that of the compression."""
        name = self.member or self.place
        return Path(name.removesuffix(self.packing)).suffix


def digest_of_sample(file: Path) -> str:
    """Return a digest of blocks that are spread evenly over a file, and of all of a small one.

    A change that keeps size and time is found where it meets a block: surely up to a megabyte, in
    a larger file if it begins, ends or is moved by it.
    """
    try:
        with open_binary(file) as stream:
            size = os.fstat(stream.fileno()).st_size
            step = max(_BLOCK, (size - _BLOCK) // (_BLOCKS - 1))
            starts = [*range(0, size, step), max(size - _BLOCK, 0)]
            digest = hashlib.sha256()
            for start in starts:
                stream.seek(start)
                digest.update(stream.read(_BLOCK))
    except OSError as error:
        raise ContextError(
            f"{file}: cannot be read: {error.strerror or error}"
        ) from error
    return digest.hexdigest()[:16]


def find_sources(places: Iterable[str]) -> list[Source]:
    """Return every source of the places, in a fixed order; a place that has none is an error."""
    sources: list[Source] = []
    for place in places:
        sources_of_place = _sources(place)
        if not sources_of_place:
            raise ContextError(
                f"{place}: no corpus file in it; expected {', '.join(_FILES)}"
            )
        sources += sources_of_place
    if not sources:
        raise ContextError("corpus: expected at least one file or folder, found none")
    return sources


def _sources(place: str) -> list[Source]:
    path = Path(place)
    if path.is_dir():
        return _sources_in_folder(path)
    if not path.exists():
        if ".zip:" not in place:
            raise ContextError(f"{place}: no such file or folder; check the path")
        archive, _, member = place.rpartition(":")
        return _members(Path(archive), member)
    if path.name.endswith(".zip"):
        return _members(path, None)
    if not path.name.endswith(_FILES):
        raise ContextError(f"{place}: expected a file that ends in {', '.join(_FILES)}")
    return [Source(str(path), _displayed(path))]


def _sources_in_folder(folder: Path) -> list[Source]:
    sources: list[Source] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name.endswith(_FILES):
            sources += _sources(str(path))
    return sources


def _displayed(path: Path) -> str:
    """Return the name of a file as text, also where it is not UTF-8."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def _members(path: Path, wanted: str | None) -> list[Source]:
    """Return the member of a zip file that is wanted, or all with an ending of ours."""
    try:
        with open_binary(path) as raw, zipfile.ZipFile(raw) as archive:
            names = sorted(n for n in archive.namelist() if not n.endswith("/"))
    except (OSError, zipfile.BadZipFile, ValueError, RuntimeError) as exc:
        raise ContextError(f"{path}: not a readable zip file: {exc}") from exc
    if wanted is None:
        names = [name for name in names if name.endswith(_TEXTS)]
    elif wanted in names:
        names = [wanted]
    else:
        raise ContextError(
            f"{path}: expected one of its members ({', '.join(names[:8])}), found {wanted!r}"
        )
    return [Source(str(path), f"{_displayed(path)}:{name}", name) for name in names]
