"""How results show themselves in a notebook, and turn into pandas.

Results of every layer use it, so it depends on none of them: plain rows in, HTML or a table out.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clinometer.display.text import visible

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame

MOST_ROWS = 20
"""Rows of a table that are shown."""

LONGEST_CELL = 120
"""Characters of a cell that are shown."""

LONGEST_NOTE = 400
"""Characters of the note below a table that are shown."""


def titled_html(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    note: str = "",
) -> str:
    """Return a table under a title, in which every cell is text, with a note below.

    A long table is cut, and the note says so.
    """
    notes = [note] if note else []
    if len(rows) > MOST_ROWS:
        notes.insert(0, f"{len(rows) - MOST_ROWS:,} more rows")
    body = "".join(_row(row, "td") for row in rows[:MOST_ROWS])
    return (
        f"<div><strong>{_text(title)}</strong>"
        f"<table><thead>{_row(headings, 'th')}</thead><tbody>{body}</tbody></table>"
        f"<small>{_text('; '.join(notes), LONGEST_NOTE)}</small></div>"
    )


def _row(cells: Sequence[object], tag: str) -> str:
    """Return a row of a table, with a tag for each cell."""
    content = [
        f'<{tag} style="text-align:left">{_text(cell)}</{tag}>' for cell in cells
    ]
    return f"<tr>{''.join(content)}</tr>"


def frame(rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Return plain rows as a pandas frame; None as missing."""
    import pandas as pd

    return pd.DataFrame(list(rows))


def columns(values: Mapping[str, Any]) -> DataFrame:
    """Return a pandas frame of columns, where (codes, names) stands for a categorical column."""
    import pandas as pd

    content = {}
    for name, column in values.items():
        content[name] = column
        if isinstance(column, tuple):
            codes, names = column
            categories = pd.Index(names)
            content[name] = pd.Categorical.from_codes(codes, categories=categories)
    return pd.DataFrame(content)


def _text(value: object, longest: int = LONGEST_CELL) -> str:
    """Return the text of a value, escaped and of at most so many characters."""
    text = visible(value)
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return f"<bdi>{html.escape(text)}</bdi>"
