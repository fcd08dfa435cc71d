"""A folder that a command fills: a record, tables, and a lock for the one that writes."""

from __future__ import annotations

import contextlib
import json
import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from clinometer.errors import RunError
from clinometer.storage.atomic import replacing
from clinometer.storage.parquet_parts import digest_of, write_table
from clinometer.storage.record import SCHEMA_VERSION, FolderRecord
from clinometer.storage.resumable import Identity, Resumable
from clinometer.storage.untrusted import (
    MOST_RECORD,
    MOST_TABLE,
    parse_json,
    read_bytes,
    read_parquet,
)

Record = TypeVar("Record", bound=FolderRecord)

READING_PAUSES_S = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between a reader's looks at a run that is just being written."""


class ResultFolder(Resumable, Generic[Record]):
    """Base class of the folders of all commands; each names its tables and how to repair them.

    Every file is written atomically, so a run killed at any moment can be resumed. A concurrent
    reader gets tables that belong together: run.json is written last and names them by digest.
    """

    schema: type[Record]
    """The schema of its run.json."""

    command: ClassVar[str]
    """The command that makes such a run."""

    kind: ClassVar[str | None] = None
    """What its run.json says of itself; audits say nothing."""

    tables: ClassVar[tuple[str, ...]]
    """The names of its tables."""

    repair: ClassVar[str]
    """What writes tables again from the scores."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock_file = path / ".lock"
        self.record_file = path / "run.json"

    def exists(self) -> bool:
        """Return whether there is a record."""
        return self.record_file.is_file()

    def earlier(self) -> Identity | None:
        return self.read_record().identity if self.exists() else None

    def begin(self, identity: Identity) -> None:  # the record waits for the model
        self.clear_scores()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        with super().locked():
            for stale in self.path.rglob(".*.tmp"):  # of a writer that was killed
                stale.unlink(missing_ok=True)
            yield

    @abstractmethod
    def clear_scores(self) -> None:
        """Remove the scores."""

    def read_record(self) -> Record:
        """Return the content of run.json, checked for being one of this command's."""
        if not self.path.is_dir():
            raise RunError(f"{self.path}: no such run folder")
        try:
            data = read_bytes(self.record_file, most=MOST_RECORD)
            content = parse_json(data)
        except FileNotFoundError as error:
            raise RunError(
                f"{self.path}: expected a run folder, found no run.json in it"
            ) from error
        except ValueError as error:
            raise RunError(f"{self.record_file}: damaged: {error}") from error
        except OSError as error:
            raise RunError(
                f"{self.record_file}: cannot be read: {error.strerror}"
            ) from error
        self._check_version(content)
        if content.get("kind") != self.kind:
            raise RunError(
                f"{self.path}: expected a run of '{self.command}', found another kind"
            )
        return self.schema.from_json(data, self.record_file)

    def _check_version(self, content: Any) -> None:
        """Refuse a record that is no object, or of another version."""
        version = content.get("schema_version") if isinstance(content, dict) else None
        if version == SCHEMA_VERSION:
            return
        is_newer = isinstance(version, int) and version > SCHEMA_VERSION
        raise RunError(
            f"{self.record_file}: expected schema version {SCHEMA_VERSION}, found {version!r}"
            f"{'; update clinometer' if is_newer else ''}"
        )

    def write_record(self, record: Record, **changes: Any) -> None:
        """Write run.json; NaN and infinity are refused rather than written."""
        updated = datetime.now(UTC).isoformat(timespec="seconds")
        content = {**record.to_dict(), **changes, "updated": updated}
        text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        try:  # else one impossible value would cost the whole run
            parse_json(text)
        except ValueError as error:
            raise RunError(
                f"{self.record_file}: cannot be written: {error}; rerun the same command, what is "
                "there is kept"
            ) from error
        with replacing(self.record_file, error=RunError) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def clear(self) -> None:
        if self.exists():
            self.record_file.unlink()
            for name in self.tables:
                self._table_file(name).unlink(missing_ok=True)
        self.clear_scores()

    def write_finished(
        self, record: Record, tables: Mapping[str, pa.Table | Iterable[pa.Table]]
    ) -> None:
        """Write the tables first, then run.json with their digests: what says finished has all its
        files.

        A large table may come piece by piece.
        """
        digests = {}
        for name, table in tables.items():
            with replacing(self._table_file(name), error=RunError) as temporary:
                digests[name] = write_table(temporary, table)
        self.write_record(record, status="finished", tables=digests)

    def read_finished(self) -> tuple[Record, dict[str, pa.Table]]:
        """Return run.json with the tables that it names, all of one writing.

        A run that is being measured again meanwhile is looked at again until it stands still.
        """
        problem = ""
        for pause in READING_PAUSES_S:
            time.sleep(pause)
            record = self.read_record()
            if not record.finished:
                raise RunError(
                    f"{self.path}: the run is not finished; the command that began it continues it"
                )
            tables = {}
            for name in self.tables:
                file = self._table_file(name)
                try:
                    data = read_bytes(file, most=MOST_TABLE)
                    if digest_of(data) != record.tables.get(name):
                        problem = f"{file}: damaged, or not of this run"
                        break
                    tables[name] = read_parquet(data)
                except (OSError, ValueError) as error:
                    reason = error.strerror if isinstance(error, OSError) else error
                    problem = f"{file}: cannot be read: {reason}"
                    break
            else:
                return record, tables
        raise RunError(f"{problem}; {self.repair} writes it again from the scores")

    def _table_file(self, name: str) -> Path:
        return self.path / f"{name}.parquet"
