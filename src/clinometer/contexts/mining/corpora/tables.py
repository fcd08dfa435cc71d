"""Articles in a column of a table: parquet, Arrow (Hugging Face datasets on disk), the hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clinometer.errors import ContextError
from clinometer.extras import require
from clinometer.storage.untrusted import open_binary


def parquet_rows(path: Path, field: str) -> Iterator[dict[str, Any]]:
    """The column of a parquet file, one batch at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_binary(path) as raw:
            columns = pq.read_schema(raw).names
            if field not in columns:
                yield dict.fromkeys(columns)
                return
        # As references: a text that a thousand rows share is in memory once.
        with open_binary(path) as raw, pq.ParquetFile(raw, read_dictionary=[field]) as file:
            for batch in file.iter_batches(batch_size=64, columns=[field]):
                yield from ({field: value.as_py()} for value in batch.column(0))
    except (OSError, pa.ArrowException) as exc:
        raise ContextError(f"{path.name}: not a readable parquet file: {_line(exc)}") from exc


def arrow_rows(path: Path, field: str) -> Iterator[dict[str, Any]]:
    """The column of an Arrow file: a stream, as `datasets` writes it, or a file with a footer."""
    import pyarrow as pa

    try:
        with open_binary(path), pa.memory_map(str(path)) as source:
            for batch in _batches(source):
                columns = batch.schema.names
                if field not in columns:
                    yield dict.fromkeys(columns)
                    return
                for start in range(0, batch.num_rows, 64):
                    part = batch.slice(start, 64).column(columns.index(field))
                    yield from ({field: text} for text in part.to_pylist())
    except (OSError, pa.ArrowException) as exc:
        raise ContextError(f"{path.name}: not a readable Arrow file: {_line(exc)}") from exc


def _batches(source: Any) -> Iterator[Any]:
    import pyarrow as pa

    if source.read(6) == b"ARROW1":
        file = pa.ipc.open_file(source)
        yield from (file.get_batch(i) for i in range(file.num_record_batches))
    else:
        source.seek(0)
        yield from pa.ipc.open_stream(source)


def hub_rows(name: str) -> Iterator[dict[str, Any]]:
    """A dataset of the Hugging Face hub, streamed: owner/name or owner/name:configuration."""
    require(f"reading hf:{name} from the hub", "datasets")
    import datasets

    datasets.config.HF_DATASETS_TRUST_REMOTE_CODE = False  # older versions prompt on stdin
    dataset, _, configuration = name.partition(":")
    try:
        yield from datasets.load_dataset(
            dataset, configuration or None, split="train", streaming=True
        )
    except (OSError, ValueError) as exc:
        raise ContextError(f"hf:{name}: cannot be read from the hub: {exc}") from exc


def _line(error: Exception) -> str:
    """Arrow's errors may have several lines."""
    return " ".join(str(error).split())
