"""Reading untrusted files: size, depth and kind are limited before use.

A file that is too large, or is not a plain file (a FIFO would hang the reader), is an OSError;
wrong content is a ValueError. Nothing else is raised: two `except` clauses of a caller are enough.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import math
import os
import re
import stat
import tomllib
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NoReturn, TextIO

from clinometer.extras import require

if TYPE_CHECKING:
    import pyarrow as pa


#: Bytes passed to zstandard at a time: a malicious frame expands them to at most about 100 MB.
_ZST_CHUNK = 2048


class ZstReader(io.RawIOBase):
    """zstandard frames, one after the other; a file that ends inside a frame is an error.

    zstandard's own stream_reader silently accepts such a file.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        require("reading .zst files", "zstandard")
        import zstandard

        self._raw, self._decompressor = raw, zstandard.ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()
        self._given = False  # whether the frame has received any bytes
        self._packed = self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or self._raw.read(_ZST_CHUNK)
            if not self._packed:
                if self._given:
                    raise EOFError("the file ends inside a zstandard frame")
                return 0
            try:
                self._ready = self._frame.decompress(self._packed)
            except Exception as exc:  # zstandard.ZstdError, whose module is loaded here only
                raise OSError(str(exc)) from exc
            self._given, self._packed = True, b""
            if self._frame.eof:
                self._packed = self._frame.unused_data
                self._frame, self._given = self._decompressor.decompressobj(), False
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


#: Bytes of a record, a configuration or a topic.
MOST_RECORD = 64 << 20
#: Bytes of a text table, unpacked.
MOST_TEXT = 512 << 20
#: Bytes of a binary table, decoded.
MOST_TABLE = 2 << 30
#: Endings of packed files.
_PACKED = {".gz": "gzip", ".zst": "zstandard"}
#: How deep lists and objects may lie in each other: far more than any file of ours needs, and far
#: less than Python's own limit.
DEPTH = 64
_TOO_DEEP = f"expected at most {DEPTH} levels of lists and objects"
_LONGEST_INTEGER = 30
#: In JSON a surrogate can be written only as an escape.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
#: Rows decoded at a time where single values may be large.
_BATCH = 64


def open_binary(path: Path) -> io.BufferedReader:
    """A plain file for reading; anything else that has a name is refused and never waited for."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "expected a file, found a folder", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, *, most: int = MOST_TEXT) -> bytes:
    """A whole file, unpacked if its name ends in .gz or .zst."""
    with open_binary(path) as file, _unpacked(file, path) as stream:
        try:
            data: bytes = stream.read(most + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            whole = f"not a whole {_PACKED[path.suffix]} file: {error}"
            raise OSError(errno.EIO, whole, str(path)) from error
    if len(data) > most:
        raise _too_large(path, most)
    return data


def open_text(path: Path, *, most: int = MOST_TEXT, errors: str = "strict") -> TextIO:
    """A text file line by line, unpacked if it ends in .gz or .zst, without a byte order mark."""
    file = open_binary(path)
    bounded = io.BufferedReader(_Bounded(_unpacked(file, path), file, path, most), 1 << 16)
    return io.TextIOWrapper(bounded, encoding="utf-8-sig", errors=errors, newline="")


def _unpacked(file: BinaryIO, path: Path) -> Any:
    if path.suffix == ".zst":
        return io.BufferedReader(ZstReader(file), 1 << 16)
    return gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {most >> 20} MB", str(path))


class _Bounded(io.RawIOBase):
    """A stream that raises an error after a maximum number of bytes."""

    def __init__(self, stream: IO[bytes], file: BinaryIO, path: Path, most: int) -> None:
        self._stream, self._file, self._path, self._most = stream, file, path, most
        self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            whole = f"not a whole {_PACKED[self._path.suffix]} file: {error}"
            raise OSError(errno.EIO, whole, str(self._path)) from error
        self._left -= len(data)
        if self._left < 0:
            raise _too_large(self._path, self._most)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._file.close()
        super().close()


def read_json(path: Path, *, most: int = MOST_RECORD) -> Any:
    """The content of a JSON file, as `parse_json` has it."""
    return parse_json(read_bytes(path, most=most))


def parse_json(data: bytes | str, *, loose: bool = False) -> Any:
    """JSON as the standard has it and no more: no NaN or infinity, no number or nesting without
    measure, no half of a character. `loose` reads NaN and infinity as None: other tools write them.

    >>> parse_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parse_json("[1e999]")
    Traceback (most recent call last):
    ValueError: expected finite numbers, found 1e999
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    try:
        value = json.loads(
            text,
            parse_constant=(lambda _: None) if loose else _no_number,
            parse_float=_finite,
            parse_int=_whole_number,
        )
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(value)
    if _SURROGATE.search(text):
        _check_characters(value)
    return value


