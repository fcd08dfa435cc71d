"""Rows of numbers in SQLite, many to a record: what storing each by itself costs is mostly SQLite.

A block has the digests of its items one after the other, and their rows in the same order, under
one checksum. The digests of a scope are few enough to search in memory.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
