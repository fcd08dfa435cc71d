"""Corpora: every format, streamed; damage counted; what is not a corpus is refused in one line."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clinometer.contexts.mining.corpora import articles, find_sources, lines, streams
from clinometer.contexts.mining.corpora.damage import (
    AS_WINDOWS_1252,
    NO_TEXT,
    NOT_JSON,
    NOT_UNICODE,
    NOT_UTF8,
    TOO_LONG,
)
from clinometer.errors import ContextError

TEXTS = ["One article.", "Another, with ümlaut.", "三"]
LINES = "".join(
    json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in TEXTS
).encode()


def texts_of(place: Path | str, field: str = "text") -> tuple[list[str], Counter[str]]:
    damage: Counter[str] = Counter()
    texts = [
        text
        for source in find_sources([str(place)])
        for text in articles(source, field=field, damage=damage)
    ]
    return texts, damage


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": partial(pa.compress, codec="zstd", asbytes=True),
}
DUMP = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><sitename>Wikipedia</sitename></siteinfo>
<page><title>Ann</title><ns>0</ns><revision><text bytes="9">'''Ann''' was a [[nurse]].</text>
</revision></page>
<page><title>Talk:Ann</title><ns>1</ns><revision><text>What of her?</text></revision></page>
<page><title>Anne</title><ns>0</ns><redirect title="Ann" /><revision>
<text>#REDIRECT [[Ann]]</text>
</revision></page>
<page><title>Bob</title><ns>0</ns><revision>
<text>Bob said that he was &lt;b&gt;late&lt;/b&gt;.</text>
</revision></page>
</mediawiki>
"""


def written(folder: Path, ending: str) -> Path:
    path = folder / f"corpus{ending}"
    kind, _, packed = ending.removeprefix(".").partition(".")
    pack = PACKERS[f".{packed}" if packed else ""]
    if kind == "jsonl":
        path.write_bytes(pack(LINES))
    elif kind == "parquet":
        pq.write_table(pa.table({"text": TEXTS}), path)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside/a.jsonl", LINES)
            archive.writestr("inside/picture.png", b"\x89PNG")
    return path


@pytest.mark.parametrize(
    "ending", [*(f".jsonl{p}" for p in PACKERS), ".parquet", ".zip"]
)
def test_every_format_gives_the_same_articles(tmp_path: Path, ending: str) -> None:
    texts, damage = texts_of(written(tmp_path, ending))
    assert texts == TEXTS
    assert not damage


@pytest.mark.parametrize("packed", PACKERS)
def test_a_wikipedia_dump_gives_articles_only(tmp_path: Path, packed: str) -> None:
    path = tmp_path / f"pages-articles.xml{packed}"
    dump = b'<?xml version="1.0" encoding="UTF-7"?>' + DUMP  # which it is not
    # a multistream dump is several compressed streams, one after the other
    half = dump.index(b"<page><title>Bob")
    path.write_bytes(PACKERS[packed](dump[:half]) + PACKERS[packed](dump[half:]))
    assert texts_of(path)[0] == ["Ann was a nurse.", "Bob said that he was late."]


@pytest.mark.parametrize("packed", [p for p in PACKERS if p])
@pytest.mark.parametrize("kind", [".jsonl", ".txt"])
def test_a_truncated_file_is_refused(tmp_path: Path, kind: str, packed: str) -> None:
    whole = PACKERS[packed](LINES * 2000 + bytes(range(32, 127)) * 40)
    for share in (0.3, 0.9, 0.999):
        path = tmp_path / f"c{kind}{packed}"
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(ContextError, match="damaged, cannot be unpacked"):
            texts_of(path)


@pytest.mark.parametrize(
    ("content", "texts", "damage"),
    [
        (
            '{"text": "Señora Müller"}\n{"text": "plain"}\n'.encode("latin-1"),
            ["Señora Müller", "plain"],
            {AS_WINDOWS_1252: 1},
        ),
        (b'{"text": "broken \\ud800"}\n{"text": "fine"}\n', ["fine"], {NOT_UNICODE: 1}),
        (
            b'\xef\xbb\xbf{"text": "good"}\r\ncaf\xc3\xa9 \xff broken\n{"text": \n'
            b'{"title": "no text"}\n\n[1]\n{"text": "fine"}\n',
            ["good", "fine"],
            {NOT_UTF8: 1, NOT_JSON: 1, NO_TEXT: 2},
        ),
        (  # skipped without loading it
            b'{"text": "' + b"a" * 5000 + b'"}\n{"text": "fine"}\n',
            ["fine"],
            {TOO_LONG: 1},
        ),
    ],
    ids=["Latin-1", "half a surrogate pair", "broken lines", "an endless line"],
)
def test_damage_is_counted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    texts: list[str],
    damage: dict[str, int],
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    path = tmp_path / "c.jsonl"
    path.write_bytes(content)
    assert texts_of(path) == (texts, damage)


