"""Bad corpora: each is refused in one line that leaves nothing behind, or mined without a loss."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from clinometer.contexts.mining import MineSettings, mine
from clinometer.contexts.mining import corpora as unpack
from clinometer.contexts.mining import corpora as wikipedia_dump
from clinometer.contexts.mining.languages.english import language
from clinometer.contexts.mining.languages.english.grammar import Parser
from clinometer.errors import ContextError

SENTENCE = "The nurse said that she would stay."
LINE = json.dumps({"text": SENTENCE}).encode() + b"\n"
MANY = b"".join(
    json.dumps({"text": f"{SENTENCE} Number {i * 7919 % 1009}."}).encode() + b"\n"
    for i in range(400)
)
LONG = b'{"text": "' + b"She left. " * 40_000 + b'"}\n'
PAGE = "<page><ns>0</ns><revision><text>{}</text></revision></page>"
DUMP = f"<mediawiki>{PAGE.format(SENTENCE)}{PAGE.format('A &amp; B. ' + SENTENCE)}</mediawiki>"
BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;&b;">]><mediawiki>&c;</mediawiki>'
OUTSIDE = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hosts">]><mediawiki>&b;</mediawiki>'


def parquet(rows: int) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table({"text": [SENTENCE] * rows}), out)
    return out.getvalue()


def cut(packed: bytes) -> bytes:
    return packed[: 2 * len(packed) // 3]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, parser: Parser) -> None:
    """One parser for all, and 256 kB stand for the 16 MB that a line may have."""
    monkeypatch.setattr(language, "Parser", lambda name: parser)
    for module in (unpack, wikipedia_dump):
        monkeypatch.setattr(module, "LONGEST_LINE", 1 << 18)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("c.jsonl", b"", "found an empty file"),
        ("c.jsonl", b"\n \n\n", "found an empty file"),
        ("c.jsonl", b"\0\1\2\3" * 100, "found a binary file"),
        ("c.jsonl", SENTENCE.encode("utf-16"), "found UTF-16"),
        ("c.jsonl", b"not json\n" * 5, "skipped: 5 × not valid JSON"),
        ("c.jsonl", b'{"body": "text"}\n', "name the right one with --field"),
        ("c.jsonl", LONG * 3, "skipped: 3 × line longer than"),
        ("c.jsonl.zst", cut(zstandard.compress(MANY)), "damaged, cannot be unpacked"),
        ("c.jsonl.gz", cut(gzip.compress(MANY, mtime=0)), "damaged, cannot be unpacked"),
        ("c.jsonl.bz2", cut(bz2.compress(MANY)), "damaged, cannot be unpacked"),
        ("c.jsonl.xz", cut(lzma.compress(MANY)), "damaged, cannot be unpacked"),
        ("c.xml.bz2", cut(bz2.compress(DUMP.encode())), "damaged"),
        ("c.xml", cut(DUMP.encode()), "damaged XML"),
        ("c.xml", BOMB.encode(), "found XML with a DOCTYPE"),
        ("c.xml", OUTSIDE.encode(), "found XML with a DOCTYPE"),
        ("c.xml", b"<html/>", "expected a MediaWiki dump"),
        ("c.json", b'[{"text": "a"}, {"te', "found damage after 1 articles"),
        ("c.parquet", cut(parquet(50)), "not a readable parquet file"),
        ("c.docx", LINE, "expected a file that ends in"),
    ],
)
def test_a_bad_corpus_is_refused_in_one_line_and_leaves_nothing(
    gender: MineSettings, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ContextError, match=said) as caught:
        mine([path], tmp_path / "out.csv", gender)
    assert "\n" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def looped(folder: Path) -> Path:
    inside = folder / "corpus"
    inside.mkdir()
    (inside / "c.jsonl").write_bytes(LINE * 2)
    (inside / "again").symlink_to(inside)
    (inside / "itself.jsonl").symlink_to(inside / "itself.jsonl")
    return inside


def written(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize(
    ("corpus", "damage"),
    [
        (looped, {}),
        (written("c.jsonl", b"\xef\xbb\xbf" + LINE.replace(b"\n", b"\r\n") * 2), {}),
        (written("c.jsonl", LINE + b"{broken\n" + LINE), {"not valid JSON": 1}),
        (written("c.jsonl", LINE + LONG + LINE), {unpack.TOO_LONG: 1}),
        (
            written("c.jsonl", LINE + LINE.replace(b"stay.", b"stay at the caf\xe9.")),
            {unpack.AS_WINDOWS_1252: 1},
        ),
        (
            written("c.jsonl", LINE + b'{"text": "\\ud83d"}\n' + LINE),
            {"text with half a surrogate pair": 1},
        ),
        (written("c.xml", DUMP.encode()), {}),
        (written("c.xml.bz2", bz2.compress(DUMP[:60].encode()) + bz2.compress(DUMP[60:].encode())),
         {}),
        (written("c.json", json.dumps([{"text": SENTENCE}] * 2).encode()), {}),
    ],
)  # fmt: skip
def test_of_a_damaged_corpus_nothing_else_is_lost(
    gender: MineSettings, tmp_path: Path, corpus: Callable[[Path], Path], damage: dict[str, int]
) -> None:
    found = mine([corpus(tmp_path)], tmp_path / "out.csv", gender)
    assert found.templates == ("The [X] said that [Y]",)
    assert found.counts == (2.0,)
    assert found.metadata.damage == damage
