"""The trust boundary: what came from others passes here before anything else sees it.

Two questions are answered. *What may it be?* Size, depth, kind and numbers are limited before use;
a file that is too large, or is not a plain file (a FIFO would hang the reader), is an OSError, and
wrong content is a ValueError: two `except` clauses of a caller are enough. *What may it name?*
Data, never code or addresses, unless the user said so on the command line: `Allowed`.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import importlib
import importlib.util
import io
import json
import math
import os
import re
import select
import signal
import stat
import sys
import sysconfig
import time
import tomllib
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from clinometer.errors import InputError, SettingsError, closest

if TYPE_CHECKING:
    import pyarrow as pa


MOST_RECORD = 64 << 20
"""Bytes of a record, a configuration or a topic."""

MOST_TOML = 8 << 20
"""Characters of a TOML file, which people write."""

MOST_TEXT = 512 << 20
"""Bytes of a text table, unpacked."""

MOST_TABLE = 2 << 30
"""Bytes of a binary table, decoded."""

MOST_COLUMNS = 2000
"""Columns of a text table."""

DEPTH = 64
"""How deep lists and objects may lie in each other.

Far more than any file of ours needs, and far less than Python's own limit.
"""

_TOO_DEEP = f"expected at most {DEPTH} levels of lists and objects"

_LONGEST_INTEGER = 30
"""Digits of a whole number."""

_KEY = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*"
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_KEY}){{{DEPTH}}}")
"""A dotted key of more levels: a.b.c. …"""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""A surrogate, which in JSON can be written only as an escape."""

_BATCH = 64
"""Rows decoded at a time where single values may be large."""


def open_binary(path: Path) -> io.BufferedReader:
    """Open a plain file; anything else that has a name is refused and never waited for."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(
                errno.EISDIR, "expected a file, found a folder", str(path)
            )
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, *, most: int = MOST_TEXT) -> bytes:
    """Return a whole file, unpacked if its name ends in .gz or .zst."""
    with _opened(path, most) as stream:
        return stream.read(most + 1)


def read_text(
    path: Path, *, shown: str, kind: str, error: type[InputError], most: int = MOST_TEXT
) -> str:
    """Return a whole text, without a byte order mark.

    What is wrong with a file that should have been of a `kind` is one line, which calls it
    `shown`.
    """
    try:
        data = read_bytes(path, most=most)
    except FileNotFoundError as exc:
        raise error(f"{shown}: no such file; check the path") from exc
    except IsADirectoryError as exc:
        raise error(f"{shown}: expected a {kind} file, found a folder") from exc
    except OSError as exc:
        raise error(f"{shown}: cannot be read: {exc.strerror}") from exc
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = exc.object.count(b"\n", 0, exc.start) + 1
        raise error(
            f"{shown}: line {line}: not valid UTF-8; save the file as UTF-8"
        ) from exc


def open_text(path: Path, *, most: int = MOST_TEXT, errors: str = "strict") -> TextIO:
    """Open a text without its byte order mark, unpacked if its name ends in .gz or .zst."""
    stream = _opened(path, most)
    return io.TextIOWrapper(stream, encoding="utf-8-sig", errors=errors, newline="")


def check_columns(names: Sequence[str]) -> None:
    """Raise ValueError unless a table has a number of columns with an end, and each name once."""
    if len(names) > MOST_COLUMNS:
        raise ValueError(
            f"expected at most {MOST_COLUMNS:,} columns, found {len(names):,}; leave out those "
            "that are not needed"
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(
            f"expected every column once, found {repeated[0]!r} twice; rename one"
        )


def _unpacked_zst(file: Any) -> Any:
    """Return the content of zstandard frames, one after the other.

    A file that ends inside a frame is an OSError.
    """
    import pyarrow as pa

    return pa.CompressedInputStream(file, "zstd")


Unpack = Callable[[Any], Any]

PACKED: dict[str, Unpack] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".zst": _unpacked_zst,
}
"""Endings of packed files -> what unpacks their stream."""


def _opened(path: Path, most: int) -> io.BufferedReader:
    """Open the bytes of a file, unpacked; more than `most` of them, and damage, are an OSError."""
    unpack = PACKED.get(path.suffix)
    return bounded(open_binary(path), unpack, most, _too_large(path, most))


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {most >> 20} MB", str(path))


def bounded(
    file: Any, unpack: Unpack | None, most: int, too_large: OSError
) -> io.BufferedReader:
    """Return what a file holds, unpacked; after `most` bytes the error `too_large`."""
    return io.BufferedReader(_Bounded(file, unpack, most, too_large), 1 << 16)


class _Bounded(io.RawIOBase):
    """A stream that unpacks a file and ends with an error after so many bytes."""

    def __init__(
        self, file: Any, unpack: Unpack | None, most: int, too_large: OSError
    ) -> None:
        self._file = file
        self._remaining = most
        self._too_large = too_large
        self._stream = file if unpack is None else unpack(file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            size: int = self._stream.readinto(buffer)
        except (EOFError, zlib.error, OSError) as error:
            reason = getattr(error, "strerror", None) or f"not a whole file: {error}"
            raise OSError(errno.EIO, reason, self._too_large.filename) from error
        self._remaining -= size
        if self._remaining < 0:
            raise self._too_large
        return size

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._file.close()
        super().close()


def read_json(path: Path, *, most: int = MOST_RECORD) -> Any:
    """Return the content of a JSON file, as `parse_json` has it."""
    return parse_json(read_bytes(path, most=most))


def check_json(path: Path) -> None:
    """Raise unless a file of JSON, or a zip archive of such files, is within the limits."""
    with open_binary(path) as file:
        if not zipfile.is_zipfile(file):
            parse_json(read_bytes(path), loose=True)
            return
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > MOST_TABLE:
                raise _too_large(path, MOST_TABLE)
            for entry in entries:
                if entry.filename.endswith(".json"):
                    parse_json(archive.read(entry), loose=True)


def parse_json(data: bytes | str, *, loose: bool = False) -> Any:
    """Return the content of JSON as the standard has it and no more.

    There is no NaN or infinity, no number or nesting without measure, no half of a character.
    `loose` reads NaN and infinity as None: other tools write them.

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
    leaves = _leaves(value)
    if _SURROGATE.search(text):
        _check_characters(leaves)
    return value


