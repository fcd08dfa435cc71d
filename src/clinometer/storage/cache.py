"""Per-machine cache of scores: rows of numbers, keyed by everything they depend on.

One SQLite file in the cache folder ($CLINOMETER_CACHE, or the platform's), safe for several
processes. A *scope* lists in plain values everything that a number depends on except the item
itself (model revision, dtype, words, options); rows are keyed by the digests of scope and item, so
no text of a prompt is stored. Rows are stored in blocks, each with a checksum over its bytes and
keys.

Entries may be lost but are never wrong, and a cache failure never fails the run: a damaged block is
ignored, a damaged file is set aside and replaced, and a full disk or a read-only folder turns the
cache off for this process with one line in the log.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from clinometer.errors import SettingsError

# --- Rows of numbers in SQLite, many to a record: what storing each by itself costs is mostly
# SQLite


SCHEMA = """
CREATE TABLE IF NOT EXISTS blocks(
    id INTEGER PRIMARY KEY, scope INTEGER, items BLOB, data BLOB, checksum BLOB);
CREATE INDEX IF NOT EXISTS blocks_of_scope ON blocks(scope);
"""
#: Most rows in a block: who looks for one row reads all of its block.
MOST_ROWS = 1_024
_DIGEST = 16


@dataclass(frozen=True, eq=False)
class Index:
    """Where the items of a scope are, as of the blocks it had then.

    `first` and `rest` are the halves of each digest, in the order of `first`; among equal ones the
    oldest comes first.
    """

    seen: tuple[int, int, int]
    first: NDArray[np.uint64]
    rest: NDArray[np.uint64]
    block: NDArray[np.int64]
    row: NDArray[np.int64]

    def find(self, items: Sequence[bytes]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which of the items are known, and where in this index."""
        first, rest = _halves(b"".join(items))
        at = np.searchsorted(self.first, first)
        inside = np.flatnonzero(at < len(self.first))
        at = at[inside]
        same = (self.first[at] == first[inside]) & (self.rest[at] == rest[inside])
        return inside[same], at[same]


