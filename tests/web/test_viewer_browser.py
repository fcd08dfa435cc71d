"""The viewer in a real browser: clicks, keyboard, phones, zoom, axe, a run being written."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser import PHONE, ZOOMED, axe_problems, overflow, pixels, settled, watched
from tests.web.conftest import served

from clinometer.contexts import load_contexts
from clinometer.models import ModelInfo, WordScores
from clinometer.report.charts.style.theme import PALETTE
from clinometer.runs import AuditSettings, RunFolder
from clinometer.runs.folder.record import new_record
from clinometer.runs.folder.record_schema import WordsRecord
from clinometer.topics import load_topic

PAGES = {
    "list": "/",
    "run": "/run?id=second",
    "group": "/group?id=second&group=accountant",
    "compare": "/compare?run=a/first&run=second",
    "hostile": "/run?id=hostile",
    "error": "/run?id=nothing",
}


def test_clicks_lead_from_the_list_to_the_word(chromium: Any, address: str) -> None:
    seen = watched(chromium)
    page = seen.page
    page.goto(address)
    page.get_by_role("link", name="smollm2").click()
    page.get_by_role("link", name="nurse").click()
    page.get_by_role("link", name="The nurse said that").click()
    assert "What smollm2 puts here" in page.locator("h1").inner_text()
    word = page.locator("tr", has_text="she").first
    assert re.search(r"0\.\d+", word.inner_text())
    again = watched(chromium).page  # a deep link leads to the same place
    again.goto(page.url)
    assert again.locator("h1").inner_text() == page.locator("h1").inner_text()
    page.go_back()
    page.go_back()
    assert "id=real" in page.url
    assert seen.errors == []
    assert all(r.startswith((address, "data:")) for r in seen.requests)


def test_the_keyboard_leads_from_the_list_to_the_word(chromium: Any, address: str) -> None:
    page = watched(chromium).page
    page.goto(address)

    def tab_to(text: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            focused = "document.activeElement.textContent.trim()"
            if page.evaluate(focused).startswith(text):
                outline = "getComputedStyle(document.activeElement).outlineStyle"
                assert page.evaluate(outline) == "solid"  # one sees where one is
                with page.expect_navigation():
                    page.keyboard.press("Enter")
                return
        raise AssertionError(f"Tab does not reach {text!r}")

    tab_to("smollm2")
    tab_to("nurse")
    tab_to("The nurse said that")
    assert "she" in page.locator("table", has_text="probability").inner_text()


def test_filters_live_in_the_address(chromium: Any, address: str) -> None:
    page = watched(chromium).page
    page.goto(f"{address}/run?id=second")
    page.get_by_role("searchbox", name="Group").fill("a")
    page.get_by_label("Leans to").select_option("male")
    page.wait_for_url("**leaning=male**")
    assert "q=a" in page.url
    rows = page.locator("table").first.locator("tbody tr")
    count = rows.count()
    assert 0 < count < 12
    page.get_by_role("link", name="rᵇ bias").click()
    page.wait_for_url("**sort=-r_bias**")
    assert "leaning=male" in page.url
    assert rows.count() == count
    again = watched(chromium).page
    again.goto(page.url)
    assert again.get_by_role("searchbox", name="Group").input_value() == "a"
    assert again.locator("table").first.locator("tbody tr").count() == count


def test_compare_two_runs(chromium: Any, address: str) -> None:
    page = watched(chromium).page
    page.goto(address)
    page.get_by_label("Compare made:model").check()
    page.get_by_label("Compare made:other").check()
    page.get_by_role("button", name="Compare the chosen runs").click()
    page.wait_for_url("**/compare?**")
    assert "2 runs compared" in page.locator("h1").inner_text()
    drawing = page.locator("figure").first.locator("svg[role=img]:visible")
    drawing.wait_for()
    shot = drawing.screenshot()
    assert pixels(chromium, shot, PALETTE["bias"][0]) > 500
    assert re.search(r"made:\w+ − made:\w+", page.locator("table").first.inner_text())


def test_charts_load_when_scrolled_into_view(chromium: Any, address: str) -> None:
    seen = watched(chromium, color_scheme="dark")
    seen.page.goto(f"{address}/run?id=second")
    heat = seen.page.locator("figure[data-src*='name=heat']")
    heat.scroll_into_view_if_needed()
    heat.locator("svg[role=img]").wait_for()
    shot = heat.locator("svg").screenshot()
    assert pixels(chromium, shot, PALETTE["page"][1], near=2) < 680 * 200
    assert seen.errors == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Any, address: str, name: str, scheme: str) -> None:
    page = watched(chromium, color_scheme=scheme).page
    page.goto(address + PAGES[name])
    if name in ("group", "compare"):
        page.locator("figure svg[role=img]").first.wait_for()
    assert axe_problems(page) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("window", [PHONE, ZOOMED], ids=["phone", "400 % zoom"])
def test_nothing_overflows_narrow_windows(
    chromium: Any, address: str, name: str, window: dict[str, int]
) -> None:
    page = watched(chromium, viewport=window).page
    page.goto(address + PAGES[name])
    assert overflow(page) <= 0


def test_hostile_names_run_no_script(chromium: Any, address: str) -> None:
    seen = watched(chromium)
    page = seen.page
    for path in ("/", "/run?id=hostile"):
        page.goto(address + path)
        settled(page)
        assert page.evaluate("document.images.length") == 0
        assert page.title() != "pwned"
    page.locator("a[href^='/group']").first.click()
    page.locator("a[href^='/cell']").first.click()
    assert page.title() != "pwned"
    assert page.evaluate("document.images.length") == 0
    assert seen.errors == []
    assert all(r.startswith((address, "data:")) for r in seen.requests)


def test_an_unfinished_run_is_shown(chromium: Any, tmp_path: Path, root: Path) -> None:
    """The open pages follow: nothing, half of the cells, more of them, finished."""
    topic, contexts = load_topic("gender"), load_contexts("paper-gender")
    with served(tmp_path) as address:
        page = watched(chromium).page
        page.goto(address)
        assert "no run below this folder yet" in page.locator("main").inner_text()
        info = ModelInfo(name="made:live", kind="causal", revision="none")
        record = new_record(info, topic, contexts, AuditSettings(replicates=100))
        record.chunk_size, record.words = 300, _words(topic.words)
        folder = tmp_path / "live"
        folder.mkdir()
        RunFolder(folder).write_record(record)
        page.get_by_text("made:live").wait_for()
        _part(folder, 0, 300, len(topic.words))
        page.get_by_text("300 of 1,200 cells").wait_for()
        page.get_by_role("link", name="made:live").click()
        page.get_by_text("half-finished").first.wait_for()
        assert "30 of 120 groups" in page.locator(".notice").inner_text()
        _part(folder, 300, 300, len(topic.words))
        page.locator(".notice").get_by_text("60 of 120 groups").wait_for()
        (folder / "scores" / ".part-000000600.parquet.tmp").write_bytes(b"half a file")
        _finish(folder, root / "second")
        page.locator(".notice").wait_for(state="detached")
        assert "made:live" in page.locator("h1").inner_text()


def _words(words: tuple[str, ...]) -> WordsRecord:
    tokens = {w: [w] for w in words}
    return WordsRecord(
        words=list(words), tokens=tokens, unwritable=[], same_tokens={}, restricted=[], shared={}
    )


def _part(folder: Path, first: int, n: int, words: int) -> None:
    """A part as an audit writes it."""
    logs = np.log(np.random.default_rng(first).dirichlet(np.ones(words), n) * 0.5)
    scores = WordScores(logs, np.full(n, np.log(0.5)), np.zeros(n))
    RunFolder(folder).write_scores([(np.arange(first, first + n), scores)])


def _finish(folder: Path, finished: Path) -> None:
    """Tables first, run.json last, as an audit does."""
    for name in ("preferences", "groups", "contexts"):
        shutil.copy(finished / f"{name}.parquet", folder / f".{name}")
        (folder / f".{name}").rename(folder / f"{name}.parquet")
    record = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    record["model"]["id"] = "made:live"
    (folder / ".run").write_text(json.dumps(record), encoding="utf-8")
    (folder / ".run").rename(folder / "run.json")
