"""Statements of bias benchmarks: CrowS-Pairs, StereoSet, WinoBias, Winogender and RedditBias as
published, and your own tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.errors import SettingsError, TableError
from clinometer.reliability.pairs import Merged, merge, target_term
from clinometer.reliability.statement import Blanks, Statement
from clinometer.storage.rows import Row, need_columns, need_unique_ids, read_rows
from clinometer.storage.untrusted import MOST_TEXT, open_text, read_json


def load_statements(*sources: str | Path, format: str | None = None) -> list[Statement]:
    """Read statements from a benchmark's files or folders, or your own tables.

    Ids that two sources share get the name of their source in front: `women:1`, `men:1` (or its
    number, if two have the same name).
    """
    if not sources:
        raise SettingsError("statements: expected at least one file, found none")
    by_source = [_load(source, format) for source in sources]
    ids = Counter[str]()
    for statements in by_source:
        ids.update({statement.id for statement in statements})
    if max(ids.values(), default=0) <= 1:
        return list(chain.from_iterable(by_source))
    names = [Path(source).name.split(".")[0] for source in sources]
    if len(set(names)) < len(names):
        names = [str(number) for number in range(1, len(names) + 1)]
    renamed = []
    for name, statements in zip(names, by_source, strict=True):
        for statement in statements:
            renamed.append(replace(statement, id=f"{name}:{statement.id}"))
    return renamed


def sample_statements(
    statements: list[Statement], limit: int | None, *, seed: int
) -> list[Statement]:
    """Return the statements, or at most `limit` of them, drawn at random, in their order."""
    if limit is None or limit >= len(statements):
        return statements
    generator = np.random.default_rng(seed)
    sample = generator.choice(len(statements), size=limit, replace=False)
    return [statements[i] for i in sorted(sample.tolist())]


def _load(source: str | Path, format: str | None) -> list[Statement]:
    if format is not None and format not in FORMATS:
        raise SettingsError(
            f"format: expected one of {', '.join(FORMATS)}; found {format!r}"
        )
    path = Path(source).expanduser()
    if not path.exists():
        raise TableError(f"{path}: no such file or folder")
    format = format or recognise(path)
    if format is None:
        raise TableError(
            f"{path}: cannot tell which benchmark this is; use --format {'|'.join(FORMATS)}"
        )
    return FORMATS[format](path)


def recognise(path: Path) -> str | None:
    """Return the format of a file or folder, detected from its content; None if no format
    matches."""
    if path.is_dir():
        for name, files in _FILES.items():
            if any(path.glob(files)):
                return name
        return None
    if path.suffix == ".json":
        return "stereoset"
    if not path.name.endswith(SUFFIXES):
        return None
    header = set(next(read_rows(path), ()))
    for name, columns in _COLUMNS.items():
        if columns <= header:
            return name
    return "table"


SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".csv.gz", ".jsonl.gz")
COBIAS_COLUMNS = ("id", "sentence", "target_term", "context_points")


def read_table_of_statements(path: Path) -> list[Statement]:
    """Read your own table, or the COBIAS dataset, which has the same columns: one statement per
    row."""
    rows = list(read_rows(path))
    if rows and "sentence" not in rows[0] and "context_points" in rows[0]:
        for row in rows:
            row["sentence"] = Blanks.parse(str(row["context_points"])).plain
    if not (rows and "text" in rows[0]):
        need_columns(path, rows, ("sentence",))
    id_column = _id_column(rows[0])
    if id_column is not None:
        for row in rows:
            row.setdefault("id", row[id_column])
    source = path.name.split(".")[0]
    if set(COBIAS_COLUMNS) <= set(rows[0]):
        source = "cobias"
    statements = [_statement(i, row, source) for i, row in enumerate(rows)]
    for number, statement in enumerate(statements, start=2):
        if not any(map(str.isalnum, statement.text)):
            raise TableError(
                f"{path}: row {number}: expected a sentence with words, found {statement.text!r}; "
                "correct the row or remove it"
            )
    need_unique_ids(path, [s.id for s in statements])
    return statements


def _id_column(row: Row) -> str | None:
    """Return the column of ids where none is called `id`: ID, uid, item_id; None if it is not
    clear.

    >>> _id_column({"Item_ID": 7, "sentence": ""})
    'Item_ID'
    >>> _id_column({"uid": 1, "pair_id": 2, "text": ""}) is None
    True
    """
    if "id" in row:
        return None
    pattern = re.compile(r"(.*[ _-])?u?id", flags=re.IGNORECASE)
    columns = [name for name in row if name and pattern.fullmatch(name)]
    return columns[0] if len(columns) == 1 else None


def statement_row(statement: Statement) -> Row:
    """Return a statement as a row that can be read back, with its pair merged for people to
    read."""
    other = statement.other
    return {
        "id": statement.id,
        "sentence": statement.text,
        "target_term": "; ".join(statement.targets),
        "context_points": statement.points,
        "category": statement.category,
        "source": statement.source,
        "other": other,
        "direction": statement.direction,
        "merged": "" if other is None else str(merge(statement.text, other)),
    }


def _statement(index: int, row: Row, source: str) -> Statement:
    """Return the statement of a row; of a merged pair the first sentence."""
    text = _string(row, "sentence", "text") or ""
    other = _string(row, "other")
    terms = (_string(row, "target_term") or "").split(";")
    targets = tuple(filter(None, map(str.strip, terms)))
    points = _string(row, "context_points")
    merged = Merged.parse(text)
    if merged.spans:
        if not targets:
            targets = tuple(filter(None, [target_term(merged)]))
        text = merged.side(0)
        other = other or merged.side(1)
        if points is not None:
            points = Merged.parse(points).side(0)
    return Statement(
        id=_string(row, "id") or str(index),
        text=text,
        targets=targets,
        points=points,
        category=_string(row, "category", "bias_type"),
        source=_string(row, "source") or source,
        other=other,
        direction=_string(row, "direction"),
    )


def _string(row: Row, *names: str) -> str | None:
    """Return the first of some columns that is not empty."""
    for name in names:
        value = row.get(name)
        if value is not None and str(value) != "":
            return str(value)
    return None


def read_crows_pairs(path: Path) -> list[Statement]:
    """Read CrowS-Pairs (Nangia et al. 2020): crows_pairs_anonymized.csv, or its French translation;
    one statement per pair."""
    rows = list(read_rows(path))
    need_columns(
        path, rows, ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
    )
    statements = []
    for i, row in enumerate(rows):
        pair = (row["sent_more"], row["sent_less"])
        side = int(row["stereo_antistereo"] == "antistereo")
        term = target_term(merge(*pair), side=side)
        statements.append(
            Statement(
                id=f"cs_{i}",
                text=pair[side],
                targets=(term,) if term else (),
                category=row["bias_type"],
                source="crows-pairs",
                other=pair[1 - side],
                direction=row["stereo_antistereo"],
            )
        )
    return statements


REDDITBIAS_FILES = "reddit_comments_*.csv"


def read_redditbias(path: Path) -> list[Statement]:
    """Read RedditBias (Barikeri et al. 2021): every row of every
    reddit_comments_*_biased_*_reduced.csv in the folder."""
    files = sorted(path.glob(REDDITBIAS_FILES)) if path.is_dir() else [path]
    if not files:
        raise TableError(
            f"{path}: expected a folder with RedditBias' {REDDITBIAS_FILES}, found none"
        )
    statements = []
    for file in files:
        rows = list(read_rows(file))
        need_columns(file, rows, ("comments_processed",))
        words = file.stem.removeprefix("reddit_comments_").split("_")
        name = "_".join(w for w in words if w not in {"biased", "reduced"})
        for i, row in enumerate(rows):
            statement = Statement(
                id=f"rb_{name}_{i}",
                text=str(row["comments_processed"]),
                category=words[0].rstrip("0123456789"),
                source="redditbias",
            )
            statements.append(statement)
    return statements


def read_stereoset(path: Path, *, task: str = "intrasentence") -> list[Statement]:
    """Read StereoSet (Nadeem et al. 2021): dev.json. Intrasentence items, as in COBIAS, or those of
    another task, "intersentence"."""
    statements: list[Statement] = []
    try:
        for item in read_json(path, most=MOST_TEXT)["data"][task]:
            statements.append(_stereoset_statement(item, task))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableError(
            f"{path}: item {len(statements)} of {task}: expected StereoSet's dev.json: {error}"
        ) from error
    if not statements:
        raise TableError(f"{path}: expected StereoSet items of {task}, found none")
    return statements


def _stereoset_statement(item: dict[str, Any], task: str) -> Statement:
    by_label = {s["gold_label"]: s["sentence"].strip() for s in item["sentences"]}
    context = f"{item['context'].strip()} " if task == "intersentence" else ""
    return Statement(
        id=f"ss_{task}_{item['id']}",
        text=context + by_label["stereotype"],
        targets=(item["target"],),
        category=item["bias_type"],
        source=f"stereoset-{task}",
        other=context + by_label["anti-stereotype"],
        direction="stereo",
    )


WINOBIAS_FILES = "*_stereotyped_type*.txt.*"
_MARKED = re.compile(r"\[([^\]]*)\]")


def read_winobias(path: Path) -> list[Statement]:
    """Read WinoBias (Zhao et al. 2018): every sentence, paired with the same line of the other
    file, of a folder with {pro,anti}_stereotyped_type{1,2}.txt.{dev,test}."""
    files = sorted(path.glob(WINOBIAS_FILES)) if path.is_dir() else []
    if not files:
        raise TableError(
            f"{path}: expected a folder with WinoBias' {WINOBIAS_FILES}, found none"
        )
    sentences_of: dict[str, list[str]] = {}
    for file in files:
        with open_text(file) as stream:
            lines = [line.partition(" ")[2].strip() for line in stream if line.strip()]
        sentences_of[file.name] = lines
    statements = []
    for name, sentences in sentences_of.items():
        if name.startswith("pro_"):
            side = "pro"
            direction = "stereo"
            partner = name.replace("pro_", "anti_", 1)
        else:
            side = "anti"
            direction = "antistereo"
            partner = name.replace("anti_", "pro_", 1)
        others = sentences_of.get(partner, [])
        kind, split = name.split("_stereotyped_")[1].split(".txt.")
        for i, (marked, other) in enumerate(zip_longest(sentences, others)):
            if marked is None:
                break
            statement = Statement(
                id=f"wb_{side}_{kind}_{split}_{i + 1}",
                text=_without_marks(marked),
                targets=tuple(_MARKED.findall(marked)[-1:]),
                category="gender",
                source="winobias",
                other=None if other is None else _without_marks(other),
                direction=direction,
            )
            statements.append(statement)
    return statements


def _without_marks(sentence: str) -> str:
    return _MARKED.sub(r"\1", sentence)


_PARTNERS = {"male": "female", "female": "male", "neutral": "male"}


def read_winogender(path: Path) -> list[Statement]:
    """Read Winogender schemas (Rudinger et al. 2018), all_sentences.tsv: 240 schemas with three
    pronouns each."""
    file = path / "all_sentences.tsv" if path.is_dir() else path
    rows = list(read_rows(file))
    need_columns(file, rows, ("sentid", "sentence"))
    # technician.customer.1 -> gender -> sentence
    schemas: dict[str, dict[str, str]] = {}
    for row in rows:
        key, _, gender = row["sentid"].removesuffix(".txt").rpartition(".")
        schemas.setdefault(key, {})[gender] = row["sentence"]
    statements = []
    for key, sentences in schemas.items():
        for gender, partner in _PARTNERS.items():
            if gender not in sentences:
                continue
            text = sentences[gender]
            other = sentences.get(partner)
            spans = merge(text, other or text).spans[:1]
            # The first differing word: "they" of "they were".
            statement = Statement(
                id=f"wg_{key}.{gender}",
                text=text,
                targets=tuple(span[0].split()[0].strip(".,") for span in spans),
                category="gender",
                source="winogender",
                other=other,
                direction=gender,
            )
            statements.append(statement)
    return statements


def as_in_cobias(statements: Sequence[Statement]) -> list[Statement]:
    """Return what the COBIAS authors took, without target terms or pairs: of Winogender the 240
    neutral sentences, and of WinoBias the pro-stereotyped ones, every sentence of type 1 and every
    second of type 2 (1,188; their table has 4 empty rows more)."""
    chosen = filter(_is_in_cobias, statements)
    return [replace(statement, targets=(), other=None) for statement in chosen]


def _is_in_cobias(statement: Statement) -> bool:
    if statement.source == "winogender":
        return statement.direction == "neutral"
    _, side, kind, _, number = statement.id.split("_")
    return side == "pro" and (kind == "type1" or int(number) % 2 == 1)


_FILES = {
    "winobias": WINOBIAS_FILES,
    "redditbias": REDDITBIAS_FILES,
    "winogender": "all_sentences.tsv",
}
"""What a folder of each format contains."""

_COLUMNS = {
    "crows-pairs": {"sent_more", "sent_less"},
    "winogender": {"sentid"},
    "redditbias": {"comments_processed"},
}
"""The columns that a table of each format has."""

FORMATS: dict[str, Callable[[Path], list[Statement]]] = {
    "crows-pairs": read_crows_pairs,
    "stereoset": read_stereoset,
    "stereoset-inter": partial(read_stereoset, task="intersentence"),
    "winobias": read_winobias,
    "winogender": read_winogender,
    "winobias-cobias": lambda path: as_in_cobias(read_winobias(path)),
    "winogender-cobias": lambda path: as_in_cobias(read_winogender(path)),
    "redditbias": read_redditbias,
    "table": read_table_of_statements,
}
"""The readers by the name of their format."""