def _check_characters(leaves: Iterable[Any]) -> None:
    """Refuse half of a character."""
    for item in leaves:
        try:
            str(item).encode()
        except UnicodeEncodeError:
            raise ValueError(
                "expected whole characters, found half of a pair"
            ) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of TOML within the limits of `parse_json`."""
    if len(text) > MOST_TOML:
        raise ValueError(f"larger than {MOST_TOML >> 20} MB")
    if _LONG_KEY.search(text):  # tomllib needs time with the square of its length
        raise ValueError(_TOO_DEEP)
    try:
        value = tomllib.loads(text, parse_float=_finite)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    for item in _leaves(value):
        if isinstance(item, int) and abs(item) >= 10**_LONGEST_INTEGER:
            raise ValueError(f"expected numbers of at most {_LONGEST_INTEGER} digits")
        if isinstance(item, str) and "\0" in item:  # which no name of a file can have
            raise ValueError("expected text without NUL characters")
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, found {text}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _no_number(text[:20])
    return value


def _whole_number(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise ValueError(f"expected numbers of at most {_LONGEST_INTEGER} digits")
    return int(text)


def _leaves(value: Any) -> list[Any]:
    """Return the texts, numbers and names at any depth of lists and objects.

    It is a ValueError where they lie deeper than DEPTH.
    """
    leaves: list[Any] = []
    level = [value]
    for _ in range(DEPTH):
        inside: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inside += [*item, *item.values()]
            elif isinstance(item, list):
                inside += item
            else:
                leaves.append(item)
        if not inside:
            return leaves
        level = inside
    if any(isinstance(item, dict | list) for item in level):
        raise ValueError(_TOO_DEEP)
    return leaves + level


def read_parquet(source: Path | bytes, *, most: int = MOST_TABLE) -> pa.Table:
    """Return a table of at most `most` bytes in memory.

    A parquet file says how large it is when unpacked, but not when decoded: a million references to
    one long text need a few kilobytes. Texts are therefore read as references, and decoded only
    where that fits.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file: Any
    if isinstance(source, bytes):
        file = pa.BufferReader(source)
        path = Path("table")
    else:
        file = open_binary(source)
        path = source
    try:
        with file:
            with pq.ParquetFile(file) as declared:
                texts, nested = _check_declared(declared, path, most)
                schema = declared.schema_arrow
            file.seek(0)
            with pq.ParquetFile(file, read_dictionary=texts) as parquet:
                table = _gathered(parquet, path, most) if nested else parquet.read()
            _check_decoded(table, texts, path, most)
            # Of pandas' metadata only harm can come: they turn columns into an index.
            plain = table.cast(schema) if texts else table
            return plain.replace_schema_metadata(None)
    except pa.ArrowException as error:
        text = " ".join(str(error).split())
        raise ValueError(f"not a readable parquet file: {text}") from error


