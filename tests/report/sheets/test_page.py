"""A sheet about a run: what is there, what is lacking, and a page that can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from tests.browser import PHONE, axe_problems, overflow, watched
from tests.command import Clinometer
from tests.report.made import made_run

from clinometer.report.sheets import NAMES, evidence, load_sheet, render_sheet, sheet_markdown
from clinometer.runs import Run


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_there_or_lacking_with_a_next_step(name: str, small: Run) -> None:
    sheet = load_sheet(name)
    for one in evidence(sheet, small):
        assert len(one.there) + len(one.lacking) == len(one.clause.fields)
        assert one.there
        assert all(step for _, step in one.lacking)


def test_numbers_are_those_of_the_run(small: Run) -> None:
    (clause,) = (
        one
        for one in evidence(load_sheet("nist-ai-rmf"), small)
        if one.clause.number == "MEASURE 2.11"
    )
    there = dict(clause.there)
    R = small.risks.R
    assert f"R {R.value:.3f} (95 % interval {R.low:.3f} to {R.high:.3f})" in there["Risks"]
    worst = small.groups["r"].idxmax()
    assert f"highest {worst} (" in there["Groups"]
    protocol = evidence(load_sheet("nist-ai-rmf"), small)[0]
    assert (
        "Protocol",
        "clinometer plan --protocol FILE, then audit --protocol FILE",
    ) in protocol.lacking


def test_impact_ratios_stand_in_one_sheet_only(small: Run) -> None:
    for name in NAMES:
        text = sheet_markdown(small, name)
        assert ("## Impact ratios" in text) == (name == "nyc-ll144")
        assert "no statement that any requirement is met" in text
        assert ("Text not reproduced" in text) == (name == "nyc-ll144")


def test_the_command_writes_html_and_markdown(
    clinometer: Clinometer, small: Run, tmp_path: Path
) -> None:
    for form in ("html", "md"):
        out = tmp_path / f"sheet.{form}"
        done = clinometer(
            "report", small.path, "--sheet", "eu-ai-act", "--format", form, "--out", out
        )
        assert done.status == 0, done.err
        assert "Annex IV, point 2(g)" in out.read_text(encoding="utf-8")
    page = MarkdownIt().render((tmp_path / "sheet.md").read_text(encoding="utf-8"))
    assert page.count("<blockquote>") == len(load_sheet("eu-ai-act").clauses)
    for wrong in (
        ("--sheet", "gdpr"),
        ("--sheet", "eu-ai-act", "--format", "csv"),
        ("--sheet", "eu-ai-act", small.path),
    ):
        refused = clinometer("report", small.path, *wrong)
        assert refused.status == 2
        assert refused.err.count("\n") == 1


def test_the_page_in_a_browser(chromium: Any, tmp_path: Path) -> None:
    run = made_run(None, groups=12, contexts=12, hostile=True)
    (tmp_path / "sheet.html").write_text(render_sheet(run, "nyc-ll144"), encoding="utf-8")
    seen = watched(chromium, offline=True, viewport=PHONE)
    seen.page.goto((tmp_path / "sheet.html").as_uri())
    assert axe_problems(seen.page) == []
    assert overflow(seen.page) == 0
    assert seen.page.locator("img, script").count() == 0
    assert seen.errors == []
