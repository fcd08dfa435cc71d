"""Parquet files with digests: parts of a growing table, and single tables.

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
            raise RunError(f"{self.folder}: cannot be written: {error.strerror}") from error
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
    if len({*names}) < len(names) or not wanted.difference(optional) <= {*names} <= wanted:
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
            for values in ((column, column.flatten()) if _is_list(column) else (column,))
        )
        for name in names
    )


def _is_list(column: pa.Array) -> bool:
    return bool(pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type))


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
    scores = {field.name: path for field in first.schema if (path := _float32_path(field))}
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
    if pa.types.is_fixed_size_list(field.type) and field.type.value_type == pa.float32():
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
