"""How results are printed: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from clinometer.cli.terminal_table import TerminalTable
from clinometer.display.text import CONTROLS, one_line, visible

if TYPE_CHECKING:
    from clinometer.tables import Table

_MARKS = {"worst": "bold", "best": "underline italic"}
"""The best and the worst of a column, as the papers' tables mark them."""


def print_rows(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    words: Collection[str] | None = None,
    dim: Collection[int] = (),
) -> None:
    """Print plain values as a `TerminalTable`. Without `words` the first column is text."""
    text_columns = headings[:1] if words is None else words
    TerminalTable(title, headings, list(rows), text_columns, dim).print(console())


def print_table(table: Table, *, most: int | None = None) -> None:
    """Print the first `most` rows of a table of results, as a report has it, and its note."""
    columns = table.combined()
    rows = []
    styles = {}
    for i, row in enumerate(table.rows(most)):
        texts = []
        for column, cell in enumerate(row):
            texts.append(
                f"{cell.text}\n{cell.interval}" if cell.interval else cell.text
            )
            if cell.mark:
                styles[i, column] = _MARKS[cell.mark]
        rows.append(texts)
    headings = [column.heading for column in columns]
    words = {column.heading for column in columns if column.is_text}
    TerminalTable(table.title, headings, rows, words, styles=styles).print(console())
    if table.note:
        sentence(table.note)


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """rich would exit with status 1, which here means that a threshold failed."""
        raise BrokenPipeError


def between_words(text: str, width: int) -> str:
    """Return a text in lines of at most `width`; a longer word, such as an address, stays whole.

    >>> between_words("  34%  On what occasion?", 16)
    '  34%  On what\\noccasion?'
    """
    wrapper = textwrap.TextWrapper(
        max(width, 20), break_long_words=False, break_on_hyphens=False, tabsize=4
    )
    return "\n".join("\n".join(wrapper.wrap(line)) for line in text.split("\n"))


def console() -> Console:
    """Return where results go; colours only on a terminal.

    Names of models, groups and files are other people's text: none of it is markup.
    """
    return _Output(highlight=False, markup=False, emoji=False)


def sentence(text: str, *, indent: str = "", style: str | None = None) -> None:
    """Print a sentence of the results: wrapped between words on a terminal, one line elsewhere."""
    out = console()
    text = visible(text)
    if out.is_terminal:
        text = between_words(text, out.width - len(indent))
    out.print(textwrap.indent(text, indent), style=style, soft_wrap=True)


def say(text: object, *, prefix: str = "clinometer: ") -> None:
    """Print one line on stderr; on a terminal its words stay whole."""
    line = f"{prefix}{one_line(text)}"
    if sys.stderr.isatty():
        line = between_words(line, shutil.get_terminal_size().columns)
    sys.stderr.write(f"{line}\n")


def print_json(result: dict[str, Any]) -> None:
    """Print one object on stdout; what a terminal would obey is written as JSON's escapes."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    print(CONTROLS.sub(lambda m: json.dumps(m[0])[1:-1], text))  # noqa: T201
