"""Tables as files: Markdown, LaTeX, CSV; and the words of the summary."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from tests.report.made import HOSTILE, made_run

from clinometer.display.table import Table
from clinometer.report.export import to_latex, to_markdown, write_csv
from clinometer.report.page import report_tables
from clinometer.report.run_tables import groups_table
from clinometer.report.sentences import headline, sentences
from clinometer.runs import Run, audit
from clinometer.runs.folder.recover import Opened


def opened(run: Run) -> Opened:
    return Opened(
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


def test_the_summary_gives_the_size_and_its_uncertainty(small: Run) -> None:
    text = " ".join(sentences("m", small))
    assert f"{small.risks.R.value:.3f}" in text
    assert "95 % interval" in text
    assert "effective context" in text
    assert "lean to male" in text


def test_no_share_is_claimed_without_support_from_the_interval() -> None:
    few = made_run(None, groups=8, contexts=9, lean=0.0, seed=3)
    report = few.risks
    assert report.R_bias.low is not None
    unsure = report.R_bias.low < 0.5 * report.R.value <= (report.R_bias.high or 0)
    assert ("too few to tell" in headline(["m"], [few])) == unsure
    assert unsure  # the case this test is about


def test_models_with_overlapping_intervals_are_not_ranked(small: Run) -> None:
    same = made_run(None, groups=30, contexts=40, seed=5)
    assert "about equally far" in headline(["a", "b"], [small, same])
    stereotyped = audit("reference:stereotyped", contexts="paper-gender")
    assert "furthest" in headline(["a", "b"], [small, stereotyped])


def test_a_perfect_model_has_its_sentence() -> None:
    run = audit("reference:unbiased", contexts="paper-gender")
    assert "as the reference in every context" in headline(["m"], [run])
