"""From a path or a name to statements: the format is given, or detected from the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from clinometer.errors import SettingsError, TableError
from clinometer.reliability.benchmarks.crows_pairs import read_crows_pairs
from clinometer.reliability.benchmarks.redditbias import REDDITBIAS_FILES, read_redditbias
from clinometer.reliability.benchmarks.stereoset import read_stereoset
from clinometer.reliability.benchmarks.winobias import WINOBIAS_FILES, read_winobias
from clinometer.reliability.benchmarks.winogender import read_winogender
from clinometer.reliability.benchmarks.generic_table import read_table_of_statements
from clinometer.reliability.benchmarks.hub import fetch_dataset, table_in
from clinometer.reliability.benchmarks.files import SUFFIXES
from clinometer.reliability.statement import Statement
from clinometer.storage.untrusted import MOST_TEXT, open_text, read_parquet

FORMATS: dict[str, Callable[[Path], list[Statement]]] = {
    "crows-pairs": read_crows_pairs,
    "stereoset": read_stereoset,
    "stereoset-inter": partial(read_stereoset, tasks=("intersentence",)),
    "winobias": read_winobias,
    "winogender": read_winogender,
    "redditbias": read_redditbias,
    "table": read_table_of_statements,
}


def load_statements(*sources: str | Path, format: str | None = None) -> list[Statement]:
    """Statements from a benchmark's files, your own table, or a dataset on the hub.

    A source is a file or folder, or `hf:NAME` (`hf:NAME#PART` for one of several tables). Ids that
    two sources share get the name of their source in front: `women:1`, `men:1`.
    """
    if not sources:
        raise SettingsError("statements: expected at least one file, found none")
    found = [_load(source, format) for source in sources]
    ids = Counter(id for some in found for id in {s.id for s in some})
    if any(n > 1 for n in ids.values()):
        names = _names(sources)
        found = [
            [replace(s, id=f"{name}:{s.id}") for s in some]
            for name, some in zip(names, found, strict=True)
        ]
    return [statement for some in found for statement in some]


def _names(sources: Sequence[str | Path]) -> list[str]:
    """The sources by their file names; by their numbers if those are not distinct."""
    names = [Path(str(s)).name.split(".")[0] for s in sources]
    return names if len(set(names)) == len(names) else [str(i + 1) for i in range(len(names))]


def _load(source: str | Path, format: str | None) -> list[Statement]:
    if format is not None and format not in FORMATS:
        raise SettingsError(f"format: expected one of {', '.join(FORMATS)}; found {format!r}")
    if isinstance(source, str) and source.startswith("hf:"):
        name, _, part = source.removeprefix("hf:").partition("#")
        folder = fetch_dataset(name)
        known = format or (recognise(folder) if part == "" else None)
        if known in {"winobias", "winogender", "redditbias"}:
            return FORMATS[known](folder)
        path = table_in(folder, name, part or None)
    else:
        path = Path(source).expanduser()
    if not path.exists():
        raise TableError(f"{path}: no such file or folder")
    try:
        chosen = format or recognise(path)
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    if chosen is None:
        raise TableError(
            f"{path}: cannot tell which benchmark this is; use --format {'|'.join(FORMATS)}"
        )
    return FORMATS[chosen](path)


def recognise(path: Path) -> str | None:
    """The format of a file or folder, detected from its content; None if no format matches."""
    if path.is_dir():
        for name, pattern in (
            ("winobias", WINOBIAS_FILES),
            ("redditbias", REDDITBIAS_FILES),
            ("winogender", "all_sentences.tsv"),
        ):
            if any(path.glob(pattern)):
                return name
        return None
    if path.suffix == ".json":
        return "stereoset"
    if path.suffix == ".parquet":
        columns = set(read_parquet(path, most=MOST_TEXT).column_names)
    elif path.name.endswith(SUFFIXES):
        with open_text(path) as stream:
            first = stream.readline().rstrip("\r\n")
        if ".jsonl" in path.name:
            return "table"
        columns = set(first.replace('"', "").split("\t" if ".tsv" in path.name else ","))
    else:
        return None
    if {"sent_more", "sent_less"} <= columns:
        return "crows-pairs"
    if {"sentences", "bias_type", "context"} <= columns:
        return "stereoset"
    if "sentid" in columns:
        return "winogender"
    if "comments_processed" in columns:
        return "redditbias"
    return "table"
