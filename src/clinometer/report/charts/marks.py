"""The parts of a chart: its table as data, its labels, its channels, and marks in layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pandas as pd

from clinometer.display.text import brief, visible
from clinometer.report.charts.look import PAGE, Spec, is_narrow

OURS = "\u2063"
"""Prefix of every text about a mark (an invisible character, harmless in exported files)."""


def distinct(labels: Iterable[object], length: int = 60) -> list[str]:
    """Return brief labels, made unique again where truncation made them equal."""
    counts: Counter[str] = Counter()
    unique = []
    for label in labels:
        text = brief(label, length)
        counts[text] += 1
        unique.append(text if counts[text] == 1 else f"{text} ({counts[text]})")
    return unique


def label_by_name(names: Iterable[Any], length: int) -> dict[Any, str]:
    """Return each name once, in order, with its brief label."""
    unique = list(dict.fromkeys(names))
    return dict(zip(unique, distinct(unique, length), strict=True))


def described(table: pd.DataFrame, form: str) -> pd.DataFrame:
    """Return the table with each row in words: `form` names its columns."""
    texts = [form.format_map(row) for row in table.to_dict("records")]
    return table.assign(about=texts)


def interval_text(low: Any, high: Any, form: str = ".3f") -> str:
    """Return an interval in brackets, to stand after its number; "" where an end is missing."""
    if pd.isna(low) or pd.isna(high):
        return ""
    return f" ({low:{form}} to {high:{form}})"


def floats(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the table with these columns as numbers; one that it lacks is missing in every row."""
    lacking = [name for name in columns if name not in table]
    complete = table.reindex(columns=[*table, *lacking])
    return complete.astype(dict.fromkeys(columns, float))


def inline_data(table: pd.DataFrame) -> Spec:
    """Return a table as inline data: NaN as null.

    A column `about` describes each mark in words; it is marked as ours, so that a page can tell it
    from the labels that Vega generates for marks without one.
    """
    if "about" in table:
        table = table.assign(about=[OURS + visible(text) for text in table["about"]])
    with_nulls = table.astype(object).where(table.notna(), None)
    return {"values": with_nulls.to_dict("records")}


def quantitative(column: str, **options: Any) -> Spec:
    """Return a channel of numbers."""
    return {"field": column, "type": "quantitative", **options}


def nominal(column: str, **options: Any) -> Spec:
    """Return a channel of names."""
    return {"field": column, "type": "nominal", **options}


def literal(column: str) -> Spec:
    """Return a channel whose values are colours or shapes themselves."""
    return nominal(column, scale=None)


ABOUT = nominal("about")
"""The channel of what each mark says in words."""


def mark(
    kind: str,
    table: pd.DataFrame | None = None,
    /,
    *,
    look: Spec | None = None,
    needs: str = "",
    **channels: Any,
) -> Spec:
    """Return one layer: a kind of mark with its look, its channels, and its own table, if it has
    one. Rows that miss the column `needs` are left out."""
    layer: Spec = {}
    if table is not None:
        layer["data"] = inline_data(table)
    if needs:
        layer["transform"] = [{"filter": f"datum.{needs} !== null"}]
    return {**layer, "mark": {"type": kind, **(look or {})}, "encoding": channels}


def layers(*marks: Spec, data: pd.DataFrame | None = None, **channels: Any) -> Spec:
    """Return marks over each other, with the table and the channels that they share."""
    shared = {} if data is None else {"data": inline_data(data)}
    return {**shared, "layer": list(marks), "encoding": channels}


def numbered_points(table: pd.DataFrame, width: int, **channels: Any) -> list[Spec]:
    """Return points with their numbers inside, the first on top, and a key of the names below the
    chart.

    table: label, about and the columns of the channels; rows are numbered in order. Names beside
    the points would cover each other where points are close; numbers are as legible there.
    """
    table = table.reset_index(drop=True)
    table["number"] = [str(i + 1) for i in range(len(table))]
    table["entry"] = table["number"] + "\u2002" + table["label"]
    legend = {
        "orient": "bottom",
        "columns": 1 if is_narrow(width) else 3,
        "symbolSize": 0,
        "symbolOffset": -8,
        "labelOffset": 0,
    }
    scale = {"domain": list(table["entry"]), "range": ["circle"]}
    point = {"size": 230, "opacity": 1, "stroke": PAGE, "strokeWidth": 1.5}
    number = {"color": PAGE, "fontSize": 10, "fontWeight": "bold"}
    last_first = table.iloc[::-1]
    return [
        mark("circle", last_first, look=point, **channels, description=ABOUT),
        mark(
            "text",
            last_first,
            look=number,
            x=channels["x"],
            y=channels["y"],
            text=nominal("number"),
        ),
        mark(
            "point",
            table[["entry"]],
            look={"opacity": 0, "size": 0},
            shape=nominal("entry", legend=legend, scale=scale),
        ),
    ]
