"""Statements of bias benchmarks: CrowS-Pairs, StereoSet, WinoBias, Winogender and RedditBias as
published, and your own tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.errors import SettingsError, TableError
from clinometer.reliability.pairs import Merged, merge, target_term
from clinometer.reliability.statement import Blanks, Statement
from clinometer.storage.rows import Row, need_columns, need_unique_ids, read_rows
from clinometer.storage.untrusted import MOST_TEXT, open_text, read_json


def load_statements(*sources: str | Path, format: str | None = None) -> list[Statement]:
    """Statements from a benchmark's files or folders, or your own tables.

    Ids that two sources share get the name of their source in front: `women:1`, `men:1` (or its
    number, if two have the same name).
    """
    if not sources:
        raise SettingsError("statements: expected at least one file, found none")
    by_source = [_load(source, format) for source in sources]
    ids = Counter(id for some in by_source for id in {s.id for s in some})
    if any(n > 1 for n in ids.values()):
        names = [Path(str(s)).name.split(".")[0] for s in sources]
        if len(set(names)) < len(names):
            names = [str(i + 1) for i in range(len(names))]
        by_source = [
            [replace(s, id=f"{name}:{s.id}") for s in some]
            for name, some in zip(names, by_source, strict=True)
        ]
    return [statement for some in by_source for statement in some]


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
    chosen = format or recognise(path)
    if chosen is None:
        raise TableError(
            f"{path}: cannot tell which benchmark this is; use --format {'|'.join(FORMATS)}"
        )
    return FORMATS[chosen](path)


def recognise(path: Path) -> str | None:
    """The format of a file or folder, detected from its content; None if no format matches."""
    if path.is_dir():
        return next(
            (name for name, files in _BY_FILES.items() if any(path.glob(files))), None
        )
    if path.suffix == ".json":
        return "stereoset"
    if not path.name.endswith(SUFFIXES):
        return None
    columns = set(next(read_rows(path), ()))
    return next((name for name, own in _BY_COLUMNS.items() if own <= columns), "table")


SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".csv.gz", ".jsonl.gz")
COBIAS_COLUMNS = ("id", "sentence", "target_term", "context_points")


def read_table_of_statements(path: Path) -> list[Statement]:
    """Your own table, or the COBIAS dataset, which has the same columns: one statement per row."""
    rows = list(read_rows(path))
    if rows and "sentence" not in rows[0] and "context_points" in rows[0]:
        rows = [
            {**row, "sentence": Blanks.parse(str(row["context_points"])).plain}
            for row in rows
        ]
    if not (rows and "text" in rows[0]):
        need_columns(path, rows, ("sentence",))
    own_id = _own_id(rows[0])
    if own_id is not None:
        rows = [{"id": row[own_id], **row} for row in rows]
    name = path.name.split(".")[0]
    source = "cobias" if set(COBIAS_COLUMNS) <= set(rows[0]) else name
    statements = [_statement(i, row, source) for i, row in enumerate(rows)]
    for number, statement in enumerate(statements, start=2):
        if not any(c.isalnum() for c in statement.text):
            raise TableError(
                f"{path}: row {number}: expected a sentence with words, found {statement.text!r}; "
                "correct the row or remove it"
            )
    need_unique_ids(path, [s.id for s in statements])
    return statements


def _own_id(row: Row) -> str | None:
    """The column of ids where none is called `id`: ID, uid, item_id; None if it is not clear.

    >>> _own_id({"Item_ID": 7, "sentence": ""}), _own_id({"uid": 1, "pair_id": 2, "text": ""})
    ('Item_ID', None)
    """
    if "id" in row:
        return None
    named = [
        c for c in row if c and re.fullmatch(r"(.*[ _-])?u?id", c, flags=re.IGNORECASE)
    ]
    return named[0] if len(named) == 1 else None


def statement_row(statement: Statement) -> Row:
    """A statement as a row that can be read back, with its pair merged for people to read."""
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
    text = _string(row, "sentence", "text") or ""
    other = _string(row, "other")
    targets = tuple(t.strip() for t in (_string(row, "target_term") or "").split(";"))
    points = _string(row, "context_points")
    merged = Merged.parse(text)
    if merged.spans:
        if not any(targets):
            targets = (target_term(merged) or "",)
        text, other = merged.side(0), other or merged.side(1)
        points = points if points is None else Merged.parse(points).side(0)
    return Statement(
        id=_string(row, "id") or str(index),
        text=text,
        targets=tuple(t for t in targets if t),
        points=points,
        category=_string(row, "category", "bias_type"),
        source=_string(row, "source") or source,
        other=other,
        direction=_string(row, "direction"),
    )


def _string(row: Row, *names: str) -> str | None:
    for name in names:
        value = row.get(name)
        if value is not None and str(value) != "":
            return str(value)
    return None


def read_crows_pairs(path: Path) -> list[Statement]:
    """CrowS-Pairs (Nangia et al. 2020): crows_pairs_anonymized.csv, or its French translation; one
    statement per pair."""
    rows = list(read_rows(path))
    need_columns(
        path, rows, ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
    )
    statements = []
    for i, row in enumerate(rows):
        pair = row["sent_more"], row["sent_less"]
        side = 1 if row["stereo_antistereo"] == "antistereo" else 0
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
    """RedditBias (Barikeri et al. 2021): every row of every reddit_comments_*_biased_*_reduced.csv
    in the folder."""
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
        statements += [
            Statement(
                id=f"rb_{name}_{i}",
                text=str(row["comments_processed"]),
                category=words[0].rstrip("0123456789"),
                source="redditbias",
            )
            for i, row in enumerate(rows)
        ]
    return statements


def read_stereoset(path: Path, *, task: str = "intrasentence") -> list[Statement]:
    """StereoSet (Nadeem et al. 2021): dev.json. Intrasentence items, as in COBIAS, or those of
    another task, "intersentence"."""
    statements: list[Statement] = []
    try:
        for item in read_json(path, most=MOST_TEXT)["data"][task]:
            statements.append(_stereoset_statement(item, task))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        where = f"{path}: item {len(statements)} of {task}"
        raise TableError(f"{where}: expected StereoSet's dev.json: {error}") from error
    if not statements:
        raise TableError(f"{path}: expected StereoSet items of {task}, found none")
    return statements


def _stereoset_statement(item: dict[str, Any], task: str) -> Statement:
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


WINOBIAS_FILES = "*_stereotyped_type*.txt.*"
_MARKED = re.compile(r"\[([^\]]*)\]")


def read_winobias(path: Path) -> list[Statement]:
    """WinoBias (Zhao et al. 2018), a folder with {pro,anti}_stereotyped_type{1,2}.txt.{dev,test}:
    every sentence, paired with the same line of the other file."""
    files = sorted(path.glob(WINOBIAS_FILES)) if path.is_dir() else []
    if not files:
        raise TableError(
            f"{path}: expected a folder with WinoBias' {WINOBIAS_FILES}, found none"
        )
    lines: dict[str, list[str]] = {}
    for file in files:
        with open_text(file) as stream:
            lines[file.name] = [
                line.partition(" ")[2].strip() for line in stream if line.strip()
            ]
    statements = []
    for name, sentences in lines.items():
        pro = name.startswith("pro_")
        partner = (
            name.replace("pro_", "anti_", 1)
            if pro
            else name.replace("anti_", "pro_", 1)
        )
        others = lines.get(partner, [])
        kind, split = name.split("_stereotyped_")[1].split(".txt.")
        for i, marked in enumerate(sentences):
            terms = _MARKED.findall(marked)
            statements.append(
                Statement(
                    id=f"wb_{'pro' if pro else 'anti'}_{kind}_{split}_{i + 1}",
                    text=_MARKED.sub(r"\1", marked),
                    targets=tuple(terms[-1:]),
                    category="gender",
                    source="winobias",
                    other=_MARKED.sub(r"\1", others[i]) if i < len(others) else None,
                    direction="stereo" if pro else "antistereo",
                )
            )
    return statements


_PAIR = {"male": "female", "female": "male", "neutral": "male"}


def read_winogender(path: Path) -> list[Statement]:
    """Winogender schemas (Rudinger et al. 2018), all_sentences.tsv: 240 schemas with three pronouns
    each."""
    file = path / "all_sentences.tsv" if path.is_dir() else path
    rows = list(read_rows(file))
    need_columns(file, rows, ("sentid", "sentence"))
    schemas: dict[
        str, dict[str, str]
    ] = {}  # technician.customer.1 -> gender -> sentence
    for row in rows:
        key, _, gender = row["sentid"].removesuffix(".txt").rpartition(".")
        schemas.setdefault(key, {})[gender] = row["sentence"]
    statements = []
    for key, sentences in schemas.items():
        for gender in (g for g in _PAIR if g in sentences):
            text, other = sentences[gender], sentences.get(_PAIR[gender])
            # The first differing word: "they" of "they were".
            spans = merge(text, other or text).spans[:1]
            statements.append(
                Statement(
                    id=f"wg_{key}.{gender}",
                    text=text,
                    targets=tuple(span[0].split()[0].strip(".,") for span in spans),
                    category="gender",
                    source="winogender",
                    other=other,
                    direction=gender,
                )
            )
    return statements


def as_in_cobias(statements: Sequence[Statement]) -> list[Statement]:
    """What the COBIAS authors took of Winogender, the 240 neutral sentences, and of WinoBias, the
    pro-stereotyped ones, every sentence of type 1 and every second of type 2 (1,188; their table
    has 4 empty rows more): without target terms or pairs."""

    def taken(statement: Statement) -> bool:
        if statement.source == "winogender":
            return statement.direction == "neutral"
        _, side, kind, _, number = statement.id.split("_")
        return side == "pro" and (kind == "type1" or int(number) % 2 == 1)

    return [replace(s, targets=(), other=None) for s in statements if taken(s)]


#: What a folder or a table of each format contains.
_BY_FILES = {
    "winobias": WINOBIAS_FILES,
    "redditbias": REDDITBIAS_FILES,
    "winogender": "all_sentences.tsv",
}
_BY_COLUMNS = {
    "crows-pairs": {"sent_more", "sent_less"},
    "winogender": {"sentid"},
    "redditbias": {"comments_processed"},
}
#: The readers by the name of their format.
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
