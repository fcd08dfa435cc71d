"""A .jsonl file that grows by one statement at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from clinometer.errors import RunError
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import (
    Identity,
    Progress,
    Recorded,
    store_as_they_come,
)
from clinometer.storage.rows import Row
from clinometer.storage.untrusted import parse_json, read_bytes


class Lines(Recorded):
    """Rows of an earlier attempt, and where new ones go. Without a path all stays in memory.

    NAME.jsonl   one row per statement, written when it is done
    NAME.json    the settings it was begun with and, at the end, a summary
    """

    def __init__(self, path: str | Path | None, settings: Identity) -> None:
        self.is_stored = path is not None
        self.path = Path(path or ".jsonl")
        self.settings = settings
        self.record_file = self.path.with_suffix(".json")
        self.lock_file = self.path.with_name(f".{self.path.name}.lock")
        self.rows: dict[str, Row] = {}

    @contextmanager
    def resumed(self, *, fresh: bool = False) -> Iterator[Self]:
        """Begin the file, or take what is in it if it was begun with the same settings."""
        if not self.is_stored:
            yield self
            return
        if self.path.suffix != ".jsonl":
            raise RunError(f"{self.path}: expected a file name that ends in .jsonl")
        with self.opened(self.settings, fresh=fresh):
            self._read()
            yield self

    def take(
        self, rows: Iterable[Row], ids: Sequence[str], progress: Progress | None
    ) -> list[Row]:
        """Store new rows as they come; return all rows, in the order of `ids`."""
        done = sum(name in self.rows for name in ids)
        store_as_they_come(
            rows, self._add, done=done, total=len(ids), progress=progress
        )
        return [self.rows[name] for name in ids]

    def forget(self, ids: Iterable[str]) -> None:
        """Remove rows, so that they are made again: what they were made from has changed."""
        outdated = set(ids) & self.rows.keys()
        if not outdated:
            return
        for name in outdated:
            del self.rows[name]
        if self.is_stored:
            text = "".join(map(_line, self.rows.values()))
            with replacing(self.path, error=RunError) as temporary:
                temporary.write_text(text, encoding="utf-8")

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the summary into the record."""
        if self.is_stored:
            self.write_record(self.settings, status="finished", summary=summary)

    def begin(self, identity: Identity) -> None:
        if self.path.exists():
            raise RunError(
                f"{self.path}: exists, and is not from this command (no {self.record_file.name} "
                "beside it); choose another --out, or --fresh to overwrite it"
            )
        self.write_record(self.settings, status="running")

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)
        self.record_file.unlink(missing_ok=True)

    def _add(self, rows: Sequence[Row]) -> None:
        """Add new rows; they are on the disk before they count."""
        if self.is_stored:
            text = "".join(map(_line, rows))
            try:
                with self.path.open("a", encoding="utf-8") as stream:
                    stream.write(text)
                    stream.flush()
                    os.fsync(stream.fileno())
            except OSError as error:
                raise RunError(
                    f"{self.path}: cannot be written: {error.strerror}"
                ) from error
        self.rows.update((str(row["id"]), row) for row in rows)

    def _read(self) -> None:
        """Keep whole lines only: a line half-written by a killed process is removed and redone."""
        if not self.path.exists():
            return
        data = read_bytes(self.path)
        whole_lines = data[: data.rfind(b"\n") + 1]
        if len(whole_lines) < len(data):
            with self.path.open("r+b") as stream:
                stream.truncate(len(whole_lines))
        # Bytes are cut at line feeds alone, texts also at characters that JSON leaves as they are.
        for number, line in enumerate(whole_lines.splitlines(), start=1):
            try:
                row = parse_json(line)
                self.rows[str(row["id"])] = row
            except (ValueError, KeyError, TypeError) as error:
                raise RunError(
                    f"{self.path}: line {number} is damaged; --fresh starts over"
                ) from error


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
