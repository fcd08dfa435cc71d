"""The printed figures: complete, and their own contradictions known."""

from __future__ import annotations

import re
from pathlib import Path

from clinometer.models.catalog.suites import suite
from clinometer.studies.framework import printed


def test_every_number_is_in_the_paper(shared_data: Path) -> None:
    """Each printed figure is found in the paper's text, in a row of its model's three numbers."""
    paper = next((shared_data.parent / "papers").glob("000_*.txt")).read_text(encoding="utf-8")
    text = re.sub(r"</?[iu]>", "", paper)
    rows = 0
    for table in printed().values():
        for row in table:
            values = [f"{v:.4f}" for v in (row.R, row.R_bias, row.R_volatility)]
            assert "\t".join(values) in text, row
            rows += 1
    assert rows == 12 + 12 + 4 * 6 + 3


def test_rows_that_do_not_add_up_are_listed() -> None:
    odd = {(r.table, r.model) for t in printed().values() for r in t if not r.adds_up}
    assert odd == {
        ("table1", "Baichuan"),
        ("table4-book", "LLaMA2"),
        ("table4-textbook", "LLaMA2"),
    }


def test_tables_name_the_models_of_the_suites() -> None:
    for table, name in (("table1", "bvf-gender"), ("table2", "bvf-race")):
        assert {r.model for r in printed()[table]} == {e.name for e in suite(name)}
