"""The column of a parquet file that holds the texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clinometer.contexts.mining.corpora.streams import most_bytes, too_large
from clinometer.errors import ContextError
from clinometer.storage.untrusted import open_binary


def parquet_rows(path: Path, field: str) -> Iterator[dict[str, Any]]:
    """Yield the column of a parquet file, some rows at a time; without it one row of Nones."""
    import pyarrow as pa

    try:
        yield from _rows(path, field)
    except (OSError, pa.ArrowException) as exc:
        message = " ".join(str(exc).split())  # may have several lines
        raise ContextError(
            f"{path.name}: not a readable parquet file: {message}"
        ) from exc


def _rows(path: Path, field: str) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    allowed = most_bytes(path.stat().st_size)
    with open_binary(path) as raw:
        columns = pq.read_schema(raw).names
        if field not in columns:
            yield dict.fromkeys(columns)
            return
        # As references: a text that a thousand rows share is in memory once.
        with pq.ParquetFile(raw, read_dictionary=[field]) as file:
            for batch in file.iter_batches(batch_size=64, columns=[field]):
                for value in batch.column(field):
                    text = value.as_py()
                    if isinstance(text, str):
                        allowed -= len(text)
                    if allowed < 0:  # a million references to one long text
                        raise too_large()
                    yield {field: text}
