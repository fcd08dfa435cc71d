"""Per-machine cache of scores: rows of numbers, keyed by everything they depend on.

scores/SCOPE/scope.json       what the rows beside it depend on, in plain values
scores/SCOPE/part-*.parquet   rows, by the digest of their item
scores/*.note                 plain values that are expensive to compute again

A *scope* lists everything that a number depends on except the item itself (model revision, dtype,
words, options). A scope's folder is named by its digest and a row is found by the digest of its
item, so no text of a prompt is stored. Several processes may read and write at once: each file is
written whole, under a new name.

Entries may be lost but are never wrong, and the cache never fails a run: a damaged file is removed,
and a full disk or a read-only folder turns the cache off for this process with one line in the log.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import ByteSize, TypeAdapter, ValidationError

from clinometer.errors import InputError, SettingsError
from clinometer.storage.atomic import cache_folder, replacing
from clinometer.storage.parquet_parts import Parts
from clinometer.storage.untrusted import open_binary

LIMIT = "2GB"
"""The most that is kept where the environment does not say."""

DIGEST_SIZE = 16
"""Bytes of the digest of an item or a scope."""

SETTLED_NS = 2_000_000_000
"""A file written this short ago may be written again within one tick of the disk's clock."""

DIGEST_PART = 2**26
"""Bytes of a file that one core digests."""

READ_SIZE = 2**20
"""Bytes of a file that are read at a time."""

_log = logging.getLogger("clinometer.storage.cache")


def _content_digest(file: Path) -> str:
    """Return SHA-256 over those of the file's parts, which all cores read: a model has
    gigabytes."""

    def digest_of_part(start: int) -> bytes:
        digest = hashlib.sha256()
        remaining = DIGEST_PART
        with open_binary(file) as stream:
            stream.seek(start)
            while remaining:
                data = stream.read(min(remaining, READ_SIZE))
                if not data:
                    break
                digest.update(data)
                remaining -= len(data)
        return digest.digest()

    starts = range(0, max(file.stat().st_size, 1), DIGEST_PART)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        digests = pool.map(digest_of_part, starts)
        return hashlib.sha256(b"".join(digests)).hexdigest()


def cache_limit() -> int:
    """Return the most bytes of scores to keep: $CLINOMETER_CACHE_LIMIT; 0 switches the cache
    off."""
    text = os.environ.get("CLINOMETER_CACHE_LIMIT", LIMIT)
    try:
        return TypeAdapter(ByteSize).validate_python(text)
    except ValidationError:
        raise SettingsError(
            f"CLINOMETER_CACHE_LIMIT: expected a size such as 500MB or 2GB, found {text!r}"
        ) from None


