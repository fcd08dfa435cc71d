"""The page as text: whole, offline, escaped, of runs in every state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.report.made import HOSTILE, made_run

from clinometer.errors import RunError
from clinometer.report import render_report, write_report
from clinometer.runs import Run, audit
from clinometer.topics import load_topic


@pytest.fixture(scope="module")
def page(small: Run) -> str:
    return render_report([small])


def test_the_page_shows_the_numbers_and_the_reference_models(page: str, small: Run) -> None:
    for text in ("Ideally unbiased", "Randomly stereotyped", "made:model", "1.000"):
        assert text in page
    assert f"{small.risks.R.value:.3f}" in page
    assert f"{small.risks.n_eff:,.1f}" in page


def test_settings_versions_hashes_and_flags_are_shown(page: str, small: Run) -> None:
    assert small.record.topic.sha256 in page
    assert small.record.contexts.sha256 in page
    for name in ("numpy", "scipy", "settings.coverage_threshold", "settings.words.tolerance"):
        assert name in page
    for flag, count in small.record.counts.items():
        assert re.search(rf"{flag.replace('_', ' ')}.*?{count:,}", page, flags=re.S)


def test_the_page_says_what_the_numbers_do_not_mean(page: str) -> None:
    assert "do not say that a model is fair" in page
    assert "no certificate" in page


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


def test_one_group_and_one_context() -> None:
    assert "made:model" in render_report([made_run(None, groups=1, contexts=1)])


def test_runs_of_different_topics_are_shown_side_by_side(small: Run) -> None:
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
