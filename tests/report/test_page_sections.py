"""What a page shows of a run below the first screen."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.present import present
from tests.report.made import made_run, summary_of

from clinometer.report.page import section, tables_of
from clinometer.report.sentences import lede
from clinometer.runs import Run


def test_factors_are_shown_where_the_swing_is(tmp_path: Path) -> None:
    made_run(tmp_path / "run", groups=4, contexts=60, orders=3)
    run = Run.load(tmp_path / "run")
    assert run.record.factors is not None
    assert run.record.factors.unit == "wording"
    shares = {f.name: f.share for f in run.record.factors.factors}
    order = present(shares["order"])
    assert order.low is not None
    assert 0 < order.low < order.value < (order.high or 0)
    one = summary_of(run)
    swing = next(p for p in section(one.opened, 0, one).parts if p.key == "swing")
    assert any("with order" in line and "% (" in line for line in swing.text)
    table = next(t for t in swing.tables if t.key == "factors")
    assert list(table.frame["factor"]) == ["wording", "order", "none of them alone"]
    assert table.frame["of_swing"].sum() == pytest.approx(1.0, abs=1e-9)
    assert "levels of wording are a sample" in table.note
    assert "--clusters wording" in table.note
    assert any(t.key == "factors" for t in tables_of(one.opened, one))


def test_contexts_without_factors_have_no_such_table(small: Run) -> None:
    one = summary_of(small)
    assert small.record.factors is None
    assert all(t.key != "factors" for t in tables_of(one.opened, one))


def test_a_judge_without_labels_is_named_on_the_first_screen(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", groups=3, contexts=20)
    assert not any("judge" in line for line in lede(run))
    rubric = "Is this reply kind? [reply]"
    judge = {"kind": "text", "by": "judge", "model": "smollm2", "rubric": rubric}
    topic = run.record.topic.model_copy(update={"readout": judge})
    judged = replace(run, record=run.record.model_copy(update={"topic": topic}))
    assert any("is not calibrated" in line for line in lede(judged))


def test_tables_have_no_raw_floats(small: Run) -> None:
    one = summary_of(small)
    for table in tables_of(one.opened, one):
        cells = [cell.text for row in table.rows() for cell in row]
        assert not [text for text in cells if re.search(r"\d\.\d{9}", text)], table.key


def test_the_part_about_groups_is_open(small: Run) -> None:
    one = summary_of(small)
    groups = next(p for p in section(one.opened, 0, one).parts if p.key == "groups")
    assert groups.figures or "groups" in [t.key for t in groups.tables]