class Blocks:
    """The blocks in an open database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self._index: Index | None = None

    def add(
        self, scope: int, place: bytes, items: Sequence[bytes], rows: NDArray[np.float32]
    ) -> None:
        """Store rows [n, width] under the digests of their items; `place` is the scope's digest."""
        parts = []
        for start in range(0, len(items), MOST_ROWS):
            some = b"".join(items[start : start + MOST_ROWS])
            data = rows[start : start + MOST_ROWS].tobytes()
            parts.append((scope, some, data, checksum(place, some, data)))
        with self.database:
            self.database.executemany(
                "INSERT INTO blocks(scope, items, data, checksum) VALUES(?,?,?,?)", parts
            )

    def find(
        self, scope: int, place: bytes, items: Sequence[bytes], width: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float32], int]:
        """Which items are stored, their rows [n, width], and how many blocks were damaged; these
        are removed."""
        index = self._index_of(scope)
        known, at = index.find(items)
        blocks, rows = index.block[at], index.row[at]
        found = np.empty((len(known), width), dtype=np.float32)
        sound = np.ones(len(known), dtype=bool)
        damaged = []
        for number in np.unique(blocks).tolist():
            here = np.flatnonzero(blocks == number)
            values = self._read(number, place, width)
            if values is None:
                damaged.append((number,))
                sound[here] = False
            else:
                found[here] = values[rows[here]]
        if damaged:
            with self.database:
                self.database.executemany("DELETE FROM blocks WHERE id=?", damaged)
        return known[sound], found[sound], len(damaged)

    def _read(self, number: int, place: bytes, width: int) -> NDArray[np.float32] | None:
        row = self.database.execute(
            "SELECT items, data, checksum FROM blocks WHERE id=?", (number,)
        ).fetchone()
        if row is None or not all(isinstance(part, bytes) for part in row):
            return None
        items, data, kept = row
        if kept != checksum(place, items, data) or len(data) != len(items) // _DIGEST * 4 * width:
            return None
        return np.frombuffer(data, dtype="<f4").reshape(-1, width)

    def _index_of(self, scope: int) -> Index:
        found = self.database.execute(
            "SELECT COUNT(*), COALESCE(MAX(id), 0) FROM blocks WHERE scope=?", (scope,)
        ).fetchone()
        seen = (scope, *found)
        if self._index is None or self._index.seen != seen:
            parts = self.database.execute(
                "SELECT id, items FROM blocks WHERE scope=? ORDER BY id", (scope,)
            ).fetchall()
            parts = [(n, i) for n, i in parts if isinstance(i, bytes) and len(i) % _DIGEST == 0]
            self._index = _indexed(seen, parts)
        return self._index

    def count(self) -> int:
        (found,) = self.database.execute("SELECT COUNT(*) FROM blocks").fetchone()
        return int(found)

    def drop(self, number: int) -> None:
        """Remove blocks: those of the least recently used scopes first, and of these the oldest."""
        with self.database:
            self.database.execute(
                "DELETE FROM blocks WHERE id IN (SELECT blocks.id FROM blocks JOIN scopes ON "
                "scopes.id=blocks.scope ORDER BY scopes.used, blocks.id LIMIT ?)",
                (number,),
            )

    def adopt_single_rows(self) -> None:
        """Turn what 0.1 stored, each row in a record, into blocks."""
        database = self.database
        database.execute("BEGIN IMMEDIATE")  # two processes may have opened the file at once
        with database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name='rows'").fetchone():
                return
            for scope, place in database.execute("SELECT id, digest FROM scopes").fetchall():
                rows = database.execute(
                    "SELECT item, data, checksum FROM rows WHERE scope=? ORDER BY length(data), id",
                    (scope,),
                )
                while some := rows.fetchmany(MOST_ROWS):
                    self._adopt(scope, place, some)
            database.execute("DROP TABLE rows")

    def _adopt(self, scope: int, place: bytes, rows: Iterable[tuple[Any, Any, Any]]) -> None:
        by_size: dict[int, list[tuple[bytes, bytes]]] = {}
        for item, data, kept in rows:
            if all(isinstance(part, bytes) for part in (item, data, kept)) and (
                len(item) == _DIGEST and kept == checksum(place, item, data)
            ):
                by_size.setdefault(len(data), []).append((item, data))
        for some in by_size.values():
            items, data = (b"".join(parts) for parts in zip(*some, strict=True))
            self.database.execute(
                "INSERT INTO blocks(scope, items, data, checksum) VALUES(?,?,?,?)",
                (scope, items, data, checksum(place, items, data)),
            )


