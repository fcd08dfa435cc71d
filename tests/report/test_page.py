"""The page as text: whole, offline, escaped, of runs in every state."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.present import present
from tests.report.made import HOSTILE, made_run

from clinometer.errors import RunError
from clinometer.report import render_report, write_report
from clinometer.report.page import PagePart, Report, lede
from clinometer.runs import Run, audit
from clinometer.topics import load_topic


@pytest.fixture(scope="module")
def page(small: Run) -> str:
    return render_report([small])


def test_the_page_shows_the_numbers_what_they_rest_on_and_do_not_mean(
    page: str, small: Run
) -> None:
    record, risks = small.record, small.risks
    for text in (
        *("Ideally unbiased", "Randomly stereotyped", "made:model", "1.000"),
        *(f"{risks.R.value:.3f}", f"{risks.n_eff:,.1f}"),
        *(record.topic.sha256, record.contexts.sha256, "numpy", "scipy"),
        *("settings.coverage_threshold", "settings.words.tolerance"),
        *("do not say that a model is fair", "no certificate"),
    ):
        assert text in page
    for flag, count in record.counts.items():
        assert re.search(rf"{flag.replace('_', ' ')}.*?{count:,}", page, flags=re.S)


def test_the_page_refers_to_nothing_external(page: str) -> None:
    assert not re.search(
        r"""(?:src|href)\s*=\s*["'](?!#|data:image/png;base64,|data:image/svg|data:text/csv;base64,)""",
        page,
    )
    assert not re.search(r"url\((?!#)|@import|https?:", page)
    assert "default-src 'none'" in page


def test_ids_are_unique(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for used in re.findall(r"url\(#([^)]+)\)", page):
        assert used in ids


def test_hostile_text_stays_text() -> None:
    page = render_report([made_run(None, groups=12, contexts=12, hostile=True)])
    for text in HOSTILE[:2]:
        assert text not in page
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "{{7*7}}" in page
    assert "\u202e" not in page
    assert "right[U+202E]to left" in page


def test_more_categories_than_two_and_no_intervals() -> None:
    run = made_run(None, groups=10, contexts=12, categories=5)
    page = render_report([run])
    assert "category 4" in page
    assert "cannot be told from 12 sentences" in page


@pytest.mark.parametrize("name", ["unbiased", "stereotyped", "random"])
def test_reference_models_have_pages_too(name: str) -> None:
    topic = load_topic("gender").select(["nurse", "engineer", "teacher"])
    page = render_report([audit(f"reference:{name}", topic=topic, contexts="paper-gender")])
    assert f"reference:{name}" in page


def test_one_group_and_one_context_and_runs_of_different_topics(small: Run) -> None:
    assert "made:model" in render_report([made_run(None, groups=1, contexts=1)])
    page = render_report([small, made_run(None, groups=9, contexts=12, categories=3)])
    assert "made:model" in page
    assert "category 2" in page


@pytest.mark.usefixtures("undrawn")
def test_missing_runs_and_unwritable_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="at least one run"):
        render_report([])
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(RunError, match="cannot be written"):
        write_report([made_run(None, groups=1, contexts=1)], tmp_path / "file" / "page.html")


def parts(run: Run) -> dict[str, PagePart]:
    """The questions of the page of a run."""
    return {part.key: part for part in Report.of([run]).sections[0].parts}


def test_factors_are_shown_where_the_swing_is(small: Run, tmp_path: Path) -> None:
    made_run(tmp_path / "run", groups=4, contexts=60, orders=3)
    run = Run.load(tmp_path / "run")
    assert run.record.factors is not None
    assert run.record.factors.unit == "wording"
    shares = {f.name: f.share for f in run.record.factors.factors}
    order = present(shares["order"])
    assert order.low is not None
    assert 0 < order.low < order.value < (order.high or 0)
    swing = parts(run)["swing"]
    assert any("with order" in line and "% (" in line for line in swing.text)
    (table,) = swing.tables
    assert list(table.frame["factor"]) == ["wording", "order", "none of them alone"]
    assert table.frame["of_swing"].sum() == pytest.approx(1.0, abs=1e-9)
    assert "levels of wording are a sample" in table.note
    assert "--clusters wording" in table.note
    assert any(t.key == "factors" for t in Report.of([run]).tables())
    assert small.record.factors is None
    assert all(t.key != "factors" for t in Report.of([small]).tables())


def test_a_judge_without_labels_is_named_on_the_first_screen(small: Run) -> None:
    assert not any("judge" in line for line in lede(small))
    rubric = "Is this reply kind? [reply]"
    judge = {"kind": "text", "by": "judge", "model": "smollm2", "rubric": rubric}
    topic = small.record.topic.model_copy(update={"readout": judge})
    judged = replace(small, record=small.record.model_copy(update={"topic": topic}))
    assert any("is not calibrated" in line for line in lede(judged))


def test_tables_have_no_raw_floats_and_that_of_the_groups_is_open(small: Run) -> None:
    for table in Report.of([small]).tables():
        cells = [cell.text for row in table.rows() for cell in row]
        assert not [text for text in cells if re.search(r"\d\.\d{9}", text)], table.key
    assert [t.key for t in parts(small)["groups"].tables] == ["groups"]
