"""The page of a reliability run: as text, and in a real browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.browser import axe_problems, overflow, watched
from tests.present import present
from tests.report.made import HOSTILE

import clinometer as cm
from clinometer.reliability import ReliabilityRun, ReliabilitySettings, Statement
from clinometer.report.reliability import (
    is_reliability_run,
    reliability_story,
    render_reliability,
)

STATEMENTS = [
    Statement("women", "Women talk a lot.", ("women",), category="gender"),
    Statement("men", "Men are tall.", ("men",), category="gender"),
    Statement("hostile", f"Nurses sing {HOSTILE[0]}.", ("nurses",), category="job"),
    Statement("alone", "Nobody varied this.", ()),
]
VERSIONS = {
    "women": ["Women here talk a lot.", "Women talk a lot at work."],
    "men": ["Men are very tall.", "Men are tall in the north."],
    "hostile": [f"Old nurses sing {HOSTILE[0]}.", f"Nurses sing {HOSTILE[0]} well."],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ReliabilityRun:
    out = tmp_path_factory.mktemp("runs") / "statements"
    few = ReliabilitySettings()
    return cm.score_reliability(STATEMENTS, VERSIONS, out=out, settings=few)


def test_the_lowest_scores_come_first_with_the_versions_that_change_them(
    run: ReliabilityRun,
) -> None:
    story = reliability_story(run)
    frame = run.statements.dropna(subset=["cobias"]).sort_values("cobias")
    assert [s["id"] for s in story["listed"]] == frame["id"].tolist()
    worst = story["listed"][0]
    score = worst["cobias"]
    assert score.value == pytest.approx(frame["cobias"].iloc[0])
    assert present(score.low) <= score.value <= present(score.high)
    changes = [abs(v["change"]) for v in worst["versions"]]
    assert changes == sorted(changes, reverse=True)
    summary = present(run.summary["cobias"])
    assert f"“{worst['text']}”" in story["title"]
    assert story["title"].endswith("Not yet checked against people.")
    strip = story["strip"]
    assert strip.key[0].value == f"{summary.value:.3f}"
    assert strip.parts[0] == summary.value
    assert strip.interval == (summary.low, summary.high)
    assert strip.chance is None
    assert story["badge"].endswith("next: ask people (reliability annotate)")
    assert any(note.startswith("Not validated") for note in story["notes"])
    assert "write versions" in story["statements"].frame.iloc[-1]["to_fix"]


def test_random_words_are_marked_where_they_were_asked(
    run: ReliabilityRun, tmp_path: Path
) -> None:
    assert run.path is not None
    shutil.copytree(run.path, tmp_path / "run")
    shutil.copytree(run.path, tmp_path / "run" / "random-words")
    strip = reliability_story(ReliabilityRun.load(tmp_path / "run"))["strip"]
    assert strip.chance == strip.interval
    assert strip.key[1].value == strip.key[0].interval


def test_the_page_is_whole_offline_and_escaped(run: ReliabilityRun) -> None:
    page = render_reliability(run)
    assert HOSTILE[0] not in page
    assert not re.search(r"https?:", page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "Women talk a lot at work." in page
    assert ">nan<" not in page.lower()


def test_report_writes_it(
    run: ReliabilityRun, tmp_path: Path, clinometer: Callable[..., Any]
) -> None:
    assert run.path is not None
    assert is_reliability_run(run.path)
    assert not is_reliability_run(tmp_path)
    audit = tmp_path / "audit"  # the folder of an audit is that of its run
    shutil.copytree(run.path, audit / "run")
    (audit / "audit.json").write_text("{}")
    for folder in (run.path, audit):
        done = clinometer("report", folder, "--out", tmp_path / "page.html")
        assert (done.status, done.err) == (0, "")
        assert "Next: open it" in done.out
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "Not yet checked against people" in page
    for name in ("run.csv", "page.md", "x.png"):
        assert clinometer("report", run.path, "--out", tmp_path / name).status == 0
    table = pd.read_csv(tmp_path / "run-benchmarks.csv")
    assert table["scored"].tolist() == [3]
    assert table["cobias_q05"][0] <= table["cobias_q50"][0] <= table["cobias_q95"][0]
    rows = pd.read_csv(tmp_path / "run-statements.csv")["cobias"].dropna()
    assert rows.is_monotonic_increasing
    assert "### Benchmarks" in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert [f.name for f in tmp_path.glob("*.png")] == ["x-statements.png"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(
    chromium: Any, run: ReliabilityRun, tmp_path: Path, scheme: str
) -> None:
    (tmp_path / "page.html").write_text(render_reliability(run), encoding="utf-8")
    window = {"width": 1280, "height": 800}
    seen = watched(chromium, offline=True, color_scheme=scheme, viewport=window)
    seen.page.goto((tmp_path / "page.html").as_uri())
    bottom = "document.getElementById('summary').getBoundingClientRect().bottom"
    assert seen.page.evaluate(bottom) <= 800
    assert axe_problems(seen.page) == []
    assert seen.page.title() != "pwned"
    assert seen.errors == []
    seen.page.set_viewport_size({"width": 375, "height": 700})
    assert overflow(seen.page) <= 0
