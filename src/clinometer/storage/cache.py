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
_DIGEST = 16
#: A file written this short ago may be written again within one tick of the disk's clock.
_SETTLED_NS = 2_000_000_000
#: Bytes of a file that one core digests.
_PART = 2**26
_log = logging.getLogger("clinometer.storage.cache")


def _content_digest(file: Path) -> str:
    """SHA-256 over those of the file's parts, which all cores read: a model has gigabytes."""

    def of_part(start: int) -> bytes:
        digest, left = hashlib.sha256(), _PART
        with open_binary(file) as stream:
            stream.seek(start)
            while left and (data := stream.read(min(left, 2**20))):
                digest.update(data)
                left -= len(data)
        return digest.digest()

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        parts = pool.map(of_part, range(0, max(file.stat().st_size, 1), _PART))
        return hashlib.sha256(b"".join(parts)).hexdigest()


def cache_limit() -> int:
    """The most bytes of scores to keep: $CLINOMETER_CACHE_LIMIT; 0 switches the cache off."""
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
        #: bytes that may be written before the files are measured again
        self._room = 0
        #: parts of the scope that was read last
        self._parts: dict[Path, pa.Table] = {}

    def get(
        self, scope: Mapping[str, Any], items: Sequence[str], width: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Indices of the items that are cached, and their rows [n, width]."""
        rows = np.empty((len(items), width), dtype=np.float32)
        cached = np.zeros(len(items), dtype=bool)
        with self._guard():
            parts = (
                list(self._load(self._scope_folder(scope)).values()) if self.on else []
            )
            # Where each item first occurs in the parts, one after the other; -1 if it does not.
            at = np.full(len(items), -1)
            if parts:
                known = pa.concat_arrays(
                    [c for part in parts for c in part["item"].chunks]
                )
                at = np.asarray(
                    pc.index_in(_digests(items), value_set=known).fill_null(-1)
                )
            first = 0
            for part in parts:
                here = np.flatnonzero((at >= first) & (at < first + len(part)))
                if here.size:
                    data = part["row"].combine_chunks().buffers()[1]
                    values = np.frombuffer(data, dtype="<f4").reshape(-1, width)
                    rows[here] = values[at[here] - first]
                    cached[here] = True
                first += len(part)
        places = np.flatnonzero(cached)
        return places, rows[places]

    def holds(self, scope: Mapping[str, Any]) -> bool:
        """Whether there are rows of this scope."""
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
        row_bytes = pa.binary(4 * rows.shape[1])
        values = pa.FixedSizeBinaryArray.from_buffers(
            row_bytes, len(items), [None, data]
        )
        with self._guard():
            folder = self._scope_folder(scope)
            if not (folder / "scope.json").exists():
                _write_text(folder / "scope.json", _plain(scope))
            os.utime(folder / "scope.json")
            table = pa.table({"item": _digests(items), "row": values})
            file = Parts(folder).write(time.time_ns(), table)
            self._room -= file.stat().st_size
            if self._room < 0:
                self._evict()

    def _load(self, folder: Path) -> dict[Path, pa.Table]:
        """The parts of a scope, the oldest first, which stay in memory until the next `put`. Marks
        the scope as used; a damaged part is removed."""
        before, self._parts = self._parts, {}
        for file in Parts(folder).files():
            table = before.get(file) or Parts(folder).load(file)
            if table is not None:
                self._parts[file] = table
            else:
                _log.warning("cache: %s is damaged; its rows are scored again", file)
                file.unlink(missing_ok=True)
        if self._parts:
            os.utime(folder / "scope.json")
        return self._parts

    def _evict(self) -> None:
        """If over the limit, shrink to nine tenths of it: parts of the scope that was not used for
        longest go first, and of these the oldest."""
        size = self.size()
        if size > self.limit:
            scopes = sorted(
                self.folder.glob("*/scope.json"), key=lambda file: file.stat().st_mtime
            )
            for file in (
                part for scope in scopes for part in Parts(scope.parent).files()
            ):
                size -= file.stat().st_size
                file.unlink(missing_ok=True)
                if size <= 0.9 * self.limit:
                    break
        self._room = self.limit - size

    def note(self, about: Mapping[str, Any]) -> Any:
        """The plain value stored under `about`, or None."""
        value = None
        if not self.on:
            return value
        with self._guard():
            checksum, _, text = self._note_file(about).read_bytes().partition(b"\n")
            if checksum == _digest(text).hex().encode():
                value = json.loads(text)
        return value

    def keep_note(self, about: Mapping[str, Any], value: Any) -> None:
        if not self.on:
            return
        with self._guard():
            text = _plain(value)
            _write_text(
                self._note_file(about), f"{_digest(text.encode()).hex()}\n{text}"
            )

    def digest_of(self, file: Path) -> str:
        """A digest of a file's content, read only if it was written since the last time.

        It is remembered by what the system changes with every write and no program can set: inode
        and change time, with size and device.
        """
        now, before = time.time_ns(), file_state(file.stat())
        about = {"content of": str(file.resolve()), "state": before}
        if isinstance(known := self.note(about), str):
            return known
        found = _content_digest(file)
        if before == file_state(file.stat()) and before[-1] < now - _SETTLED_NS:
            self.keep_note(about, found)
        return found

    def size(self) -> int:
        """Bytes on disk."""
        sizes = []
        for file in self.folder.rglob("*"):
            with contextlib.suppress(OSError):  # another process has removed it
                sizes.append(file.stat().st_size if file.is_file() else 0)
        return sum(sizes)

    def scopes(self) -> list[dict[str, Any]]:
        """Each scope in plain values with its number of rows, most recently used first."""
        entries: list[dict[str, Any]] = []
        for file in self.folder.glob("*/scope.json"):
            with self._guard(), contextlib.suppress(ValueError):
                rows = sum(
                    pq.read_metadata(f).num_rows for f in Parts(file.parent).files()
                )
                scope, used = json.loads(file.read_bytes()), file.stat().st_mtime
                entries += (
                    [{"scope": scope, "rows": rows, "used": used}] if rows else []
                )
        return sorted(entries, key=lambda entry: -float(entry["used"]))

    def clear(self) -> None:
        """Delete everything; other processes that use it keep working."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _scope_folder(self, scope: Mapping[str, Any]) -> Path:
        return self.folder / _digest(_plain(scope).encode()).hex()

    def _note_file(self, about: Mapping[str, Any]) -> Path:
        return self.folder / f"{_digest(_plain(about).encode()).hex()}.note"

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """An error of the disk in this block switches the cache off for this process."""
        try:
            yield
        except FileNotFoundError:
            pass  # nothing cached, or removed by another process
        except (OSError, InputError) as error:
            self.on = False
            _log.warning("cache %s is not used: %s", self.folder, error)


def file_state(stat: os.stat_result) -> list[int]:
    """What tells that a file was written: size, times, and which file it is."""
    return [stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _digests(items: Sequence[str]) -> pa.Array:
    return pa.array(
        [_digest(item.encode("utf-8", "surrogatepass")) for item in items],
        pa.binary(_DIGEST),
    )


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def _write_text(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as beside:
        beside.write_text(text, encoding="utf-8")


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
