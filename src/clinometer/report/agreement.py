"""A chart of how annotators judge: Figure 4 of the COBIAS paper."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from clinometer.errors import SettingsError
from clinometer.reliability.agreement import Agreement
from clinometer.report.charts.cobias import disagreements_chart
from clinometer.report.export import write_as
from clinometer.report.figure import chart
from clinometer.tables import Table


def write_disagreements(agreement: Agreement, out: Path) -> list[Path]:
    """Draw how often annotators differ from the majority, by its category; return the files."""
    if out.suffix not in (".svg", ".png"):
        raise SettingsError(
            f"--out: expected a name that ends in .svg or .png, found {out}"
        )
    frame = _disagreements(agreement)
    figure = chart(
        "disagreements",
        "How often an annotator differs from the majority",
        "Items by their majority.",
        frame,
        "{annotator}, {majority}: {disagreements}",
        disagreements_chart,
    )
    table = Table("disagreements", figure.title, frame)
    return write_as(
        out, page=lambda: "", tables=lambda: [table], figures=lambda: [figure]
    )


def _disagreements(agreement: Agreement) -> pd.DataFrame:
    rows = []
    for annotator in agreement.annotators:
        for category, items in annotator.against.items():
            rows.append(
                {
                    "annotator": annotator.annotator,
                    "majority": category,
                    "disagreements": items,
                }
            )
    return pd.DataFrame(rows)
