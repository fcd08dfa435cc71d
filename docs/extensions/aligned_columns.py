"""Docstrings that align names and meanings in two columns become definition lists.

    record       the content of run.json
    preferences  p_y(x, c) with labels, weights and coverage
                 of every cell

reads well in a terminal, but would flow into one paragraph on a page.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_ROW = re.compile(
    r"^(?P<indent> *)(?P<name>[\w`][^ ]*(?:,? [\w`\[][^ ]*)*?) {2,}(?P<text>\S.*)$"
)


def listed(lines: list[str]) -> list[str]:
    """The same lines, with every run of two or more aligned rows as a definition list.

    >>> listed(["One audit.", "", "record  what", "path    where, or", "        None"])
    ['One audit.', '', 'record', '   what', 'path', '   where, or', '   None', '']
    """
    done: list[str] = []
    at = 0
    example = False
    while at < len(lines):
        example = bool(lines[at].strip()) and (
            example or lines[at].lstrip().startswith(">>>")
        )
        rows, end = _rows(lines, at)
        if example or len(rows) < 2:
            done.append(lines[at])
            at += 1
            continue
        for indent, name, texts in rows:
            done += [
                f"{indent}{name}",
                *(f"{indent}   {text}" for text in texts or ["—"]),
            ]
        done.append("")
        at = end
    return done


def _rows(lines: list[str], start: int) -> tuple[list[tuple[str, str, list[str]]], int]:
    """The aligned rows from a line on: (indent, name, lines of text), and the line after them."""
    rows: list[tuple[str, str, list[str]]] = []
    column = None
    at = start
    while at < len(lines):
        match = _ROW.match(lines[at])
        if match and (column is None or match["indent"] == rows[0][0]):
            column = column or match.start("text")
            rows.append((match["indent"], match["name"], [match["text"]]))
        elif rows and column and lines[at].strip() and not lines[at][:column].strip():
            rows[-1][2].append(lines[at].strip())
        elif rows and column and _alone(lines, at, column):
            rows.append((rows[0][0], lines[at].strip(), []))
        else:
            break
        at += 1
    return rows, at


def _alone(lines: list[str], at: int, column: int) -> bool:
    """Whether the line is a name alone: its text is on the next line, or it needs none."""
    follows = lines[at + 1] if at + 1 < len(lines) else ""
    if not lines[at].strip() or not follows.strip():
        return False
    return not follows[:column].strip() or bool(
        len(lines[at]) < column and _ROW.match(follows)
    )


def _process(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = listed(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    # Before napoleon, which reads the same lines.
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
