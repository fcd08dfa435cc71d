"""In a notebook: results show themselves, safely, and turn into pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.browser import settled, watched
from tests.report.made import HOSTILE, made_run

from clinometer.measure import decompose
from clinometer.runs import Run, compare


@pytest.fixture(scope="module")
def run() -> Run:
    return made_run(None, groups=30, contexts=12)


@pytest.fixture(scope="module")
def other() -> Run:
    return made_run(None, groups=30, contexts=12, model="made:other", seed=1)


def test_a_run_shows_its_numbers_and_its_worst_groups(run: Run) -> None:
    shown = run._repr_html_()
    assert "made:model" in shown
    assert f"{run.risks.R.value:.3f}" in shown
    worst = max(run.risks.groups_table(), key=lambda g: g["r"])["group"]
    assert worst in shown
    assert "10 more groups" in shown
    assert "effective" in shown


def test_a_report_without_intervals() -> None:
    shown = decompose([[0.6, 0.4], [0.8, 0.2]])._repr_html_()
    assert "0.400" in shown
    assert "–" in shown


def test_a_comparison_shows_its_differences(run: Run, other: Run) -> None:
    found = compare(run, other)
    shown = found._repr_html_()
    assert "made:model − made:other" in shown
    frame = found.to_pandas()
    assert len(frame) == len(found.overall) + len(found.by_group)


def test_pandas_contains_the_same_numbers(run: Run) -> None:
    np.testing.assert_array_equal(run.risks.to_pandas()["r"], run.risks.r)
    cells = run.to_pandas()
    np.testing.assert_array_equal(cells["p"], run.preferences.values.ravel())
    assert len(cells) == 30 * 12 * 2


def test_hostile_names_are_text_in_a_browser(chromium: Any) -> None:
    run = made_run(None, groups=12, contexts=12, hostile=True)
    shown = run._repr_html_() + run.risks._repr_html_()
    other = made_run(None, groups=12, contexts=12, hostile=True, seed=1)
    shown += compare(run, other)._repr_html_()
    assert len(shown) < 40_000  # a name of 10,000 characters is cut
    seen = watched(chromium)
    seen.page.set_content(f"<title>safe</title>{shown}")
    settled(seen.page)
    assert seen.page.title() == "safe"
    assert seen.page.evaluate("document.images.length + document.scripts.length") == 0
    text = seen.page.inner_text("body")
    assert HOSTILE[0] in text
    assert "{{7*7}}" in text
    assert "\u202e" not in text
    assert seen.errors == []
