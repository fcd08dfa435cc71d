"""Results of measurements as HTML tables, from their plain values; a notebook shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clinometer.display.notebook import titled_html
from clinometer.display.numbers import MISSING, between, percent, show


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


def risks_html(
    report: Mapping[str, Any],
    *,
    title: str,
    titles: Mapping[str, str],
    symbols: Mapping[str, str],
) -> str:
    """Return the risks of a report (`RiskReport.to_dict`), and its groups with the highest first.

    Args:
        report: its plain values.
        title: over the risks.
        titles: what the risks of all groups are called, by name.
        symbols: of the risks of one group, by name; the first is what groups are ordered by.
    """
    rows = []
    for name, heading in titles.items():
        estimate = report["summary"][name]
        interval = between(
            estimate["low"], estimate["high"], to=" to ", missing=MISSING
        )
        rows.append([heading, show(estimate["value"], "risk"), interval])
    risks = titled_html(title, ["risk", "value", "interval"], rows)
    return risks + _groups_html(report, symbols)


def _groups_html(report: Mapping[str, Any], symbols: Mapping[str, str]) -> str:
    first = next(iter(symbols))
    groups = [group for group in report["groups"] if group[first] is not None]
    groups.sort(key=lambda group: -group[first])
    rows = []
    for group in groups:
        risks = [show(group[name], "risk") for name in symbols]
        rows.append([group["group"], *risks, show(group["leaning"], "text")])
    note = f"{report['n_contexts']:,} contexts, {report['n_eff']:,.1f} effective"
    if report["missing_cells"]:
        note += f", {report['missing_cells']:,} cells missing"
    headings = ["group", *symbols.values(), "leans to"]
    return titled_html("The highest risks", headings, rows, note)
