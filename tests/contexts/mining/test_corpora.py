"""Corpora: every format, streamed; damage counted; what is no corpus refused in one line."""

from __future__ import annotations

import gzip
import importlib.machinery
import json
import sys
import types
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from clinometer.contexts.mining import formats
from clinometer.contexts.mining.corpora import articles, find_sources
from clinometer.errors import ContextError, MissingExtra

TEXTS = ["One article.", "Another, with ümlaut.", "三"]
LINES = "".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in TEXTS).encode()


def texts(place: Path | str, field: str = "text") -> tuple[list[str], Counter[str]]:
    damage: Counter[str] = Counter()
    found = [
        text
        for source in find_sources([str(place)])
        for text in articles(source, field=field, damage=damage)
    ]
    return found, damage


def written(folder: Path, ending: str) -> Path:
    path = folder / f"corpus{ending}"
    if ending == ".jsonl":
        path.write_bytes(LINES)
    elif ending == ".jsonl.gz":
        path.write_bytes(gzip.compress(LINES))
    elif ending == ".jsonl.zst":
        path.write_bytes(zstandard.ZstdCompressor().compress(LINES))
    elif ending == ".parquet":
        pq.write_table(pa.table({"text": TEXTS}), path)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside/a.jsonl", LINES)
            archive.writestr("inside/picture.png", b"\x89PNG")
    return path


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", ".zip"])
def test_every_format_gives_the_same_articles(tmp_path: Path, ending: str) -> None:
    found, damage = texts(written(tmp_path, ending))
    assert found == TEXTS
    assert not damage


def test_a_folder_is_read_in_a_fixed_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    written(tmp_path / "b", ".jsonl")
    (tmp_path / "a.txt").write_text("First.\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("not a corpus", encoding="utf-8")
    assert texts(tmp_path)[0] == ["First.", *TEXTS]


def test_a_member_of_a_zip_file(tmp_path: Path) -> None:
    path = written(tmp_path, ".zip")
    assert texts(f"{path}:inside/a.jsonl")[0] == TEXTS
    with pytest.raises(ContextError, match="no member 'other'; there are inside/a"):
        find_sources([f"{path}:other"])


def test_plain_text_is_cut_into_articles_at_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(("word " * 1000 + "\n\n") * 10, encoding="utf-8")
    found, _ = texts(path)
    assert 1 < len(found) < 10
    assert sum(t.count("word") for t in found) == 10_000


def test_broken_lines_are_counted_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"text": "good"}\r\n\xff\xfe broken\n{"text": \n{"title": "no text"}\n\n[1]\n'
        b'{"text": "fine"}\n'
    )
    found, damage = texts(path)
    assert found == ["good", "fine"]
    assert damage == {formats.NOT_UTF8: 1, formats.NOT_JSON: 1, formats.NO_TEXT: 2}


def test_an_endless_line_is_skipped_and_never_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "LONGEST_LINE", 1000)
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text": "' + b"a" * 5000 + b'"}\n{"text": "fine"}\n')
    found, damage = texts(path)
    assert found == ["fine"]
    assert damage == {formats.TOO_LONG: 1}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.jsonl", b"\0\1\2\3" * 100, "expected text, found a binary file"),
        ("c.jsonl", b'{"title": "a", "body": "b"}\n', "no article has text in the field 'text'"),
        ("c.jsonl.gz", gzip.compress(LINES * 50, mtime=0)[:60], "damaged, cannot be unpacked"),
        ("c.jsonl.zst", b"no zst at all", "damaged, cannot be unpacked"),
        ("c.parquet", b"no parquet", "not a readable parquet file"),
        ("c.zip", b"no zip", "not a readable zip file"),
        ("c.docx", b"", "expected a file that ends in"),
    ],
)
def test_what_is_no_corpus(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ContextError, match=message) as caught:
        texts(path)
    assert "\n" not in str(caught.value)


def test_a_missing_column_and_a_missing_file(tmp_path: Path) -> None:
    path = written(tmp_path, ".parquet")
    with pytest.raises(ContextError, match="name the right one with --field"):
        texts(path, field="body")
    with pytest.raises(ContextError, match="no such file or folder"):
        texts(tmp_path / "none.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ContextError, match="no corpus file in it"):
        texts(tmp_path / "empty")


def test_a_dataset_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamed with `datasets`; here a stand-in, as tests reach no hub."""
    asked = []

    def load_dataset(*names: object, **options: object) -> list[dict[str, object]]:
        asked.append((names, options))
        return [{"text": "One."}, {"text": None}, {"text": "Two."}]

    stand_in = types.ModuleType("datasets")
    stand_in.load_dataset = load_dataset  # type: ignore[attr-defined]
    stand_in.__spec__ = importlib.machinery.ModuleSpec("datasets", None)
    monkeypatch.setitem(sys.modules, "datasets", stand_in)
    found, damage = texts("hf:wikimedia/wikipedia:20231101.en")
    assert found == ["One.", "Two."]
    assert damage == {formats.NO_TEXT: 1}
    assert asked == [
        (("wikimedia/wikipedia", "20231101.en"), {"split": "train", "streaming": True})
    ]


def test_a_dataset_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install datasets"):
        texts("hf:wikimedia/wikipedia")
