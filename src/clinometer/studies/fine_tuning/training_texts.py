"""Texts to train on: a column of a csv file, a field of json lines, or one text per line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from clinometer.errors import TableError
from clinometer.storage.untrusted import open_text, parse_json, read_bytes

#: Text columns of published collections.
_USUAL = ("text", "tweet", "comment", "comment_text", "sentence")


def read_texts(
    paths: Sequence[Path], *, column: str | None = None, where: Sequence[str] = ()
) -> list[str]:
    """All texts of the files, in order. `where` selects rows: "class=0,1" or "is_toxic=Toxic"; a
    condition on a column that a file lacks is ignored for that file."""
    found: list[str] = []
    for path in paths:
        found += _of_file(path, column, [_condition(text) for text in where])
    found = [" ".join(text.split()) for text in found]
    found = [text for text in found if text]
    if not found:
        raise TableError("texts: no row is left; check --column and --where")
    return found


def some_of(texts: Sequence[str], n: int | None, *, seed: int) -> list[str]:
    """n texts sampled without replacement, in random order; all of them without n."""
    order = np.random.default_rng(seed).permutation(len(texts))
    return [texts[i] for i in order[: len(texts) if n is None else n]]


def _of_file(path: Path, column: str | None, where: list[tuple[str, set[str]]]) -> list[str]:
    try:
        if path.suffix == ".txt":
            return read_bytes(path).decode("utf-8").splitlines()
        if path.suffix == ".jsonl":
            lines = read_bytes(path).decode("utf-8").splitlines()
            frame = pd.DataFrame([parse_json(line) for line in lines if line.strip()])
        elif path.name.endswith((".csv", ".csv.gz")):
            with open_text(path) as stream:
                frame = pd.read_csv(stream, dtype=str, keep_default_na=False)
        else:
            raise TableError(f"{path}: expected a .csv, .jsonl or .txt file")
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    named = [column] if column else [c for c in _USUAL if c in frame.columns]
    if not named or named[0] not in frame.columns:
        raise TableError(
            f"{path}: expected a column with texts ({column or ', '.join(_USUAL)}), found "
            f"{', '.join(map(str, frame.columns))}; name it with --column"
        )
    for name, values in where:
        if name in frame.columns:
            frame = frame[frame[name].astype(str).isin(values)]
    return [str(text) for text in frame[named[0]]]


def _condition(text: str) -> tuple[str, set[str]]:
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise TableError(f"--where: expected COLUMN=VALUE,VALUE,…; found {text!r}")
    return name.strip(), {v.strip() for v in values.split(",")}
