"""Tables as files: Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from tests.report.made import HOSTILE

from clinometer.display.table import Table
from clinometer.report.export import to_latex, to_markdown, write_csv
from clinometer.report.page import report_tables
from clinometer.report.tables import groups_table
from clinometer.runs import Run
from clinometer.runs.folder.recover import LoadedRun


def opened(run: Run) -> LoadedRun:
    return LoadedRun(
        run.path or Path("x"), run.model, "finished", run=run, content=run.record.to_dict()
    )


def test_every_table_is_exported_to_csv_in_full(small: Run, tmp_path: Path) -> None:
    tables = report_tables([opened(small)])
    files = write_csv(tables, tmp_path / "csv")
    names = {f.stem for f in files}
    assert {"risks", "groups", "contexts", "cells", "flags", "settings"} <= names
    groups = pd.read_csv(tmp_path / "csv" / "groups.csv")
    expected = {r["group"]: r["r"] for r in small.risks.groups_table()}
    assert dict(zip(groups["group"], groups["r"], strict=True)) == pytest.approx(expected)
    assert len(pd.read_csv(tmp_path / "csv" / "contexts.csv")) == 40


def test_formulas_are_escaped_for_spreadsheets(tmp_path: Path) -> None:
    frame = pd.DataFrame({"group": [HOSTILE[7], "-1", "+x", "plain"]})
    (file,) = write_csv([Table("t", "t", frame)], tmp_path)
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert [r[0] for r in rows] == ["group", "'" + HOSTILE[7], "-1", "'+x", "plain"]


def test_markdown_has_one_line_per_row_and_is_escaped(small: Run) -> None:
    text = to_markdown(groups_table(small))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 30 + 2
    assert " to " in rows[2]  # value and interval in one cell
    hostile = to_markdown(Table("t", "t", pd.DataFrame({"group": list(HOSTILE)})))
    assert "<script>" not in hostile
    assert len([line for line in hostile.splitlines() if line.startswith("|")]) == len(HOSTILE) + 2


def test_latex_escapes_every_special_character() -> None:
    frame = pd.DataFrame({"group": [r"50 % & $x$ #1 a_b {c} ~ ^ \input{x}"], "r": [0.1234]})
    text = to_latex(Table("t", "A & B", frame))
    assert r"50 \% \& \$x\$ \#1 a\_b \{c\} \textasciitilde{} \textasciicircum{}" in text
    assert r"\textbackslash{}input\{x\}" in text
    assert r"A \& B" in text
    assert "0.123" in text
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1
