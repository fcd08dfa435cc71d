"""Corpora, streamed: which files there are, and the articles in them.

A place is a file (.txt, .jsonl, .jsonl.gz, .jsonl.zst, .txt.gz, .txt.zst, .parquet, .zip), a member
of a zip file (calls.zip:switchboard/transcript), a folder of these, or a Hugging Face dataset
(hf:wikimedia/wikipedia:20231101.en). Nothing is ever loaded whole.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clinometer.contexts.mining import formats
from clinometer.errors import ContextError

_ENDINGS = tuple(f"{kind}{packed}" for kind in (".txt", ".jsonl") for packed in ("", ".gz", ".zst"))
_FILES = (*_ENDINGS, ".parquet", ".zip")
HF = "hf:"


@dataclass(frozen=True)
class Source:
    """One stream of articles: a file, a member of a zip file, or a dataset."""

    place: str
    name: str  # without folders: what the sidecar and messages say
    member: str | None = None

    @property
    def identity(self) -> list[object]:
        """What tells that the source is still the same when a run is continued."""
        if self.place.startswith(HF):
            return [self.place]
        about = Path(self.place).stat()
        return [self.name, about.st_size, about.st_mtime_ns]


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
    """The texts of a source, one after the other; what is skipped is counted in `damage`."""
    if source.place.startswith(HF):
        yield from formats.hub(source.place.removeprefix(HF), field=field, damage=damage)
    elif source.place.endswith(".parquet"):
        yield from formats.parquet(Path(source.place), field=field, damage=damage)
    else:
        with formats.opened(Path(source.place), source.member) as stream:
            lines = formats.lines(stream, name=source.name, damage=damage)
            if ".jsonl" in source.name:
                yield from formats.json_texts(lines, field, name=source.name, damage=damage)
            else:
                yield from formats.blocks(lines)


def _sources(place: str) -> list[Source]:
    if place.startswith(HF):
        return [Source(place, place)]
    path = Path(place)
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(_FILES))
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
        with zipfile.ZipFile(path) as archive:
            names = sorted(n for n in archive.namelist() if not n.endswith("/"))
    except (OSError, zipfile.BadZipFile) as exc:
        raise ContextError(f"{path}: not a readable zip file: {exc}") from exc
    if wanted is not None and wanted not in names:
        raise ContextError(f"{path}: no member {wanted!r}; there are {', '.join(names[:8])}")
    kept = [wanted] if wanted is not None else [n for n in names if n.endswith(_ENDINGS)]
    return [Source(str(path), f"{path.name}:{name}", name) for name in kept]
