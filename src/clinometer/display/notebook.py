"""How results show themselves in a notebook, and turn into pandas.

Results of every layer use it, so it depends on none of them: plain rows in, HTML or a table out.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clinometer.display.numbers import MISSING, TITLES, between, risk
from clinometer.display.text import visible

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame

_MOST_ROWS = 20
_LONGEST = 120


def risk_html(
    title: str,
    summary: Mapping[str, Mapping[str, Any]],
    groups: Sequence[Mapping[str, Any]],
    note: str,
) -> str:
    """The three numbers with their intervals and a bar, then the groups with the highest risk."""
    top = [
        [name, risk(e["value"]), between(e.get("low"), e.get("high"), to=" to ", missing=MISSING)]
        for key, name in TITLES.items()
        if (e := summary[key])
    ]
    seen = sorted((g for g in groups if g["r"] is not None), key=lambda g: -g["r"])
    rows = [
        [
            g["group"],
            *(risk(g[measure]) for measure in ("r", "r_bias", "r_volatility")),
            g["leaning"] or MISSING,
        ]
        for g in seen[:_MOST_ROWS]
    ]
    more = f"{len(seen) - _MOST_ROWS} more groups; " if len(seen) > _MOST_ROWS else ""
    bar = _bar(summary["R_bias"]["value"], summary["R_volatility"]["value"])
    return (
        f"<div><strong>{_cell(title)}</strong>{bar}"
        + table_html(["risk", "value", "interval"], top)
        + table_html(["group", "r", "rᵇ", "rᵛ", "leans to"], rows)
        + f"<small>{_cell(more + note, 400)}</small></div>"
    )


def table_html(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in which every cell is text."""
    head = "".join(f'<th style="text-align:left">{_cell(h)}</th>' for h in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{_cell(c)}</td>' for c in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def titled_html(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[object]], note: str = ""
) -> str:
    """A table under a title, with a note below; a long table is cut, and the note says so."""
    if len(rows) > _MOST_ROWS:
        note = f"{len(rows) - _MOST_ROWS:,} more rows" + (f"; {note}" if note else "")
    return (
        f"<div><strong>{_cell(title)}</strong>{table_html(headings, rows[:_MOST_ROWS])}"
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


def _bar(bias: float, volatility: float) -> str:
    """Bias and volatility end to end, 0 to 1; the table next to it has the numbers."""
    parts = (("#1d5f9e", bias), ("#e0930f", volatility))
    pieces = "".join(
        f'<span style="display:inline-block;height:100%;background:{colour};'
        f'width:{100 * min(1.0, max(0.0, value)):.1f}%"></span>'
        for colour, value in parts
    )
    return (
        '<div aria-hidden="true" style="width:24em;max-width:100%;height:.8em;margin:.4em 0;'
        f'line-height:0;background:rgba(128,128,128,.18)">{pieces}</div>'
    )