def parquet_parts(path: Path, rows: int) -> Iterator[pa.Table]:
    """Yield a large table so many rows at a time, of which each part must fit into memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as declared:
        texts, nested = _check_declared(declared, path, sys.maxsize)
    with pq.ParquetFile(path, read_dictionary=texts) as parquet:
        for batch in parquet.iter_batches(_BATCH if nested else rows):
            part = pa.Table.from_batches([batch])
            _check_decoded(part, texts, path, MOST_TABLE)
            yield part


def _check_decoded(
    table: pa.Table, texts: Sequence[str], path: Path, most: int
) -> None:
    """Refuse a table whose references to texts are too much when they are decoded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = table.nbytes
    for name in texts:
        for chunk in table[name].chunks:
            if isinstance(chunk, pa.DictionaryArray):
                lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
                size += pc.sum(lengths).as_py() or 0
    if size > most:
        raise _too_large(path, most)


def _check_declared(declared: Any, path: Path, most: int) -> tuple[list[str], bool]:
    """Return the columns of texts, and whether texts also lie inside lists.

    What says that it is large is refused, and so are too many columns.
    """
    check_columns(declared.schema_arrow.names)
    columns = []
    for i in range(declared.num_row_groups):
        group = declared.metadata.row_group(i)
        columns += [group.column(j) for j in range(group.num_columns)]
    size = sum(column.total_uncompressed_size for column in columns)
    n_values = sum(column.num_values for column in columns)
    if max(size, 8 * n_values) > most:
        raise _too_large(path, most)
    paths = {c.path_in_schema for c in columns if c.physical_type == "BYTE_ARRAY"}
    texts = [name for name in sorted(paths) if "." not in name]
    return texts, len(texts) < len(paths)


def _gathered(parquet: Any, path: Path, most: int) -> pa.Table:
    """Return a table read batch by batch, until it is too large."""
    import pyarrow as pa

    batches = []
    size = 0
    for batch in parquet.iter_batches(batch_size=_BATCH):
        size += batch.nbytes
        if size > most:
            raise _too_large(path, most)
        batches.append(batch)
    return pa.Table.from_batches(batches, parquet.schema_arrow if not batches else None)


# --- Work that has an end -------------------------------------------------------------------------


def limited(
    work: Callable[[], str], *, seconds: int = 20, megabytes: int = 1024
) -> str:
    """Return what `work` gives in a process of its own.

    The process is ended where it takes too long, needs too much memory or gives too much; then, and
    where it fails, there is a ValueError with one line.

    For code that others wrote and a library runs for us: a chat template can loop and recurse, a
    pattern of a tokenizer can take for ever. Where processes cannot be forked there is no limit.
    """
    if not hasattr(os, "fork"):
        return work()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # About threads, of which the child uses none.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        _work_and_exit(work, writing, seconds, megabytes << 20)
    os.close(writing)
    data = bytearray()
    deadline = time.monotonic() + seconds
    try:
        with os.fdopen(reading, "rb", buffering=0) as answer:
            while len(data) <= _MOST_OUTPUT:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not select.select([answer], [], [], remaining)[0]:
                    raise ValueError(f"not done after {seconds} seconds")
                piece = answer.read(1 << 16)
                if not piece:
                    break
                data += piece
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if len(data) > _MOST_OUTPUT:
        raise ValueError(f"more than {_MOST_OUTPUT >> 20} MB")
    if data[:1] != b"+":
        raise ValueError(
            data[1:].decode() or f"ended, with more than {megabytes} MB of memory"
        )
    return data[1:].decode()