def test_chosen_articles_are_those_of_their_numbers(tmp_path: Path) -> None:
    (source,) = find_sources([str(written(tmp_path, ".jsonl.zst"))])
    for numbers, texts in (
        ([2], TEXTS[1:2]),
        ([1, 3], TEXTS[::2]),
        ([], []),
        ([3, 9], TEXTS[2:]),
    ):
        chosen = articles(source, field="text", damage=Counter(), numbers=iter(numbers))
        assert list(chosen) == texts


def test_a_folder_is_read_once_and_in_a_fixed_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    written(tmp_path / "b", ".jsonl")
    (tmp_path / "a.txt").write_text("First.\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("not a corpus", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "itself.jsonl").symlink_to(tmp_path / "itself.jsonl")
    assert texts_of(tmp_path)[0] == ["First.", *TEXTS]


def test_a_zip_member_can_be_read(tmp_path: Path) -> None:
    path = written(tmp_path, ".zip")
    assert texts_of(f"{path}:inside/a.jsonl")[0] == TEXTS
    with pytest.raises(ContextError, match=r"its members \(inside/a.*found 'other'"):
        find_sources([f"{path}:other"])


def test_plain_text_is_split_into_articles_at_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(("word " * 1000 + "\n\n") * 10, encoding="utf-8")
    texts, _ = texts_of(path)
    assert 1 < len(texts) < 10
    assert sum(t.count("word") for t in texts) == 10_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.jsonl.zst", b"no zst at all", "damaged, cannot be unpacked"),
        ("c.parquet", b"no parquet", "not a readable parquet file"),
        ("c.zip", b"no zip", "not a readable zip file"),
        ("c.jsonl.xz", b"no xz", "damaged, cannot be unpacked"),
        ("c.json", b'[{"text": "a"}]', "expected a file that ends in"),
        ("c.txt", "text".encode("utf-16"), "found UTF-16"),
        (
            "c.xml",
            b"<html><body/></html>",
            "expected a MediaWiki dump, found XML <html>",
        ),
        ("c.xml", b"<mediawiki><page><ns>0</ns>", "damaged XML"),
        *(
            (
                "c.xml",
                b"<!DOCTYPE a [%s]><mediawiki>&b;</mediawiki>" % entity,
                "XML with a DOCTYPE",
            )
            for entity in (
                b'<!ENTITY c "c"><!ENTITY b "&c;&c;">',
                b'<!ENTITY b SYSTEM "/etc/hosts">',
            )
        ),
    ],
)
def test_files_that_are_not_a_corpus_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ContextError, match=message) as caught:
        texts_of(path)
    assert "\n" not in str(caught.value)


def test_missing_columns_and_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place, message in (
        (written(tmp_path, ".parquet"), "name the right one with --field"),
        (tmp_path / "none.jsonl", "no such file or folder"),
        (tmp_path / "empty", "no corpus file in it"),
    ):
        with pytest.raises(ContextError, match=message):
            texts_of(place, field="body")


@pytest.mark.parametrize("tag", [b'<page x="%s">', b"<!--%s-->", b"<%s>"])
def test_an_endless_tag_is_refused_at_once(tmp_path: Path, tag: bytes) -> None:
    path = tmp_path / "pages.xml"
    path.write_bytes(b"<mediawiki>" + tag % (b"a" * (50 << 20)))
    with pytest.raises(ContextError, match="endless tag"):
        texts_of(path)


def test_the_list_of_a_zip_file_is_read_once_for_all_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "calls.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3000):
            archive.writestr(f"{number:05}.txt", "He said that he left.")
    sources = find_sources([str(path)])
    opened = Mock(wraps=zipfile.ZipFile)
    monkeypatch.setattr(streams.zipfile, "ZipFile", opened)  # type: ignore[attr-defined]
    texts = [t for s in sources for t in articles(s, field="text", damage=Counter())]
    assert (len(texts), opened.call_count) == (3000, 1)


@pytest.mark.parametrize("packed", [p for p in PACKERS if p])
def test_a_file_that_unpacks_to_thousands_of_times_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: str
) -> None:
    monkeypatch.setattr(streams, "ALWAYS_ALLOWED", 1 << 16)
    monkeypatch.setattr(streams, "MOST_TIMES", 100)
    path = tmp_path / f"newlines.txt{packed}"
    path.write_bytes(PACKERS[packed](b"\n" * (8 << 20)))
    with pytest.raises(ContextError, match="times as large"):
        texts_of(path)


def test_a_million_references_to_one_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    texts = pa.DictionaryArray.from_arrays(
        pa.array([0] * 100_000), pa.array(["He left. " * 9000])
    )
    pq.write_table(pa.table({"text": texts}), path)
    with pytest.raises(ContextError, match="times as large"):
        texts_of(path)


def test_a_name_that_is_not_utf_8_is_shown_as_far_as_it_is(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/c\xff.jsonl"))
    path.write_bytes(LINES)
    (source,) = find_sources([str(path)])
    assert source.name == "c\ufffd.jsonl"
    assert texts_of(path)[0] == TEXTS
