"""Files with one reply per row: tables, and the result files of other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from clinometer.display.text import brief
from clinometer.errors import TableError
from clinometer.storage.rows import read_rows, reading
from clinometer.storage.untrusted import read_json

MOST_BYTES = 4 << 30
"""Bytes that a text table may have, unpacked; rows are not kept."""

Row = Mapping[str, Any]

_PROVIDER_FAILED = 2
"""The reason that promptfoo gives where the provider failed, not the reply."""


def reply_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a table (csv, tsv, jsonl, parquet), or of a JSON file: promptfoo's, or a
    list."""
    name = path.name.removesuffix(".gz").removesuffix(".zst").lower()
    if name.endswith(".json"):
        with reading(path, TableError):
            content = read_json(path)
        yield from _json_rows(content, path)
    elif name.endswith((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")):
        yield from read_rows(path, most=MOST_BYTES, loose=True)
    else:
        raise TableError(
            f"{path}: expected a file .csv, .tsv, .jsonl, .json or .parquet (also .gz)"
        )


def _json_rows(content: Any, path: Path) -> Iterator[Row]:
    """Read the replies in a JSON file, by its shape: promptfoo's, or a list."""
    results = content.get("results") if isinstance(content, Mapping) else None
    if isinstance(results, Mapping) and isinstance(results.get("results"), list):
        try:
            yield from _promptfoo_rows(results["results"])
        except (AttributeError, LookupError, TypeError) as error:
            raise TableError(
                f"{path}: expected the file as the tool wrote it, found a reply of another "
                f"shape: {brief(error)}"
            ) from error
        return
    if not isinstance(content, list):
        raise TableError(
            f"{path}: expected a list of replies, found {brief(content)!r}"
        )
    for number, value in enumerate(content):
        if not isinstance(value, Mapping):
            raise TableError(
                f"{path}: item {number}: expected an object with a reply, found {brief(value)!r}"
            )
        yield value


def _promptfoo_rows(results: Iterable[Any]) -> Iterator[Row]:
    """Read the results of promptfoo, with the name of the provider and all variables as fields."""
    for result in results:
        provider = result.get("provider") or {}
        if not isinstance(provider, str):
            provider = provider.get("label") or provider["id"]
        variables = (result.get("testCase") or {}).get("vars") or {}
        row = {
            "promptIdx": 0,
            **result,
            "provider": provider,
            "vars": {**variables, **(result.get("vars") or {})},
        }
        if result.get("failureReason") == _PROVIDER_FAILED:
            # The score of 0 that stands there does not count.
            row["score"] = None
            row["response"] = {"output": None}
        yield row
