"""What a folder holds: preferences in tables, and parts of scores that others may have written, of
which only a run's own are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.preferences import labelled, pair

from clinometer.errors import RunError
from clinometer.models import WordScores
from clinometer.report import open_run
from clinometer.runs import Run
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.score_table import score_table
from clinometer.runs.folder.tables import preference_rows
from clinometer.storage.parquet_parts import Parts, digest_of, write_table

TABLE = score_table(
    np.arange(4),
    WordScores(
        log_probs=np.log(np.full((4, 2), 0.25)),
        log_coverage=np.log(np.full(4, 0.5)),
        skipped=np.zeros(4),
        draws=(("she", "he"),) * 4,
        unread=np.zeros((4, 3)),
    ),
)


def replaced(
    name: str, values: list[object], kind: pa.DataType
) -> Callable[[], pa.Table]:
    at = TABLE.column_names.index(name)
    return lambda: TABLE.set_column(at, name, pa.array(values, kind))


NUMBERS, WORDS = pa.float32(), pa.list_(pa.float32(), 2)
SPOILED: dict[str, Callable[[], pa.Table]] = {
    "text for numbers": replaced("log_coverage", ["a", "b", "c", "d"], pa.string()),
    "a null": replaced("log_coverage", [0.0, None, 0.0, 0.0], NUMBERS),
    "NaN": replaced("skipped", [0.0, np.nan, 0.0, 0.0], NUMBERS),
    "NaN of a word": replaced("log_probs", [[-1, np.nan], *[[-1, -1]] * 3], WORDS),
    "a null of a word": replaced("log_probs", [[-1, None], *[[-1, -1]] * 3], WORDS),
    "no words": replaced("log_probs", [None] * 4, WORDS),
    "a word more": replaced("log_probs", [[-1, -1, -1]] * 4, pa.list_(pa.float32(), 3)),
    "lists of any length": replaced(
        "log_probs", [[-1, -1]] * 4, pa.list_(pa.float32())
    ),
    "another precision": replaced("skipped", [0.0] * 4, pa.float64()),
    "texts that are numbers": replaced("draws", [[1, 2]] * 4, pa.list_(pa.int64())),
    "a reply of nothing": replaced("draws", [["she", None]] * 4, pa.list_(pa.string())),
    "a cell twice": replaced("cell", [0, 1, 1, 2], pa.int64()),
    "a cell beyond the last": replaced("cell", [0, 1, 2, 9], pa.int64()),
    "a negative cell": replaced("cell", [0, 1, 2, -1], pa.int64()),
    "cells as text": replaced("cell", ["0", "1", "2", "3"], pa.string()),
    "a missing column": lambda: TABLE.drop_columns(["skipped"]),
    "a strange column": lambda: TABLE.append_column("mine", pa.array([0] * 4)),
}


def folder_of(path: Path, *tables: pa.Table) -> RunFolder:
    folder = RunFolder(path)
    for first, table in enumerate(tables):
        Parts(path / "scores").write(first, table)
    return folder


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    ((cells, scores),) = folder_of(tmp_path, TABLE).read_scores(
        words=2, cells=4, repair=False
    )
    assert cells.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(scores.log_probs, np.log(0.25), rtol=1e-6)
    assert scores.draws == (("she", "he"),) * 4


@pytest.mark.parametrize("name", SPOILED)
def test_a_part_of_another_shape_is_scored_again(name: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, SPOILED[name]())
    with pytest.raises(RunError, match="damaged"):
        list(folder.read_scores(words=2, cells=4, repair=False))
    assert list(folder.read_scores(words=2, cells=4)) == []
    assert folder.parts.files() == []


def test_a_cell_of_two_parts_counts_once(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, TABLE, TABLE.slice(2))
    with pytest.raises(RunError, match="damaged"):
        list(folder.read_scores(words=2, cells=4, repair=False))
    assert len(list(folder.read_scores(words=2, cells=4))) == 1


@pytest.mark.parametrize("rows", [1, 24, 40, 10_000])
def test_a_table_written_piece_by_piece_is_the_whole(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    first = rng.random((5, 4))
    first[1, 2] = np.nan
    p = labelled(
        pair(first),
        coverage=rng.random((5, 4)),
        low=np.zeros((5, 4, 2)),
        high=np.ones((5, 4, 2)),
        answers=np.arange(20.0).reshape(5, 4),
    )
    monkeypatch.setattr("clinometer.runs.folder.tables.ROWS_AT_A_TIME", rows)
    pieces = list(preference_rows(p))
    assert len(pieces) == {1: 5, 24: 2, 40: 1, 10_000: 1}[rows]
    digest = write_table(tmp_path / "t.parquet", iter(pieces))
    assert digest == digest_of((tmp_path / "t.parquet").read_bytes())
    read = pq.read_table(tmp_path / "t.parquet")
    whole = pa.Table.from_pandas(p.to_pandas(), preserve_index=False)
    assert read.to_pydict() == whole.to_pydict()
    assert read["p"].null_count == 2


Changed = Callable[[str], Path]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (
            ("topic", "groups"),
            "sixty",
            "topic.groups: expected a whole number, found 'sixty'",
        ),
        (
            ("settings", "level"),
            "0.95",
            "settings.level: expected a number, found '0.95'",
        ),
        (
            ("settings", "level"),
            95,
            "settings: level: expected a number above 0 and below 1",
        ),
        (
            ("summary", "R", "value"),
            None,
            "summary.R.value: expected a number, found None",
        ),
        (("usage",), {"tokens": -1}, "usage.tokens: expected"),
        (("usage",), {"tokens": 10**27}, "usage.tokens: expected"),
        (("model",), "gpt2", "model: expected a table, found 'gpt2'"),
    ],
)
def test_a_wrong_type_is_one_line_with_file_and_field(
    changed: Changed, place: tuple[str, ...], value: object, message: str
) -> None:
    folder = changed("wrong")
    content = json.loads((folder / "run.json").read_text("utf-8"))
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    assert str(caught.value).startswith(f"{folder / 'run.json'}: damaged: {message}")
    assert "\n" not in str(caught.value)
    assert open_run(folder).state == "unreadable"


def test_a_record_survives_a_round_trip_with_unknown_keys(changed: Changed) -> None:
    folder = changed("later")
    content = json.loads((folder / "run.json").read_text("utf-8"))
    content["invented"] = {"later": 1}
    content["model"]["invented"] = "too"
    (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")
    Run.load(folder).write(RunFolder(folder))
    again = json.loads((folder / "run.json").read_text("utf-8"))
    assert {**again, "updated": content["updated"]} == content
