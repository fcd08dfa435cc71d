"""The work folder of a mining run: what is finished is read from it after a kill.

contexts.csv.mining/
  settings.json             what is mined; a folder with other settings is refused
  sources/00000.json        how many articles a source has, and what is damaged in it
  parts/000000.json         what a piece holds, written whole or not at all
  shard-0.lock              held by the process that does this shard
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from clinometer.contexts.mining.languages import Decision
from clinometer.contexts.mining.parts import Part, SourceCounts
from clinometer.errors import ContextError
from clinometer.storage.atomic import only_writer, replacing
from clinometer.storage.resumable import Identity, Resumable
from clinometer.storage.shard import Shard
from clinometer.storage.untrusted import MOST_TEXT, read_bytes, read_json

Stored = TypeVar("Stored")

_OWN_FILE = re.compile(
    r"settings\.json|[0-9]{5}\.json|[0-9]{6}\.(json|explain)|shard-[0-9]+\.lock"
    r"|\.(settings|[0-9]{5,6})\.(json|explain)\.[0-9]+-[0-9a-f]+\.tmp"
)
"""The names of files that mining writes, also before they are whole."""


class WorkFolder(Resumable):
    """A reader and writer of the folder, independent of what is mined."""

    error = ContextError

    def __init__(self, out: Path) -> None:
        self.path = out
        self.folder = out.with_name(out.name + ".mining")
        self.lock_file = out.with_name(out.name + ".mining.lock")
        self._settings_file = self.folder / "settings.json"

    def earlier(self) -> Identity | None:
        try:
            return dict(read_json(self._settings_file, most=MOST_TEXT))
        except FileNotFoundError:
            return None
        except (OSError, TypeError, ValueError) as exc:
            raise _damaged(self._settings_file) from exc

    def begin(self, identity: Identity) -> None:
        self.clear()
        self._begin(identity)

    def _begin(self, identity: Identity) -> None:
        for folder in ("sources", "parts"):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
        text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        _write(self._settings_file, text)

    def clear(self) -> None:
        # First the settings: files that a kill leaves have no owner.
        self._settings_file.unlink(missing_ok=True)
        for folder in (self.folder / "sources", self.folder / "parts", self.folder):
            _remove_own_files(folder)

    @property
    def shards(self) -> int:
        """Return how many shards the work was begun with; 1 without any."""
        earlier = self.earlier() or {}
        shards = earlier.get("shards", 1)
        if type(shards) is not int or shards < 1:
            raise _damaged(self._settings_file)
        return shards

    @contextmanager
    def joined(self, identity: Identity, shard: Shard) -> Iterator[None]:
        """Begin or resume beside the other shards; of one shard there is one process."""
        if self.earlier() is None:
            self._begin(identity)
        # Also if two began at once, with other settings.
        self.resume(identity, self.earlier())
        lock = self.folder / f"shard-{shard.index}.lock"
        with only_writer(self.path, lock, error=ContextError):
            yield

    def check_no_shard_runs(self) -> None:
        """Refuse to go on while a shard does; the locks of those that were killed are free."""
        for lock in self.folder.glob("shard-*.lock"):
            with only_writer(self.path, lock, error=ContextError):
                pass

    def counts(self, source: int) -> SourceCounts | None:
        """Return the counts of a source, or None if nobody has counted it."""
        file = self._counts_file(source)
        if not file.exists():
            return None
        counts = _read(file, SourceCounts)
        _check_counts(file, [counts.articles, *counts.damage.values()])
        return counts

    def write_counts(self, source: int, counts: SourceCounts) -> None:
        """Record what a source contains."""
        text = TypeAdapter(SourceCounts).dump_json(counts).decode()
        _write(self._counts_file(source), text)

    def done(self) -> set[int]:
        """Return the pieces that are finished."""
        files = [*(self.folder / "parts").glob("[0-9]*.json")]
        for file in files:
            if _OWN_FILE.fullmatch(file.name) is None:
                raise ContextError(
                    f"{file}: expected parts such as 000000.json, found {file.name!r}; move it "
                    "elsewhere"
                )
        return {int(file.stem) for file in files}

    def write_part(
        self, number: int, part: Part, decisions: Iterable[Decision]
    ) -> None:
        """Write what a piece holds and, on request, its decisions as lines of --explain."""
        lines = "".join(_explanation(decision) for decision in decisions)
        if lines:
            _write(self._explain_file(number), lines)
        _write(self._part_file(number), TypeAdapter(Part).dump_json(part).decode())

    def parts(self, pieces: int) -> Iterator[Part]:
        """Yield what the pieces hold, in order."""
        for number in range(pieces):
            file = self._part_file(number)
            part = _read(file, Part)
            counts = [part.read, part.sentences]
            for counter in (part.templates, part.rules, part.confidences):
                counts += counter.values()
            _check_counts(file, counts)
            yield part

    def explained(self, pieces: int) -> Iterator[str]:
        """Yield the lines of --explain, in order."""
        for number in range(pieces):
            path = self._explain_file(number)
            if path.exists():
                with path.open(encoding="utf-8") as file:
                    yield from file

    def _counts_file(self, source: int) -> Path:
        return self.folder / "sources" / f"{source:05}.json"

    def _part_file(self, number: int) -> Path:
        return self.folder / "parts" / f"{number:06}.json"

    def _explain_file(self, number: int) -> Path:
        return self._part_file(number).with_suffix(".explain")


def _remove_own_files(folder: Path) -> None:
    """Remove what mining wrote in a folder, and the folder if nothing else is in it."""
    if not folder.is_dir():
        return
    for file in folder.iterdir():
        if _OWN_FILE.fullmatch(file.name):
            file.unlink(missing_ok=True)
    with suppress(OSError):  # files of others are in it
        folder.rmdir()


def _check_counts(file: Path, counts: Iterable[int]) -> None:
    """Refuse counts below 0, which no mining wrote."""
    if any(count < 0 for count in counts):
        raise _damaged(file)


def _explanation(decision: Decision) -> str:
    """Return the line of --explain for a decision."""
    confidence = decision.confidence
    row = {
        "sentence": decision.sentence,
        "template": decision.template,
        "dropped": decision.rule or None,
        "parse": decision.evidence,
        "confidence": None if confidence is None else round(confidence, 3),
    }
    return json.dumps(row, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    with replacing(path, error=ContextError) as draft:
        draft.write_text(text, encoding="utf-8")


def _read(path: Path, kind: type[Stored]) -> Stored:
    try:
        return TypeAdapter(kind).validate_json(read_bytes(path))
    except (OSError, ValueError) as exc:
        raise _damaged(path) from exc


def _damaged(path: Path) -> ContextError:
    return ContextError(f"{path}: damaged; start over with --fresh")
