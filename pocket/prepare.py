"""Make the training text: clean English documents as .jsonl.xz, one file a source.

    python prepare.py --corpora CORPORA --out TEXT

CORPORA holds the sources named in SOURCES. The OpenStax text book sections that lie beside them
are left out on purpose: their licence (CC BY-NC-SA 4.0) forbids commercial use.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from training.text import clean, read_file

BOOK_PIECE = 20_000
CALL_START = re.compile(r"(?m)^(?=A\.1:)")
SPEAKER = re.compile(r"(?m)^[AB]\.\d+:\s*")
BROKEN_WORD = re.compile(r"\b\w+-, ")


def articles(path: Path) -> Iterator[str]:
    """Documents as they are: encyclopedia articles, web pages."""
    yield from read_file(path)


def book_pieces(path: Path) -> Iterator[str]:
    """Novels with their lines joined, in pieces of about 20,000 characters.

    A piece is the unit that is held out: one novel in fourteen would be far from a hundredth.
    """
    for book in read_file(path):
        piece: list[str] = []
        for paragraph in re.split(
            r"\n\s*\n", book.replace("_", "").replace("--", " - ")
        ):
            piece.append(" ".join(paragraph.split()))
            if sum(map(len, piece)) > BOOK_PIECE:
                yield "\n".join(piece)
                piece = []
        yield "\n".join(piece)


def telephone_calls(path: Path) -> Iterator[str]:
    """Switchboard calls, a turn a line, without speaker marks and broken-off words."""
    with zipfile.ZipFile(path) as archive:
        transcript = archive.read("switchboard/transcript").decode("utf-8", "replace")
    for call in CALL_START.split(transcript):
        yield BROKEN_WORD.sub("", SPEAKER.sub("", call))


SOURCES: dict[str, Callable[[Path], Iterator[str]]] = {
    "wikipedia_en_core.jsonl.zst": articles,
    "wikipedia_en_recent.jsonl.zst": articles,
    "books_en.jsonl.zst": book_pieces,
    "web_en.jsonl.zst": articles,
    "conversation_en_switchboard.zip": telephone_calls,
}


def write(path: Path, documents: Iterable[str]) -> tuple[int, int]:
    """Write cleaned documents of 100 characters or more; return their number and length."""
    count = characters = 0
    with lzma.open(path, "wt", encoding="utf-8", preset=6) as stream:
        for document in documents:
            text = clean(document)
            if len(text) >= 100:
                stream.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
                count += 1
                characters += len(text)
    return count, characters


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--corpora", type=Path, required=True, help="folder of the sources"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for the cleaned text"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, documents in SOURCES.items():
        target = options.out / f"{name.split('.')[0]}.jsonl.xz"
        count, characters = write(target, documents(options.corpora / name))
        print(f"{target.name}: {count:,} documents, {characters:,} characters")


if __name__ == "__main__":
    main()
