"""Parquet files with digests: parts of a growing table, and the tables of a run's folder.

A truncated or corrupted file must never be read as data. The name of a part contains a digest of
its bytes; the digest of any other table is stored in run.json. A file that does not match its
digest is damaged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clinometer.errors import RunError
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import (
    SCHEMA_VERSION,
    FolderRecord,
    Identity,
    Resumable,
)
from clinometer.storage.untrusted import (
    MOST_RECORD,
    MOST_TABLE,
    parse_json,
    read_bytes,
    read_parquet,
)

T = TypeVar("T")
Record = TypeVar("Record", bound=FolderRecord)


class Parts:
    """A folder of parts, part-FIRST-DIGEST.parquet, each written atomically.

    FIRST is a number of the caller's that orders the parts (the first row's, say). One process
    writes; any number may read meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, first: int, table: pa.Table) -> Path:
        """Add a part."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{self.folder}: cannot be written: {error.strerror}"
            ) from error
        data = encode(table)
        file = self.folder / f"part-{first:09d}-{digest_of(data)}.parquet"
        with replacing(file, error=RunError) as beside:
            beside.write_bytes(data)
        return file

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def read(self) -> Iterator[tuple[Path, pa.Table | None]]:
        """Every part in order, with None for a damaged one."""
        for file in self.files():
            yield file, self.load(file)

    def load(self, file: Path) -> pa.Table | None:
        """One part; None if it is damaged."""
        try:
            data = read_bytes(file, most=MOST_TABLE)
            sound = file.stem.rpartition("-")[2] == digest_of(data)
            return read_parquet(data) if sound else None
        except (OSError, ValueError):
            return None

    def results(
        self, read: Callable[[pa.Table], T | None], *, advice: str | None = None
    ) -> Iterator[T]:
        """What `read` makes of each part; None stands for a damaged one.

        A damaged part is removed, so that it is computed again; with `advice` it is an error that
        ends with it.
        """
        for file, table in self.read():
            found = None if table is None else read(table)
            if found is not None:
                yield found
            elif advice is not None:
                raise RunError(f"{file}: damaged; {advice}")
            else:
                file.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the parts, what a killed writer left half-written, and the folder."""
        for file in [*self.files(), *self.folder.glob(".part-*.tmp")]:
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def sound(
    table: pa.Table,
    schema: Mapping[str, pa.DataType],
    *,
    optional: Collection[str] = (),
    nan: Collection[str] = (),
) -> bool:
    """Whether a part, which others may have written, has these columns and no more, each once, of
    this type, without nulls, and without NaN but in the columns `nan`."""
    names, wanted = table.column_names, set(schema)
    if (
        len({*names}) < len(names)
        or not wanted.difference(optional) <= {*names} <= wanted
    ):
        return False
    return all(
        table[name].type == schema[name]
        and not any(
            values.null_count
            or (
                pa.types.is_floating(values.type)
                and name not in nan
                and pc.any(pc.is_nan(values)).as_py()
            )
            for column in table[name].chunks
            for values in (
                (column, column.flatten()) if _is_list(column) else (column,)
            )
        )
        for name in names
    )


def _is_list(column: pa.Array) -> bool:
    return bool(
        pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type)
    )