_SEARCHES = re.compile(r"(?<!(?<!\\)\()[*+?{]|\||\\[1-9]|\(\?P=")
"""What makes a pattern search: repeats (but not the mark of a group, (?:…), alternatives, and
references to a group."""

_MOST_STEPS = 10**9
"""The steps of one repeat grow with the square of a text; this many take a few seconds."""

PATTERN_S = 20
"""Seconds that a pattern of others may take for all texts at once."""

_MOST_OUTPUT = 8 << 20
"""Bytes that limited work may give."""


def found_by(pattern: str, texts: Sequence[str]) -> list[list[str | None]]:
    """Return the matches of a pattern of others in each text: group 1, or all where it has none.

    >>> found_by("score: ([0-9]+)", ["score: 7, score: 8", "none"])
    [['7', '8'], []]
    """
    compiled = re.compile(pattern)

    def matches_in(text: str) -> list[str | None]:
        return [match[compiled.groups] for match in compiled.finditer(text)]

    matches: list[list[str | None]] = _searched(
        pattern, texts, lambda: [matches_in(text) for text in texts]
    )
    return matches


@lru_cache(maxsize=65_536)
def named_parts(pattern: str, text: str) -> Mapping[str, str | None] | None:
    """Return the named groups of a pattern of others where it fits a whole text; else None.

    >>> named_parts("(?P<who>.*), (?P<age>[0-9]+)", "Ann, 9")
    {'who': 'Ann', 'age': '9'}
    """
    compiled = re.compile(pattern)

    def search() -> Mapping[str, str | None] | None:
        match = compiled.fullmatch(text)
        return None if match is None else match.groupdict()

    parts: Mapping[str, str | None] | None = _searched(pattern, [text], search)
    return parts


def _searched(pattern: str, texts: Sequence[str], search: Callable[[], Any]) -> Any:
    """Return what a search gives.

    One that can take for ever on a short text, with several repeats, is `limited`.
    """
    steps = sum(len(text) ** 2 for text in texts)
    if len(_SEARCHES.findall(pattern)) <= 1 and steps <= _MOST_STEPS:
        return search()
    return json.loads(limited(lambda: json.dumps(search()), seconds=PATTERN_S))


def _work_and_exit(
    work: Callable[[], str], writing: int, seconds: int, memory: int
) -> NoReturn:
    """Work in the child process, and leave it without the way out of a Python program."""
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        room = used * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    except (ImportError, OSError, ValueError):
        pass  # another system: time and length are limited
    try:
        output = b"+" + work().encode()
    except MemoryError:
        output = b"-"
    except BaseException as error:
        message = " ".join(str(error).split()) or type(error).__name__
        output = b"-" + message[:200].encode()
    try:
        remaining = memoryview(output)
        while remaining:
            written = os.write(writing, remaining)
            remaining = remaining[written:]
    finally:
        os._exit(0)


# --- What a file may name -------------------------------------------------------------------------


_LONGEST_NAME = 60
"""Characters of the name of a folder: with what is put behind it, no system refuses it."""


def folder_name(text: str) -> str:
    """Return a text, such as the name of a model, as the name of one folder: never a path or ".."

    >>> folder_name("openai-community/gpt2"), folder_name("steer × −2"), folder_name("steer × 2")
    ('openai-community-gpt2', 'steer--2', 'steer-2')
    >>> folder_name("../.."), folder_name(".."), folder_name("x" * 300) == "x" * _LONGEST_NAME
    ('model', 'model', True)
    """
    with_sign = text.replace("−", "-")  # the sign tells two apart
    name = re.sub(r"[^\w.-]+", "-", with_sign)[:_LONGEST_NAME]
    return name.strip("-.") or "model"


def folder_names(texts: Iterable[str]) -> dict[str, str]:
    """Return a folder name of its own for each text, also where a disk takes A and a as the same.

    >>> folder_names(["a/b", "A-b", "c"])
    {'a/b': 'a-b-c14cddc0', 'A-b': 'A-b-b05dd069', 'c': 'c'}
    """
    names = {text: folder_name(text) for text in texts}
    times = Counter(name.casefold() for name in names.values())
    for text, name in names.items():
        if times[name.casefold()] > 1:
            digest = hashlib.sha256(text.encode()).hexdigest()
            names[text] = f"{name}-{digest[:8]}"
    return names


