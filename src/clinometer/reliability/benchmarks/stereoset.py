"""StereoSet (Nadeem et al. 2021): dev.json, or the tables on the Hugging Face hub.

The statement is the stereotyped sentence, its pair the anti-stereotyped one; in an intersentence
item both follow the context sentence. StereoSet lists its own target terms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clinometer.errors import TableError
from clinometer.reliability.benchmarks.files import read_rows
from clinometer.reliability.statement import Statement
from clinometer.storage.untrusted import MOST_TEXT, read_json

TASKS = ("intrasentence", "intersentence")
_HUB_LABELS = ("anti-stereotype", "stereotype", "unrelated")


def read_stereoset(path: Path, *, tasks: tuple[str, ...] = ("intrasentence",)) -> list[Statement]:
    """Items of the given tasks; intrasentence by default, as in COBIAS."""
    found: list[Statement] = []
    for task, items in _items(path).items():
        if task in tasks:
            found += [_stereoset_statement(item, task, path) for item in items]
    if not found:
        raise TableError(f"{path}: expected StereoSet items of {' or '.join(tasks)}, found none")
    return found


def _items(path: Path) -> dict[str, list[dict[str, Any]]]:
    if path.suffix == ".parquet":
        return {TASKS["inter" in str(path)]: [_from_hub(row) for row in read_rows(path)]}
    try:
        data = read_json(path, most=MOST_TEXT)["data"]
        return {task: list(data[task]) for task in TASKS if task in data}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TableError(f"{path}: expected StereoSet's dev.json: {error}") from error


def _from_hub(row: dict[str, Any]) -> dict[str, Any]:
    """The hub's columns of lists, converted to the original list of sentences."""
    pairs = zip(row["sentences"]["sentence"], row["sentences"]["gold_label"], strict=True)
    return {**row, "sentences": [{"sentence": s, "gold_label": _HUB_LABELS[g]} for s, g in pairs]}


def _stereoset_statement(item: dict[str, Any], task: str, path: Path) -> Statement:
    try:
        by_label = {s["gold_label"]: s["sentence"].strip() for s in item["sentences"]}
        before = f"{item['context'].strip()} " if task == "intersentence" else ""
        return Statement(
            id=f"ss_{task}_{item['id']}",
            text=before + by_label["stereotype"],
            targets=(item["target"],),
            category=item["bias_type"],
            source=f"stereoset-{task}",
            other=before + by_label["anti-stereotype"],
            direction="stereo",
        )
    except KeyError as error:
        raise TableError(
            f"{path}: item {item.get('id')!r}: expected {error}, found none"
        ) from error
    except (TypeError, AttributeError) as error:
        raise TableError(f"{path}: expected StereoSet's dev.json: {error}") from error
