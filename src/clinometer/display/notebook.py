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

_MOST_ROWS = 20
_LONGEST = 120


def titled_html(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    note: str = "",
) -> str:
    """A table under a title, in which every cell is text, with a note below; a long table is cut,
    and the note says so."""
    if len(rows) > _MOST_ROWS:
        note = f"{len(rows) - _MOST_ROWS:,} more rows" + (f"; {note}" if note else "")
    head = "".join(f'<th style="text-align:left">{_cell(h)}</th>' for h in headings)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:left">{_cell(c)}</td>' for c in row)
        + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    return (
        f"<div><strong>{_cell(title)}</strong>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<small>{_cell(note, 400)}</small></div>"
    )


def frame(rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Plain rows as a pandas frame; None as missing."""
    import pandas as pd

    return pd.DataFrame(list(rows))


def columns(values: Mapping[str, Any]) -> DataFrame:
    """A pandas frame of columns, where (codes, names) stands for a categorical column."""
    import pandas as pd

    def column(found: Any) -> Any:
        if not isinstance(found, tuple):
            return found
        codes, names = found
        return pd.Categorical.from_codes(codes, categories=pd.Index(names))

    return pd.DataFrame({name: column(found) for name, found in values.items()})


def _cell(text: object, longest: int = _LONGEST) -> str:
    shown = visible(text)
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    return f"<bdi>{html.escape(shown)}</bdi>"
