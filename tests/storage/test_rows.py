"""Rows of others' tables: the same from every format, and one line for what cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clinometer.errors import TableError
from clinometer.storage.rows import read_rows

ROWS = [{"id": "a", "text": "=1+1"}, {"id": "b", "text": "one, two"}]
#: A formula has a quote before it in what we write for spreadsheets.
CSV = 'id,text\na,\'=1+1\nb,"one, two"\n'
JSON = '{"id": "a", "text": "=1+1"}\n\n{"id": "b", "text": "one, two"}\n'


def test_every_format_has_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (tmp_path / "t.tsv").write_text("id\ttext\na\t=1+1\nb\tone, two\n")
    (tmp_path / "t.jsonl").write_text(JSON)
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "t.parquet")
    for path in tmp_path.iterdir():
        assert list(read_rows(path)) == ROWS, path.name


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.jsonl", b'{"id": 1}\n{\n', "line 2: not valid JSON"),
        ("t.jsonl", b"[1]\n", "line 1: expected a JSON object"),
        ("t.csv", b"id\n\xff\n", "UTF-8"),
        ("t.csv", b"id\tname\n", "line 1: expected commas between columns, found tabs"),
        ("t.csv.gz", b"id\n", "cannot be read"),
        ("t.parquet", b"id\n", "cannot be read"),
        pytest.param(
            "t.csv", b"c," * 200_000, "at most 2,000 columns", id="many columns"
        ),
        ("none.csv", None, "no such file"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=said) as caught:
        list(read_rows(tmp_path / name))
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "large.parquet"])
def test_a_column_that_is_there_twice_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the last would be read: a group that differs in the first would be alike for all."""
    path = tmp_path / f"t.{kind}"
    if kind == "large.parquet":
        monkeypatch.setattr("clinometer.storage.rows.MOST_WHOLE", 0)
    if kind.endswith("parquet"):
        columns = [pa.array(["a"]), pa.array(["b"])]
        pq.write_table(pa.Table.from_arrays(columns, names=["group", "group"]), path)
    else:
        path.write_text(
            "group,text,group\na,b,c\n".replace(",", "," if kind == "csv" else "\t")
        )
    with pytest.raises(
        TableError, match="expected every column once, found 'group' twice"
    ):
        list(read_rows(path))


def test_a_large_table_is_read_in_parts_that_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """References to one long text are small in the file and in a part, until they are decoded."""
    monkeypatch.setattr("clinometer.storage.rows.MOST_WHOLE", 0)
    rows = [*ROWS, {"id": "c", "text": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet", row_group_size=1)
    assert list(read_rows(tmp_path / "t.parquet")) == rows
    monkeypatch.setattr("clinometer.storage.untrusted.MOST_TABLE", 1 << 24)
    long = pa.table({"text": pa.array(["x" * (1 << 20)] * 100).dictionary_encode()})
    pq.write_table(long, tmp_path / "t.parquet")
    with pytest.raises(TableError, match="larger than 16 MB"):
        list(read_rows(tmp_path / "t.parquet"))
