"""Small files to try the commands on, written for this package: no text or data of others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from clinometer.errors import InputError
from clinometer.storage.atomic import replacing

SAMPLES: Mapping[str, str] = {
    "articles.jsonl": "96 short pieces of invented local news, to mine contexts from",
    "table.csv": "invented preferences of 8 groups in 7 contexts",
    "statements.csv": "12 statements with their group and blanks for context",
    "versions.jsonl": "14 versions of each statement, with its blanks filled",
    "judgements.csv": "what 3 invented annotators say of the blanks",
    "decisions.csv": "decisions about 400 invented people, with sex and race",
    "screening.py": "an application that scores applicants, as it was shipped and as mended",
    "screening.toml": "who it is asked about, and how its score is read",
    "applications.csv": "30 invented applications, with a place for the name",
}
"""Name of a file -> what it is."""


def write_samples(folder: str | Path) -> list[Path]:
    """Write the samples into a folder; no file that is there is overwritten."""
    target = Path(folder)
    files = [target / name for name in SAMPLES]
    existing = [file for file in files if file.exists()]
    if existing:
        raise InputError(f"{existing[0]}: is there already; choose another folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target}: cannot be made: {error.strerror}") from error
    for file in files:
        with replacing(file) as temporary:
            content = (resources.files(__package__) / file.name).read_bytes()
            temporary.write_bytes(content)
    return files


__all__ = ["SAMPLES", "write_samples"]
