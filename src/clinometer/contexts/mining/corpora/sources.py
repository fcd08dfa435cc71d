"""List the files of a corpus and stream their articles.

A place is a file (.txt, .jsonl, .json, a Wikipedia dump .xml, each also as .gz, .zst, .bz2 or .xz;
.parquet, .arrow, .zip), a member of a zip file (calls.zip:switchboard/transcript), a folder of
these (one of `datasets.save_to_disk` too), a dataset of the Hugging Face hub
(hf:wikimedia/wikipedia:20231101.en), or - for standard input. Nothing is ever loaded whole.
"""

from __future__ import annotations

import itertools
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from clinometer.contexts.mining.corpora.articles import blocks, json_lines, json_values, texts
from clinometer.contexts.mining.corpora.tables import arrow_rows, hub_rows, parquet_rows
from clinometer.contexts.mining.corpora.unpack import PACKED, STDIN, lines, opened
from clinometer.contexts.mining.corpora.wikipedia_dump import dump_articles
from clinometer.errors import ContextError
from clinometer.storage.untrusted import open_binary

_KINDS = (".txt", ".jsonl", ".json", ".xml")
_ENDINGS = tuple(f"{kind}{packed}" for kind in _KINDS for packed in ("", *PACKED))
_FILES = (*_ENDINGS, ".parquet", ".arrow", ".zip")
#: A .json file in a folder may as well be a sidecar or dataset_info.json; it is read if named.
_IN_FOLDERS = tuple(ending for ending in _FILES if ".json" not in ending or ".jsonl" in ending)
HF = "hf:"


@dataclass(frozen=True)
class Source:
    """One stream of articles: a file, a member of a zip file, or a dataset."""

    place: str
    name: str  # without folders, as in the sidecar and messages
    member: str | None = None

    @property
    def identity(self) -> list[object]:
        """Identifies the source, to detect changes when a run is resumed."""
        if self.place.startswith(HF):
            return [self.place]
        if self.is_stdin:
            # Its previous content is unknown: such a run never resumes.
            return [self.name, time.time_ns()]
        about = Path(self.place).stat()
        return [self.name, about.st_size, about.st_mtime_ns]

    @property
    def is_stdin(self) -> bool:
        return self.place == STDIN

    @property
    def kind(self) -> str:
        """The suffix of the format, without that of the compression."""
        name = self.member or self.place
        for packed in PACKED:
            name = name.removesuffix(packed)
        return Path(name).suffix


def find_sources(places: Iterable[str]) -> list[Source]:
    """Every source of the places, in a fixed order; an error names a place that has none."""
    found: list[Source] = []
    for place in places:
        before = len(found)
        found += _sources(place)
        if len(found) == before:
            raise ContextError(f"{place}: no corpus file in it; expected {', '.join(_FILES)}")
    if not found:
        raise ContextError("corpus: expected at least one file, folder or hf: dataset, found none")
    return found


def articles(source: Source, *, field: str, damage: Counter[str]) -> Iterator[str]:
    """The texts of a source, one by one; `damage` counts what is skipped."""
    if source.place.startswith(HF):
        rows = hub_rows(source.place.removeprefix(HF))
    elif source.kind == ".parquet":
        rows = parquet_rows(Path(source.place), field)
    elif source.kind == ".arrow":
        rows = arrow_rows(Path(source.place), field)
    else:
        with opened(source.place, source.member) as stream:
            yield from _streamed(stream, source, field=field, damage=damage)
        return
    yield from texts(rows, field, name=source.name, damage=damage)


def _streamed(
    stream: IO[bytes], source: Source, *, field: str, damage: Counter[str]
) -> Iterator[str]:
    name, kind = source.name, source.kind
    if kind == ".xml":
        yield from dump_articles(stream, name=name, damage=damage)
        return
    if kind == ".json":
        yield from texts(json_values(stream, name=name), field, name=name, damage=damage)
        return
    found = lines(stream, name=name, damage=damage)
    if source.is_stdin:  # objects or plain text: see the first line
        first = next(found, "")
        kind = ".jsonl" if first.lstrip().startswith("{") else ".txt"
        found = itertools.chain([first], found)
    if kind == ".jsonl":
        yield from texts(json_lines(found, damage), field, name=name, damage=damage)
    else:
        yield from blocks(found)


def _sources(place: str) -> list[Source]:
    if place.startswith(HF):
        return [Source(place, place)]
    if place == STDIN:
        return [Source(place, "standard input")]
    path = Path(place)
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(_IN_FOLDERS))
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
    return [Source(str(path), path.name)]


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
    kept = [wanted] if wanted is not None else [n for n in names if n.endswith(_ENDINGS)]
    return [Source(str(path), f"{path.name}:{name}", name) for name in kept]
