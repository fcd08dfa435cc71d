"""Datasets from the Hugging Face hub, downloaded once and then read like local files."""

from __future__ import annotations

from pathlib import Path

from clinometer.errors import InputError, TableError
from clinometer.extras import require
from clinometer.models.catalog.hub import hub_reachable

_PATTERNS = ["*.csv", "*.tsv", "*.json", "*.jsonl", "*.parquet", "*.txt.dev", "*.txt.test"]


def fetch_dataset(name: str) -> Path:
    """The folder with a dataset's files; taken from the cache if the hub cannot be reached."""
    require("fetching a dataset", "huggingface_hub")
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                name,
                repo_type="dataset",
                allow_patterns=_PATTERNS,
                local_files_only=not hub_reachable(),
            )
        )
    except Exception as error:
        raise InputError(
            f"dataset {name!r}: not in the local cache, and downloading it from the hub failed: "
            f"check the name and the connection ({' '.join(str(error).split())[:100]})"
        ) from error


def table_in(folder: Path, name: str, choice: str | None) -> Path:
    """The only table of a downloaded dataset, or the one whose path contains `choice`."""
    endings = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
    files = sorted(f for f in folder.rglob("*") if f.suffix in endings)
    chosen = [f for f in files if choice is None or choice in str(f.relative_to(folder))]
    if len(chosen) != 1:
        known = ", ".join(str(f.relative_to(folder)) for f in files[:8]) or "no table"
        place = f" with {choice!r} in its path" if choice else ""
        raise TableError(
            f"dataset {name!r}: expected one table{place}, found {len(chosen)}: use "
            f"hf:{name}#PART with a part of one of: {known}"
        )
    return chosen[0]