def _indexed(seen: tuple[int, int, int], parts: Sequence[tuple[int, bytes]]) -> Index:
    first, rest = _halves(b"".join(items for _, items in parts))
    sizes = [len(items) // _DIGEST for _, items in parts]
    block = np.repeat(np.array([number for number, _ in parts], dtype=np.int64), sizes)
    row = np.concatenate([np.arange(n) for n in sizes]) if sizes else np.zeros(0, dtype=np.int64)
    order = np.argsort(first, kind="stable")
    return Index(seen, first[order], rest[order], block[order], row[order])


def _halves(digests: bytes) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    numbers = np.frombuffer(digests, dtype="<u8")
    return numbers[::2], numbers[1::2]


def digest(text: str) -> bytes:
    """What an item or a scope is known by."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def checksum(place: bytes, item: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(place + item + data, digest_size=8).digest()


# --- Location and size limit of the cache --------------------------------------------------------


#: What this program was called before its first release; what it kept under that name still opens.
FORMER_NAME = "tiltmeter"
LIMIT = "2GB"
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def cache_folder() -> Path:
    """The cache folder: $CLINOMETER_CACHE, or the platform's."""
    chosen = os.environ.get("CLINOMETER_CACHE")
    return Path(chosen) if chosen else _adopted(user_cache_path("clinometer"))


def _adopted(folder: Path) -> Path:
    """The folder; one that was kept under the former name is moved there when it is first used."""
    former = folder.with_name(FORMER_NAME)
    if not folder.exists() and former.is_dir():
        with contextlib.suppress(OSError):  # another process was first, or not allowed: start empty
            former.rename(folder)
    return folder


def cache_limit() -> int:
    """The most bytes of scores that are kept: $CLINOMETER_CACHE_LIMIT; 0 switches the cache off."""
    return parse_size(os.environ.get("CLINOMETER_CACHE_LIMIT", LIMIT))


def parse_size(text: str) -> int:
    """Bytes of a size as people write it.

    >>> parse_size("500MB"), parse_size("1.5 GB"), parse_size("0")
    (500000000, 1500000000, 0)
    """
    number = text.strip().upper().rstrip("KMGTB")
    unit = text.strip().upper()[len(number) :]
    try:
        return int(float(number) * _UNITS[unit])
    except (ValueError, KeyError):
        raise SettingsError(
            f"CLINOMETER_CACHE_LIMIT: expected a size such as 500MB or 2GB, found {text!r}"
        ) from None


# --- Per-machine cache of scores: rows of numbers, keyed by everything they depend on ------------


_SCHEMA = """
CREATE TABLE IF NOT EXISTS scopes(
    id INTEGER PRIMARY KEY, digest BLOB UNIQUE, about TEXT, used REAL);
CREATE TABLE IF NOT EXISTS notes(digest BLOB PRIMARY KEY, text TEXT, checksum BLOB);
"""
#: Everything that reading an untrusted file can raise.
_TROUBLE = (sqlite3.Error, OSError, ValueError, TypeError)
_DAMAGE = (
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
)
_log = logging.getLogger("clinometer.storage.cache")


class Cache:
    """The cache of this machine. Methods never raise for problems with the disk or the file."""

    def __init__(self, folder: Path | None = None, *, limit: int | None = None) -> None:
        self.file = (folder or cache_folder()) / "scores.sqlite"
        self.limit = cache_limit() if limit is None else limit
        self._off = self.limit == 0
        self._connection: sqlite3.Connection | None = None
        self._known: Blocks | None = None

    @property
    def on(self) -> bool:
        return not self._off

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    # --- rows -----------------------------------------------------------------------------------

    def get(
        self, scope: Mapping[str, Any], items: Sequence[str], width: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Indices of the items that are cached, and their rows [n, width]."""
        with self._guard() as database:
            if database is not None:
                number, place = self._scope(database, scope)
                asked = [digest(item) for item in items]
                places, rows, damaged = self._blocks(database).find(number, place, asked, width)
                if damaged:
                    _log.warning("cache: %d damaged blocks are left out and scored again", damaged)
                return places, rows
        return np.empty(0, dtype=np.intp), np.empty((0, width), dtype=np.float32)

    def holds(self, scope: Mapping[str, Any]) -> bool:
        """Whether there are rows of this scope."""
        with self._guard() as database:
            if database is not None:
                (found,) = database.execute(
                    "SELECT EXISTS(SELECT 1 FROM blocks JOIN scopes ON scopes.id=blocks.scope "
                    "WHERE digest=?)",
                    (digest(_plain(scope)),),
                ).fetchone()
                return bool(found)
        return False

    def put(
        self, scope: Mapping[str, Any], items: Sequence[str], rows: NDArray[np.floating[Any]]
    ) -> None:
        """Store rows [n, width]; of an item that is stored twice the first row counts."""
        with self._guard() as database:
            if database is None:
                return
            number, place = self._scope(database, scope)
            plain = np.ascontiguousarray(rows, dtype="<f4")
            blocks = self._blocks(database)
            blocks.add(number, place, [digest(item) for item in items], plain)
            self._evict(blocks)

    def _blocks(self, database: sqlite3.Connection) -> Blocks:
        """The blocks of the open database, with what is remembered of them."""
        if self._known is None or self._known.database is not database:
            self._known = Blocks(database)
        return self._known

    def _scope(self, database: sqlite3.Connection, scope: Mapping[str, Any]) -> tuple[int, bytes]:
        """The id and the digest of a scope, marked as used now."""
        text = _plain(scope)
        place = digest(text)
        with database:
            database.execute(
                "INSERT INTO scopes(digest, about, used) VALUES(?,?,?) "
                "ON CONFLICT(digest) DO UPDATE SET used=excluded.used",
                (place, text, time.time()),
            )
        (number,) = database.execute("SELECT id FROM scopes WHERE digest=?", (place,)).fetchone()
        return int(number), place

    def _evict(self, blocks: Blocks) -> None:
        """If over the limit, shrink to nine tenths of it."""
        while (size := self._used(blocks.database)) > self.limit and (n := blocks.count()):
            share = min(1.0, (size - 0.9 * self.limit) / size)
            blocks.drop(max(1, int(n * share)))
            blocks.database.executescript("PRAGMA incremental_vacuum")

    @staticmethod
    def _used(database: sqlite3.Connection) -> int:
        values = [
            database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        ]
        return int((values[0] - values[1]) * values[2])

    # --- notes ----------------------------------------------------------------------------------

    def note(self, about: Mapping[str, Any]) -> Any:
        """The plain value stored under `about`, or None."""
        found = None
        with self._guard() as database:
            if database is not None:
                key = digest(_plain(about))
                row = database.execute(
                    "SELECT text, checksum FROM notes WHERE digest=?", (key,)
                ).fetchone()
                if row is not None and row[1] == checksum(b"", key, str(row[0]).encode()):
                    found = json.loads(row[0])
        return found

    def keep_note(self, about: Mapping[str, Any], value: Any) -> None:
        with self._guard() as database:
            if database is None:
                return
            key, text = digest(_plain(about)), _plain(value)
            with database:
                database.execute(
                    "INSERT OR REPLACE INTO notes VALUES(?,?,?)",
                    (key, text, checksum(b"", key, text.encode())),
                )

    # --- what it holds --------------------------------------------------------------------------

    def size(self) -> int:
        """Bytes on disk."""
        files = (self.file, *(self.file.with_name(self.file.name + s) for s in ("-wal", "-shm")))
        return sum(f.stat().st_size for f in files if f.exists())

    def scopes(self) -> list[dict[str, Any]]:
        """Each scope in plain values with its number of rows, most recently used first."""
        found: list[dict[str, Any]] = []
        with self._guard() as database:
            if database is not None:
                found = [
                    {"scope": json.loads(about), "rows": rows, "used": used}
                    for about, rows, used in database.execute(
                        "SELECT about, SUM(length(items)) / 16, used FROM scopes JOIN blocks ON "
                        "blocks.scope=scopes.id GROUP BY scopes.id ORDER BY used DESC"
                    )
                ]
        return found

    def clear(self) -> None:
        """Delete everything; other processes that have it open keep working."""
        with self._guard() as database:
            if database is None:
                return
            with database:
                for table in ("blocks", "scopes", "notes"):
                    database.execute(f"DELETE FROM {table}")  # noqa: S608
            database.executescript("PRAGMA incremental_vacuum")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    # --- the file -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _guard(self) -> Iterator[sqlite3.Connection | None]:
        """The open database; None if the cache is off. An error inside the block only ends the
        block."""
        database = self._ready()
        try:
            yield database
        except _TROUBLE as error:
            self._recover(error)

    def _ready(self) -> sqlite3.Connection | None:
        """The open database; a damaged file is replaced by a new one first."""
        while self._connection is None and self.on:
            try:
                self._connection = self._open()
            except _TROUBLE as error:
                self._recover(error)
        return self._connection

    def _recover(self, error: Exception) -> None:
        """A problem with the disk turns the cache off; a damaged file is replaced."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        damaged = code & 0xFF in _DAMAGE or code == sqlite3.SQLITE_IOERR_SHORT_READ
        if isinstance(error, OSError):
            self._switch_off(error.strerror or str(error))
        elif damaged and self.file.exists():
            self._set_aside(str(error))
        else:
            self._switch_off(str(error))

    def _open(self) -> sqlite3.Connection:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self.file, timeout=30, check_same_thread=False)
        try:
            database.execute("PRAGMA auto_vacuum=INCREMENTAL")
            database.execute("PRAGMA journal_mode=WAL").fetchall()
            database.execute("PRAGMA synchronous=NORMAL")
            database.executescript(_SCHEMA + SCHEMA)
            Blocks(database).adopt_single_rows()
        except BaseException:
            database.close()
            raise
        return database

    def _switch_off(self, reason: str) -> None:
        self.close()
        self._off = True
        _log.warning("cache %s is not used: %s", self.file, reason)

    def _set_aside(self, reason: str) -> None:
        """Move a damaged file out of the way; the next use creates a new one."""
        self.close()
        _log.warning("cache %s is damaged and was started again: %s", self.file, reason)
        try:
            for suffix in ("-wal", "-shm", ""):
                self.file.with_name(self.file.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            self._switch_off(error.strerror or str(error))


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
