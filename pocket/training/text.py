"""Reading folders of text, cleaning them, cutting them into documents and sentences."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

SUFFIXES = (".txt", ".jsonl", ".jsonl.xz", ".jsonl.zst", ".zip")
HELD_OUT_PER_MILLE = 10

_TYPOGRAPHY = str.maketrans(
    {
        "“": '"',
        "”": '"',
        "„": '"',
        "‘": "'",
        "’": "'",
        "\u00a0": " ",
        "\u200b": "",
        "…": "...",
    }
)
_MARKUP = re.compile(r"<[^<>\n]{1,80}>|\[\[|\]\]|\{\{|\}\}|formula_\d+|\bhttps?://\S+")
_HOLLOW_BRACKETS = re.compile(r"\(\s*[,;:\s]*\)|\[\s*\]")
_BRACKET_LEFTOVERS = re.compile(r"\(\s*[,;]\s*")
_SPACES = re.compile(r"[ \t\r\f\v]+")
_SPACE_BEFORE_STOP = re.compile(r" +([,.;:?!)])(?=\s|$)")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|No|vs|etc|ca|cf"
    r"|e\.g|i\.e|Inc|Ltd|Co|Mt|Ft|Vol|Fig|Op|[A-Z])\."
)


def clean(text: str) -> str:
    """Drop the markup that Wikipedia dumps leave behind and make the typography plain.

    Paragraphs stay one a line; lines that are no prose (shorter than 25 characters without a
    final stop, or ending in a colon) go.

    >>> clean('Mecca ( ) is “old”.\\nThey are:')
    'Mecca is "old".'
    """
    text = unicodedata.normalize("NFC", text).translate(_TYPOGRAPHY)
    text = _MARKUP.sub(" ", text)
    text = _HOLLOW_BRACKETS.sub(" ", text)
    text = _BRACKET_LEFTOVERS.sub("(", text)
    text = _SPACES.sub(" ", text)
    text = _SPACE_BEFORE_STOP.sub(r"\1", text)
    return "\n".join(line for raw in text.split("\n") if _is_prose(line := raw.strip()))


def _is_prose(line: str) -> bool:
    if not line or line.endswith(":"):
        return False
    return len(line) >= 25 or line.endswith((".", "!", "?", '"', "'"))


def sentences(paragraph: str) -> list[str]:
    """Cut a paragraph at sentence ends; abbreviations and initials do not end a sentence.

    >>> sentences('Dr. Ray met J. Poe. "Who?" He left.')
    ['Dr. Ray met J. Poe.', '"Who?"', 'He left.']
    """
    found: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(paragraph):
        piece = paragraph[start : match.end()].rstrip()
        last_word = piece[piece.rfind(" ") + 1 :].lstrip("\"'([")
        if not _ABBREVIATION.fullmatch(last_word):
            found.append(piece)
            start = match.end()
    if tail := paragraph[start:].strip():
        found.append(tail)
    return found


def is_held_out(document: str) -> bool:
    """Whether a document belongs to the held-out hundredth, by a hash of its own text.

    The same for every model, order and machine, so that losses are comparable.
    """
    digest = hashlib.blake2b(document.encode("utf-8"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 1000 < HELD_OUT_PER_MILLE


def read_folder(folder: Path) -> Iterator[str]:
    """Yield every document of a folder: files in name order, their own order within."""
    files = sorted(path for path in folder.rglob("*") if path.name.endswith(SUFFIXES))
    if not files:
        raise FileNotFoundError(
            f"--text: expected {', '.join(SUFFIXES)} files under {folder}, found none"
        )
    for path in files:
        yield from read_file(path)


def read_file(path: Path) -> Iterator[str]:
    """Yield the documents of one file: a .txt is one document, a .jsonl has one in every line."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith((".txt", ".jsonl")):
                    with archive.open(name) as member:
                        yield from _documents(name, member)
        return
    with _open(path) as stream:
        yield from _documents(path.name, stream)


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    if path.suffix == ".zst":
        try:
            import zstandard
        except ModuleNotFoundError as exc:
            raise ModuleNotFoundError(
                f"{path.name} needs `pip install zstandard`"
            ) from exc
        reader: IO[bytes] = zstandard.open(path, "rb")
        return reader
    return path.open("rb")


def _documents(name: str, stream: IO[bytes]) -> Iterator[str]:
    lines = io.TextIOWrapper(stream, encoding="utf-8")
    if ".jsonl" not in name:
        yield lines.read()
        return
    for line in lines:
        yield json.loads(line)["text"]


def split(documents: Iterable[str]) -> tuple[list[str], list[str]]:
    """Divide documents into training and held-out ones."""
    train: list[str] = []
    held_out: list[str] = []
    for document in documents:
        (held_out if is_held_out(document) else train).append(document)
    return train, held_out
