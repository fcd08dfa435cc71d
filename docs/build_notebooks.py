"""Write examples/*.ipynb from the tutorials and the gallery: python docs/build_notebooks.py

A test fails when a notebook and its source differ. Outputs are left out: run the notebook.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
SOURCES = [*sorted((DOCS / "tutorials").glob("*.md")), DOCS / "gallery.md"]
EXAMPLES = DOCS.parent / "examples"
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_TAGS = re.compile(r"\A:tags: \[(.*?)\]\n")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def is_notebook(source: Path) -> bool:
    return "file_format: mystnb" in source.read_text("utf-8")


def cells(source: Path) -> Iterator[tuple[str, str, list[str]]]:
    """(markdown or code, text, tags) of every cell, in order."""
    text = _FRONT.sub("", source.read_text("utf-8"))
    end = 0
    for match in _CELL.finditer(text):
        if text[end : match.start()].strip():
            yield "markdown", text[end : match.start()].strip(), []
        code, end = match[1], match.end()
        tags = _TAGS.match(code)
        names = [] if tags is None else [tag.strip() for tag in tags[1].split(",")]
        yield "code", _TAGS.sub("", code).strip(), names
    if text[end:].strip():
        yield "markdown", text[end:].strip(), []


def notebook(source: Path) -> str:
    """The notebook of a page, without outputs."""
    made = []
    for index, (kind, text, tags) in enumerate(cells(source)):
        digest = hashlib.sha256(f"{index} {text}".encode()).hexdigest()[:12]
        cell: dict[str, Any] = {"cell_type": kind, "id": digest, "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
            cell["metadata"] = {"tags": tags} if tags else {}
        else:
            text = _LINK.sub(lambda m: f"]({_from_examples(source, m[1])}", text)
        cell["source"] = text.splitlines(keepends=True)
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _from_examples(source: Path, target: str) -> str:
    """A link of a page as a link of its notebook: to the notebook, or else to the page."""
    page = (source.parent / target).resolve()
    if page in [s.resolve() for s in SOURCES if is_notebook(s)]:
        return f"{page.stem}.ipynb"
    return f"../docs/{page.relative_to(DOCS.resolve()).as_posix()}"


def main() -> None:
    EXAMPLES.mkdir(exist_ok=True)
    for source in filter(is_notebook, SOURCES):
        (EXAMPLES / f"{source.stem}.ipynb").write_text(
            notebook(source), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
