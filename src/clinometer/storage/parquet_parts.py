"""Parquet files with digests: tables, and the parts of a growing one.

A truncated or corrupted file must never be read as data. The name of a part contains a digest of
its bytes; the digest of any other table is stored in run.json. A file that does not match its
digest is damaged.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clinometer.errors import RunError
from clinometer.storage.atomic import replacing
from clinometer.storage.untrusted import MOST_TABLE, read_bytes, read_parquet

T = TypeVar("T")

_digest = partial(hashlib.blake2b, digest_size=8)
"""The hash of a file: 64 bits."""


class Parts:
    """A folder of parts, part-FIRST-DIGEST.parquet, each written atomically.

    FIRST is a number of the caller's that orders the parts (the first row's, say). One process
    writes; any number may read meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, first: int, table: pa.Table) -> Path:
        """Add a part, and return its file."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{self.folder}: cannot be written: {error.strerror}"
            ) from error
        data = encode(table)
        file = self.folder / f"part-{first:09d}-{digest_of(data)}.parquet"
        with replacing(file, error=RunError) as temporary:
            temporary.write_bytes(data)
        return file

    def files(self) -> list[Path]:
        """Return the files of the parts, in order."""
        return sorted(self.folder.glob("part-*.parquet"))

    def read(self) -> Iterator[tuple[Path, pa.Table | None]]:
        """Yield every part in order, with None for a damaged one."""
        for file in self.files():
            yield file, self.load(file)

    def load(self, file: Path) -> pa.Table | None:
        """Return one part; None if it is damaged."""
        try:
            data = read_bytes(file, most=MOST_TABLE)
            digest = file.stem.rpartition("-")[2]
            is_sound = digest == digest_of(data)
            return read_parquet(data) if is_sound else None
        except (OSError, ValueError):
            return None

    def results(
        self, read: Callable[[pa.Table], T | None], *, advice: str | None = None
    ) -> Iterator[T]:
        """Yield what `read` makes of each part; None stands for a damaged one.

        A damaged part is removed, so that it is computed again; with `advice` it is an error that
        ends with it.
        """
        for file, table in self.read():
            result = None if table is None else read(table)
            if result is not None:
                yield result
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
    """Return whether a part, which others may have written, is of a schema.

    It has these columns and no more, each once, of this type, without nulls, and without NaN but in
    the columns `nan`. The `optional` columns may be missing.
    """
    names = set(table.column_names)
    required = set(schema).difference(optional)
    if len(names) < len(table.column_names) or not required <= names <= set(schema):
        return False
    for name in table.column_names:
        if table[name].type != schema[name]:
            return False
        for chunk in table[name].chunks:
            if not _has_values(chunk, nan=name in nan):
                return False
            if _is_list(chunk) and not _has_values(chunk.flatten(), nan=name in nan):
                return False
    return True


def _has_values(array: pa.Array, *, nan: bool) -> bool:
    """Return whether no value of an array is missing; NaN counts as a value if it is allowed."""
    if array.null_count:
        return False
    if nan or not pa.types.is_floating(array.type):
        return True
    return not pc.any(pc.is_nan(array)).as_py()


def _is_list(column: pa.Array) -> bool:
    return bool(
        pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type)
    )


def encode(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    _write([table], sink)
    return bytes(sink.getvalue().to_pybytes())


def write_table(file: Path, table: pa.Table | Iterable[pa.Table]) -> str:
    """Write a table, or tables of the same columns one after the other, and return the digest of
    the file. No more than one of them and its bytes are in memory."""
    with file.open("wb") as sink:
        _write([table] if isinstance(table, pa.Table) else table, sink)
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, _digest).hexdigest()


def _write(tables: Iterable[pa.Table], sink: Any) -> None:
    """Write tables of the same columns into one Parquet file.

    The bytes of a float32 are compressed apart from each other: the first ones are alike.
    """
    remaining = iter(tables)
    first = next(remaining)
    float_paths: dict[str, str] = {}
    for field in first.schema:
        path = _float32_path(field)
        if path is not None:
            float_paths[field.name] = path
    dictionary_columns = [
        name for name in first.column_names if name not in float_paths
    ]
    with pq.ParquetWriter(
        sink,
        first.schema,
        compression="zstd",
        use_dictionary=dictionary_columns,
        use_byte_stream_split=list(float_paths.values()),
        write_statistics=False,
    ) as writer:
        writer.write_table(first)
        del first
        for table in remaining:
            writer.write_table(table)


def _float32_path(field: pa.Field) -> str | None:
    """Return the path of a column of float32, or of lists of them; None for any other."""
    if field.type == pa.float32():
        return str(field.name)
    if (
        pa.types.is_fixed_size_list(field.type)
        and field.type.value_type == pa.float32()
    ):
        return f"{field.name}.list.element"
    return None


def digest_of(data: bytes) -> str:
    """Return what a file's bytes are known by: 64 bits, against damage and not against malice.

    >>> digest_of(b"tilt")
    '77ce04aa52d31a2a'
    """
    return _digest(data).hexdigest()
