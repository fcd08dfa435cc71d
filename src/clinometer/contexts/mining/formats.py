"""One reader a format. A broken line is counted and skipped; a file that is no text is an error."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from clinometer.errors import ContextError
from clinometer.extras import require

#: A line longer than this is no article; it is skipped, and never held in memory whole.
LONGEST_LINE = 16 * 1024 * 1024
#: Characters of a .txt file that make one article: whole lines, at least so many.
BLOCK = 10_000
_PROBE = 8192

TOO_LONG = f"line longer than {LONGEST_LINE // 1024 // 1024} MB"
NOT_UTF8 = "not valid UTF-8"
NOT_JSON = "not valid JSON"
NO_TEXT = "field missing or no text"


@contextlib.contextmanager
def opened(path: Path, member: str | None) -> Iterator[IO[bytes]]:
    """The bytes of a file or of a zip member, unpacked as they are read."""
    with contextlib.ExitStack() as stack:
        try:
            if member is not None:
                archive = stack.enter_context(zipfile.ZipFile(path))
                raw: Any = stack.enter_context(archive.open(member))
            else:
                raw = stack.enter_context(path.open("rb"))
        except (OSError, zipfile.BadZipFile, RuntimeError) as exc:
            raise ContextError(f"{path}: cannot be read: {exc}") from exc
        name = member or path.name
        if name.endswith(".gz"):
            raw = stack.enter_context(gzip.GzipFile(fileobj=raw))
        elif name.endswith(".zst"):
            raw = stack.enter_context(_unzstd(raw))
        yield io.BufferedReader(raw, 1 << 20) if not isinstance(raw, io.BufferedReader) else raw


def _unzstd(raw: Any) -> Any:
    require("reading .zst files", "zstandard")
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)


def lines(stream: IO[bytes], *, name: str, damage: Counter[str]) -> Iterator[str]:
    """The lines of a stream as text, without their ends."""
    first = True
    while True:
        try:
            line = stream.readline(LONGEST_LINE)
            long = len(line) == LONGEST_LINE and not line.endswith(b"\n")
            if long:
                while (more := stream.readline(1 << 20)) and not more.endswith(b"\n"):
                    pass
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as exc:
            raise ContextError(f"{name}: damaged, cannot be unpacked: {exc}") from exc
        except Exception as exc:
            if type(exc).__name__ != "ZstdError":  # zstandard is loaded only where it is needed
                raise
            raise ContextError(f"{name}: damaged, cannot be unpacked: {exc}") from exc
        if not line:
            return
        if first and b"\0" in line[:_PROBE]:
            raise ContextError(f"{name}: expected text, found a binary file")
        if first:
            line = line.removeprefix(b"\xef\xbb\xbf")
        first = False
        if long:
            damage[TOO_LONG] += 1
            continue
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            damage[NOT_UTF8] += 1


def blocks(found: Iterable[str]) -> Iterator[str]:
    """Lines of plain text gathered into articles of at least BLOCK characters."""
    gathered: list[str] = []
    size = 0
    for line in found:
        gathered.append(line)
        size += len(line)
        if (size >= BLOCK and not line.strip()) or size >= 8 * BLOCK:
            yield "\n".join(gathered)
            gathered, size = [], 0
    if size:
        yield "\n".join(gathered)


def json_texts(
    found: Iterable[str], field: str, *, name: str, damage: Counter[str]
) -> Iterator[str]:
    """The field of each JSON object, a line each."""
    texts = 0
    fields: list[str] = []
    for line in found:
        if not line.strip():
            continue
        try:
            article = json.loads(line)
        except (ValueError, RecursionError):
            damage[NOT_JSON] += 1
            continue
        text = article.get(field) if isinstance(article, dict) else None
        if not isinstance(text, str):
            fields = fields or (list(article) if isinstance(article, dict) else [])
            damage[NO_TEXT] += 1
            continue
        texts += 1
        yield text
    if not texts and damage[NO_TEXT]:
        raise _no_field(name, field, fields)


def parquet(path: Path, *, field: str, damage: Counter[str]) -> Iterator[str]:
    """The column of a parquet file, a batch at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            if field not in columns:
                raise _no_field(path.name, field, columns)
            for batch in file.iter_batches(batch_size=64, columns=[field]):
                for value in batch.column(0):
                    text = value.as_py()
                    if isinstance(text, str):
                        yield text
                    else:
                        damage[NO_TEXT] += 1
    except (OSError, pa.ArrowException) as exc:
        raise ContextError(f"{path.name}: not a readable parquet file: {exc}") from exc


def hub(name: str, *, field: str, damage: Counter[str]) -> Iterator[str]:
    """A dataset of the Hugging Face hub, streamed: owner/name or owner/name:configuration."""
    require(f"reading hf:{name} from the hub", "datasets")
    import datasets

    datasets.config.HF_DATASETS_TRUST_REMOTE_CODE = False  # else old versions ask on stdin
    dataset, _, configuration = name.partition(":")
    try:
        stream = datasets.load_dataset(
            dataset, configuration or None, split="train", streaming=True
        )
        for article in stream:
            text = article.get(field)
            if isinstance(text, str):
                yield text
            else:
                damage[NO_TEXT] += 1
    except (OSError, ValueError) as exc:
        raise ContextError(f"hf:{name}: cannot be read from the hub: {exc}") from exc


def _no_field(name: str, field: str, fields: list[str]) -> ContextError:
    return ContextError(
        f"{name}: no article has text in the field {field!r}, found "
        f"{', '.join(fields[:8]) or 'no fields'}; name the right one with --field"
    )
