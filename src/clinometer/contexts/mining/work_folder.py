"""The work folder beside the output: what a killed run left, and what its next start resumes.

contexts.csv.mining/
  settings.json             what is mined; a folder with other settings is refused
  sources/00000.jsonl       candidate sentences of a source, one article per line
  sources/00000.json        counts of that source; written once it has been read to its end
  parts/000000.json         the tallies of a piece, one per topic, written whole or not at all
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from clinometer.contexts.mining.decision import Decision
from clinometer.contexts.mining.tally import Tally
from clinometer.errors import ContextError
from clinometer.storage.atomic import replacing
from clinometer.storage.record import RecordPart
from clinometer.storage.resumable import Identity, Resumable
from clinometer.storage.untrusted import MOST_TEXT, read_json


class SourceCounts(RecordPart):
    """What a source contained that was read to its end."""

    articles: int
    characters: int
    damage: dict[str, int]
    spooled: int | None = None  # bytes of its candidate sentences


class WorkFolder(Resumable):
    """Reads and writes the folder, independently of what is mined."""

    error = ContextError

    def __init__(self, out: Path) -> None:
        self.path = out
        self.folder = out.with_name(out.name + ".mining")
        self.lock_file = out.with_name(out.name + ".mining.lock")
        self._settings_file = self.folder / "settings.json"

    def earlier(self) -> Identity | None:
        return _read(self._settings_file)

    def begin(self, identity: Identity) -> None:
        self.clear()
        for folder in ("sources", "parts"):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
        _write(self._settings_file, json.dumps(identity, sort_keys=True, ensure_ascii=False))

    def clear(self) -> None:
        self._settings_file.unlink(missing_ok=True)  # files left by a kill have no owner
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- sources ------------------------------------------------------------------------------

    def spool(self, source: int) -> Path:
        """The file with the candidate sentences of a source."""
        return self.folder / "sources" / f"{source:05}.jsonl"

    @contextmanager
    def spooling(self, source: int) -> Iterator[TextIO]:
        """A stream for the candidate sentences; they are in their file when the block ends."""
        with (
            replacing(self.spool(source), error=ContextError) as beside,
            beside.open("w", encoding="utf-8") as stream,
        ):
            yield stream

    def read_counts(self, source: int) -> SourceCounts | None:
        """The counts of a source, or None if it was not read to its end."""
        file = self.spool(source).with_suffix(".json")
        if not file.exists():
            return None
        counts = SourceCounts.from_json(file.read_bytes(), file, error=ContextError)
        spool = self.spool(source)
        if counts.spooled is not None:
            found = spool.stat().st_size if spool.is_file() else None
            if found != counts.spooled:
                raise ContextError(f"{spool}: damaged; start over with --fresh")
        return counts

    def write_counts(self, source: int, counts: SourceCounts) -> None:
        """Record that a source was read to its end."""
        _write(self.spool(source).with_suffix(".json"), json.dumps(counts.to_dict()))

    # --- pieces -------------------------------------------------------------------------------

    def has_part(self, number: int) -> bool:
        """Whether a piece was done."""
        return self._part(number).exists()

    def has_parts(self) -> bool:
        """Whether any piece was done."""
        return any((self.folder / "parts").glob("*.json"))

    def write_parts(self, parts: Iterable[tuple[int, list[Tally], list[Decision]]]) -> None:
        """Write the tallies of pieces and, on request, their decisions."""
        for number, tallies, decisions in parts:
            if decisions:
                lines = "".join(map(_explained, decisions))
                _write(self._part(number).with_suffix(".explain"), lines)
            content = {"topics": [tally.to_dict() for tally in tallies]}
            _write(self._part(number), json.dumps(content, ensure_ascii=False))

    def tallies(self, pieces: int, topic: int = 0) -> Iterator[Tally]:
        """The tallies of all pieces for one topic, in order."""
        for number in range(pieces):
            try:
                found = _read(self._part(number))
                yield Tally() if found is None else Tally.from_dict(found["topics"][topic])
            except (AttributeError, LookupError, TypeError, ValueError) as exc:
                raise ContextError(
                    f"{self._part(number)}: damaged; start over with --fresh"
                ) from exc

    def explained(self, pieces: int) -> Iterator[str]:
        """The lines of --explain, in order."""
        for number in range(pieces):
            path = self._part(number).with_suffix(".explain")
            if path.exists():
                with path.open(encoding="utf-8") as file:
                    yield from file

    def _part(self, number: int) -> Path:
        return self.folder / "parts" / f"{number:06}.json"


def _explained(d: Decision) -> str:
    """A line of --explain."""
    row = {
        "sentence": d.sentence,
        "template": d.template,
        "dropped": d.rule or None,
        "parse": d.evidence,
        "confidence": d.confidence and round(d.confidence, 3),
    }
    return json.dumps(row, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    with replacing(path, error=ContextError) as beside:
        beside.write_text(text, encoding="utf-8")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return dict(read_json(path, most=MOST_TEXT))
    except FileNotFoundError:
        return None
    except (OSError, TypeError, ValueError) as exc:
        raise ContextError(f"{path}: damaged; start over with --fresh") from exc