@dataclass(frozen=True)
class Allowed:
    """What the user let others' files do, on the command line.

    Run folders and logs of others are opened with `NOTHING`: no flag makes them run code.

    >>> Allowed.parse(["pickle", "model:openai/gpt-4.1"]).models
    ('openai/gpt-4.1',)
    >>> Allowed.parse(["pickel"])
    Traceback (most recent call last):
    clinometer.errors.SettingsError: allow: expected remote-code, pickle, code:MODULE:NAME, \
model:NAME or env:NAME; found 'pickel'; did you mean pickle?
    """

    remote_code: bool = False
    """Whether code that ships with a model runs."""

    pickle: bool = False
    """Whether pickled weights are read, which can run code."""

    code: tuple[str, ...] = ()
    """Functions, module:name, that a topic may name."""

    models: tuple[str, ...] = ()
    """Models elsewhere that a topic, an adapter or a protocol may name."""

    variables: tuple[str, ...] = ()
    """Variables of the environment that an http: file may name."""

    @classmethod
    def parse(cls, names: Sequence[str]) -> Allowed:
        """Return the permissions by name, as --allow takes them."""
        by_kind: dict[str, list[str]] = {"code": [], "model": [], "env": []}
        for name in names:
            kind, _, value = name.partition(":")
            if value and kind in by_kind:
                by_kind[kind].append(value)
            elif name not in ("remote-code", "pickle"):
                near = closest(
                    name, ("remote-code", "pickle", "code:", "model:", "env:")
                )
                raise SettingsError(
                    "allow: expected remote-code, pickle, code:MODULE:NAME, model:NAME or "
                    f"env:NAME; found {name!r}{near}"
                )
        return cls(
            remote_code="remote-code" in names,
            pickle="pickle" in names,
            code=tuple(by_kind["code"]),
            models=tuple(by_kind["model"]),
            variables=tuple(by_kind["env"]),
        )

    def function(self, name: str, *, where: str) -> Callable[..., Any]:
        """Return the function "module:name" that a file names at `where`.

        It must have been allowed by this name, and be defined in a module of the user's project.
        """
        if name not in self.code:
            raise SettingsError(
                f"{where}: {name!r} is code, which no file can have run; if you wrote it, give the "
                f"topic file with --allow code:{name}"
            )
        module, _, attribute = name.partition(":")
        _check_own(module, where=where)
        try:
            function = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as exc:
            raise SettingsError(
                f"{where}: {name!r} cannot be imported ({exc}); put the module on PYTHONPATH"
            ) from exc
        if not callable(function) or getattr(function, "__module__", None) != module:
            raise SettingsError(
                f"{where}: expected a function that {module} defines, found {name!r}"
            )
        checked: Callable[..., Any] = function
        return checked

    def check_model(self, name: str, *, here: bool, where: str) -> None:
        """Refuse a model that a file names at `where`, unless it is `here`, on this machine, or was
        allowed by this name."""
        if name not in self.models and not here:
            raise SettingsError(
                f"{where}: {name!r} is not on this machine, and no file can have others asked; if "
                f"you know it, add --allow model:{name}"
            )


NOTHING = Allowed()
"""No permission."""

_PACKAGES = {"site-packages", "dist-packages"}
"""Folders of installed packages."""


def _check_own(module: str, *, where: str) -> None:
    """Refuse modules of Python and of installed packages; nothing is imported to find out."""
    top = module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise SettingsError(
            f"{where}: there is no module {top!r}; put it into a folder on PYTHONPATH"
        )
    files = [spec.origin or "", *(spec.submodule_search_locations or ())]
    places = [Path(file).resolve() for file in files if Path(file).is_absolute()]
    if not places or any(_is_installed(place) for place in places):
        raise SettingsError(
            f"{where}: expected a module of your project, found {top!r}, which comes with Python "
            "or a package; write a function that calls it"
        )


def _is_installed(place: Path) -> bool:
    """Return whether a module comes with Python, with an installed package or with this one."""
    python = Path(sysconfig.get_path("stdlib")).resolve()
    clinometer = Path(__file__).resolve().parents[1]
    is_of_package = bool(_PACKAGES.intersection(place.parts))
    return (
        is_of_package
        or place.is_relative_to(python)
        or place.is_relative_to(clinometer)
    )
