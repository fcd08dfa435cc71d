"""Reports as files: every ending, and tables that hold what others wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.report.made import HOSTILE

from clinometer.report import write_report
from clinometer.report.export import to_latex, to_markdown
from clinometer.report.tables import groups_table
from clinometer.runs import Run
from clinometer.tables import Table


def test_csv_and_json_hold_every_table_in_full(small: Run, tmp_path: Path) -> None:
    files = {
        f.stem.removeprefix("x-"): f for f in write_report([small], tmp_path / "x.csv")
    }
    (file,) = write_report([small], tmp_path / "x.json")
    tables = json.loads(file.read_text(encoding="utf-8"))
    assert {"risks", "groups", "contexts", "cells", "flags", "settings"} <= set(files)
    assert set(files) == set(tables)
    expected = {r["group"]: r["r"] for r in small.risks.groups_table()}
    assert {r["group"]: r["r"] for r in tables["groups"]["rows"]} == expected
    groups = pd.read_csv(files["groups"])
    assert dict(zip(groups["group"], groups["r"], strict=True)) == pytest.approx(
        expected
    )
    assert len(pd.read_csv(files["contexts"])) == len(tables["contexts"]["rows"]) == 40


def test_markdown_has_one_line_per_row_and_is_escaped(small: Run) -> None:
    text = to_markdown(groups_table(small))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 30 + 2
    assert " to " in rows[2]  # value and interval in one cell
    hostile = to_markdown(Table("t", "t", pd.DataFrame({"group": list(HOSTILE)})))
    assert "<script>" not in hostile
    assert (
        len([line for line in hostile.splitlines() if line.startswith("|")])
        == len(HOSTILE) + 2
    )


def test_latex_escapes_every_special_character() -> None:
    frame = pd.DataFrame(
        {"group": [r"50 % & $x$ #1 a_b {c} ~ ^ \input{x}"], "r": [0.1234]}
    )
    text = to_latex(Table("t", "A & B", frame))
    assert r"50 \% \& \$x\$ \#1 a\_b \{c\} \textasciitilde{} \textasciicircum{}" in text
    assert r"\textbackslash{}input\{x\}" in text
    assert r"A \& B" in text
    assert "0.123" in text
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1
