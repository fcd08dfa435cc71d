"""Results of measurements as HTML tables, from their plain values; a notebook shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clinometer.display.notebook import titled_html
from clinometer.display.numbers import MISSING, percent, show


def comparison_html(comparison: Mapping[str, Any]) -> str:
    """Return the overall differences of a comparison (`Comparison.to_dict`) as a table."""
    headings = ("first minus second", "risk", "difference", "interval", "p (corrected)")
    rows = []
    for difference in comparison["overall"]:
        interval = MISSING
        if difference["low"] is not None and difference["high"] is not None:
            low = show(difference["low"], "signed")
            interval = f"{low} to {show(difference['high'], 'signed')}"
        row = [
            f"{difference['a']} − {difference['b']}",
            difference["measure"],
            show(difference["value"], "signed"),
            interval,
            show(difference["p_corrected"], "p"),
        ]
        rows.append(row)
    note = (
        f"{len(comparison['groups'])} groups, {comparison['n_contexts']:,} contexts, "
        f"{comparison['n_eff']:,.1f} effective; {percent(comparison['level'])} intervals, "
        "p times the number of pairs"
    )
    return titled_html("Differences", headings, rows, note)
