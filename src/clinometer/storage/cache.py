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
import json
import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.storage.cache_blocks import SCHEMA, Blocks, checksum, digest
from clinometer.storage.cache_location import cache_folder, cache_limit

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