class Cache:
    """The cache of this machine. Methods never raise for problems with the disk or its files."""

    def __init__(self, folder: Path | None = None, *, limit: int | None = None) -> None:
        self.folder = (folder or cache_folder()) / "scores"
        self.limit = cache_limit() if limit is None else limit
        self.on = self.limit > 0
        self._free_bytes = 0
        """Bytes that may be written before the files are measured again."""
        self._parts: dict[Path, pa.Table] = {}
        """Parts of the scope that was read last."""

    def get(
        self, scope: Mapping[str, Any], items: Sequence[str], width: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the indices of the items that are cached, and their rows [n, width]."""
        rows = np.empty((len(items), width), dtype=np.float32)
        is_cached = np.zeros(len(items), dtype=bool)
        with self._guard():
            parts: list[pa.Table] = []
            if self.on:
                parts = list(self._load(self._scope_folder(scope)).values())
            positions = _first_positions(items, parts)
            start = 0
            for part in parts:
                end = start + len(part)
                of_part = np.flatnonzero((positions >= start) & (positions < end))
                if of_part.size:
                    data = part["row"].combine_chunks().buffers()[1]
                    values = np.frombuffer(data, dtype="<f4").reshape(-1, width)
                    rows[of_part] = values[positions[of_part] - start]
                    is_cached[of_part] = True
                start = end
        indices = np.flatnonzero(is_cached)
        return indices, rows[indices]

    def holds(self, scope: Mapping[str, Any]) -> bool:
        """Return whether there are rows of this scope."""
        return self.on and bool(Parts(self._scope_folder(scope)).files())

    def put(
        self,
        scope: Mapping[str, Any],
        items: Sequence[str],
        rows: NDArray[np.floating[Any]],
    ) -> None:
        """Store rows [n, width]; of an item that is stored twice the first row counts."""
        self._parts = {}
        if not self.on:
            return
        data = pa.py_buffer(np.ascontiguousarray(rows, dtype="<f4"))
        row_type = pa.binary(4 * rows.shape[1])
        values = pa.FixedSizeBinaryArray.from_buffers(
            row_type, len(items), [None, data]
        )
        with self._guard():
            folder = self._scope_folder(scope)
            if not (folder / "scope.json").exists():
                _write_text(folder / "scope.json", _as_json(scope))
            os.utime(folder / "scope.json")
            table = pa.table({"item": _digests(items), "row": values})
            file = Parts(folder).write(time.time_ns(), table)
            self._free_bytes -= file.stat().st_size
            if self._free_bytes < 0:
                self._evict()

    def _load(self, folder: Path) -> dict[Path, pa.Table]:
        """Return the parts of a scope, the oldest first, which stay in memory until the next
        `put`.

        The scope is marked as used; a damaged part is removed.
        """
        in_memory = self._parts
        self._parts = {}
        for file in Parts(folder).files():
            table = in_memory.get(file) or Parts(folder).load(file)
            if table is not None:
                self._parts[file] = table
            else:
                _log.warning("cache: %s is damaged; its rows are scored again", file)
                file.unlink(missing_ok=True)
        if self._parts:
            os.utime(folder / "scope.json")
        return self._parts

    def _evict(self) -> None:
        """Shrink to nine tenths of the limit, if over it.

        Parts of the scope that was not used for longest go first, and of these the oldest.
        """
        size = self.size()
        if size > self.limit:
            for file in self._least_used_first():
                size -= file.stat().st_size
                file.unlink(missing_ok=True)
                if size <= 0.9 * self.limit:
                    break
        self._free_bytes = self.limit - size

    def _least_used_first(self) -> Iterator[Path]:
        """Yield the parts of all scopes in the order in which they are removed."""
        scopes = sorted(
            self.folder.glob("*/scope.json"), key=lambda file: file.stat().st_mtime
        )
        for scope in scopes:
            yield from Parts(scope.parent).files()

    def note(self, about: Mapping[str, Any]) -> Any:
        """Return the plain value stored under `about`, or None."""
        value = None
        if not self.on:
            return value
        with self._guard():
            checksum, _, text = self._note_file(about).read_bytes().partition(b"\n")
            if checksum == _digest(text).hex().encode():
                value = json.loads(text)
        return value

    def keep_note(self, about: Mapping[str, Any], value: Any) -> None:
        """Store a plain value under `about`."""
        if not self.on:
            return
        with self._guard():
            text = _as_json(value)
            checksum = _digest(text.encode()).hex()
            _write_text(self._note_file(about), f"{checksum}\n{text}")

    def digest_of(self, file: Path) -> str:
        """Return a digest of a file's content, read only if it was written since the last time.

        It is remembered by what the system changes with every write and no program can set: inode
        and change time, with size and device.
        """
        start_ns = time.time_ns()
        state = file_state(file.stat())
        about = {"content of": str(file.resolve()), "state": state}
        remembered = self.note(about)
        if isinstance(remembered, str):
            return remembered
        digest = _content_digest(file)
        changed_ns = state[-1]
        if state == file_state(file.stat()) and changed_ns < start_ns - SETTLED_NS:
            self.keep_note(about, digest)
        return digest

    def size(self) -> int:
        """Return the bytes on disk."""
        total = 0
        for file in self.folder.rglob("*"):
            with contextlib.suppress(OSError):  # another process has removed it
                if file.is_file():
                    total += file.stat().st_size
        return total

    def scopes(self) -> list[dict[str, Any]]:
        """Return each scope in plain values with its number of rows, most recently used first."""
        entries: list[dict[str, Any]] = []
        for file in self.folder.glob("*/scope.json"):
            with self._guard(), contextlib.suppress(ValueError):
                parts = Parts(file.parent).files()
                rows = sum(pq.read_metadata(part).num_rows for part in parts)
                scope = json.loads(file.read_bytes())
                used = file.stat().st_mtime
                if rows:
                    entries.append({"scope": scope, "rows": rows, "used": used})
        return sorted(entries, key=lambda entry: -float(entry["used"]))

    def clear(self) -> None:
        """Delete everything; other processes that use it keep working."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _scope_folder(self, scope: Mapping[str, Any]) -> Path:
        return self.folder / _digest(_as_json(scope).encode()).hex()

    def _note_file(self, about: Mapping[str, Any]) -> Path:
        return self.folder / f"{_digest(_as_json(about).encode()).hex()}.note"

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Switch the cache off for this process if the disk fails in this block."""
        try:
            yield
        except FileNotFoundError:
            pass  # nothing cached, or removed by another process
        except (OSError, InputError) as error:
            self.on = False
            _log.warning("cache %s is not used: %s", self.folder, error)


def file_state(stat: os.stat_result) -> list[int]:
    """Return what tells that a file was written: which file it is, size, and times."""
    return [stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _first_positions(
    items: Sequence[str], parts: Sequence[pa.Table]
) -> NDArray[np.intp]:
    """Return where each item first occurs in the parts, one after the other; -1 if it does not."""
    if not parts:
        return np.full(len(items), -1)
    chunks: list[pa.Array] = []
    for part in parts:
        chunks += part["item"].chunks
    cached_items = pa.concat_arrays(chunks)
    positions = pc.index_in(_digests(items), value_set=cached_items)
    return np.asarray(positions.fill_null(-1))


def _digests(items: Sequence[str]) -> pa.Array:
    digests = [_digest(item.encode("utf-8", "surrogatepass")) for item in items]
    return pa.array(digests, pa.binary(DIGEST_SIZE))


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()


def _write_text(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