def encode(table: pa.Table) -> bytes:
    """A table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    _write([table], sink)
    return bytes(sink.getvalue().to_pybytes())


def write_table(file: Path, table: pa.Table | Iterable[pa.Table]) -> str:
    """Write a table, or tables of the same columns one after the other, and return the digest of
    the file. No more than one of them and its bytes are in memory."""
    with file.open("wb") as sink:
        _write([table] if isinstance(table, pa.Table) else table, sink)
    with file.open("rb") as written:
        return hashlib.file_digest(written, _digest).hexdigest()


def _write(tables: Iterable[pa.Table], sink: Any) -> None:
    """The bytes of a float32 are compressed apart from each other: the first ones are alike."""
    several = iter(tables)
    first = next(several)
    scores = {
        field.name: path for field in first.schema if (path := _float32_path(field))
    }
    with pq.ParquetWriter(
        sink,
        first.schema,
        compression="zstd",
        use_dictionary=[name for name in first.column_names if name not in scores],
        use_byte_stream_split=list(scores.values()),
        write_statistics=False,
    ) as writer:
        writer.write_table(first)
        del first
        for table in several:
            writer.write_table(table)


def _float32_path(field: pa.Field) -> str | None:
    """The path of a column of float32, or of lists of them; None for any other."""
    if field.type == pa.float32():
        return str(field.name)
    if (
        pa.types.is_fixed_size_list(field.type)
        and field.type.value_type == pa.float32()
    ):
        return f"{field.name}.list.element"
    return None


def digest_of(data: bytes) -> str:
    """What a file's bytes are known by: 64 bits, against damage and not against malice.

    >>> digest_of(b"tilt")
    '77ce04aa52d31a2a'
    """
    return _digest(data).hexdigest()


#: 64 bits.
_digest = partial(hashlib.blake2b, digest_size=8)


# --- A folder that a command fills: a record, tables, and a lock for the one that writes ----------


#: Seconds between a reader's looks at a run that is just being written.
_LOOKS_S = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


class ResultFolder(Resumable, Generic[Record]):
    """Base class of the folders of all commands; each names its tables and how to repair them.

    Every file is written atomically, so a run killed at any moment can be resumed. A concurrent
    reader gets tables that belong together: run.json is written last and names them by digest.
    """

    #: The schema of its run.json.
    schema: type[Record]
    #: The command that makes such a run.
    command: ClassVar[str]
    #: What its run.json says of itself; audits say nothing.
    kind: ClassVar[str | None] = None
    tables: ClassVar[tuple[str, ...]]
    #: What writes tables again from the scores.
    repair: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock_file, self.record_file = path / ".lock", path / "run.json"

    def exists(self) -> bool:
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
        """The content of run.json, checked for being one of this command's."""
        if not self.path.is_dir():
            raise RunError(f"{self.path}: no such run folder")
        try:
            data = read_bytes(self.record_file, most=MOST_RECORD)
            plain = parse_json(data)
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
        version = plain.get("schema_version") if isinstance(plain, dict) else None
        if version != SCHEMA_VERSION:
            newer = isinstance(version, int) and version > SCHEMA_VERSION
            raise RunError(
                f"{self.record_file}: expected schema version {SCHEMA_VERSION}, found {version!r}"
                f"{'; update clinometer' if newer else ''}"
            )
        if plain.get("kind") != self.kind:
            raise RunError(
                f"{self.path}: expected a run of '{self.command}', found another kind"
            )
        return self.schema.from_json(data, self.record_file)

    def write_record(self, record: Record, **changes: Any) -> None:
        """Write run.json; NaN and infinity are refused rather than written."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stamped = {**record.to_dict(), **changes, "updated": now}
        text = json.dumps(stamped, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        try:  # else one impossible value would cost the whole run
            parse_json(text)
        except ValueError as error:
            raise RunError(
                f"{self.record_file}: cannot be written: {error}; rerun the same command, what is "
                "there is kept"
            ) from error
        with replacing(self.record_file, error=RunError) as beside:
            beside.write_text(text, encoding="utf-8")

    def clear(self) -> None:
        if self.exists():
            self.record_file.unlink()
            for name in self.tables:
                self._table_file(name).unlink(missing_ok=True)
        self.clear_scores()

    def write_finished(
        self, record: Record, tables: Mapping[str, pa.Table | Iterable[pa.Table]]
    ) -> None:
        """Tables first, then run.json with their digests: what says finished has all its files.

        A large table may come piece by piece.
        """
        digests = {}
        for name, table in tables.items():
            with replacing(self._table_file(name), error=RunError) as beside:
                digests[name] = write_table(beside, table)
        self.write_record(record, status="finished", tables=digests)

    def read_finished(self) -> tuple[Record, dict[str, pa.Table]]:
        """run.json with the tables that it names, all of one writing.

        A run that is being measured again meanwhile is looked at again until it stands still.
        """
        problem = ""
        for pause in _LOOKS_S:
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
                    why = error.strerror if isinstance(error, OSError) else error
                    problem = f"{file}: cannot be read: {why}"
                    break
            else:
                return record, tables
        raise RunError(f"{problem}; {self.repair} writes it again from the scores")

    def _table_file(self, name: str) -> Path:
        return self.path / f"{name}.parquet"