def parse_toml(text: str) -> dict[str, Any]:
    """TOML within the same limits."""
    if len(text) > MOST_RECORD:
        raise ValueError(f"larger than {MOST_RECORD >> 20} MB")
    try:
        value = tomllib.loads(text, parse_float=_finite)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(value)
    return value


def _no_number(found: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, found {found}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _no_number(text[:20])
    return value


def _whole_number(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise ValueError(f"expected numbers of at most {_LONGEST_INTEGER} digits")
    return int(text)


def _inside(value: Any) -> list[Any]:
    """The lists and objects directly in one."""
    items = value.values() if isinstance(value, dict) else value
    return [item for item in items if isinstance(item, dict | list)]


def _check_depth(value: Any) -> None:
    level = _inside([value])
    for _ in range(DEPTH):
        level = [item for outer in level for item in _inside(outer)]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def _check_characters(value: Any) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            try:
                item.encode()
            except UnicodeEncodeError:
                raise ValueError("expected whole characters, found half of a pair") from None
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item


def read_parquet(source: Path | bytes, *, most: int = MOST_TABLE) -> pa.Table:
    """A table of at most `most` bytes in memory.

    A parquet file says how large it is when unpacked, but not when decoded: a million references to
    one long text need a few kilobytes. Texts are therefore read as references, and decoded only
    where that fits.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file: Any = pa.BufferReader(source) if isinstance(source, bytes) else open_binary(source)
    path = Path("table") if isinstance(source, bytes) else source
    try:
        with file:
            with pq.ParquetFile(file) as plain:
                texts, nested = _check_declared(plain.metadata, path, most)
                schema = plain.schema_arrow
            file.seek(0)
            with pq.ParquetFile(file, read_dictionary=texts) as parquet:
                table = _gathered(parquet, path, most) if nested else parquet.read()
            size = table.nbytes
            for name in texts:
                for chunk in table[name].chunks:
                    if isinstance(chunk, pa.DictionaryArray):
                        lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
                        size += pc.sum(lengths).as_py() or 0
            if size > most:
                raise _too_large(path, most)
            return table.cast(schema) if texts else table
    except pa.ArrowException as error:
        text = " ".join(str(error).split())
        raise ValueError(f"not a readable parquet file: {text}") from error


def _check_declared(metadata: Any, path: Path, most: int) -> tuple[list[str], bool]:
    """Columns of texts, and whether texts also lie inside lists; refuses what says it is large."""
    texts: dict[str, None] = {}
    nested = False
    bytes_, values = 0, 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            values += column.num_values
            bytes_ += column.total_uncompressed_size
            if column.physical_type == "BYTE_ARRAY":
                if "." in column.path_in_schema:
                    nested = True
                else:
                    texts[column.path_in_schema] = None
    if bytes_ > most or values * 8 > most:
        raise _too_large(path, most)
    return list(texts), nested


def _gathered(parquet: Any, path: Path, most: int) -> pa.Table:
    import pyarrow as pa

    batches, size = [], 0
    for batch in parquet.iter_batches(batch_size=_BATCH):
        size += batch.nbytes
        if size > most:
            raise _too_large(path, most)
        batches.append(batch)
    return pa.Table.from_batches(batches, parquet.schema_arrow if not batches else None)
