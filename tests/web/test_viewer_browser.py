"""The viewer in a real browser: clicks, keyboard, phones, zoom, axe, a run being written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser import (
    PHONE,
    ZOOMED,
    Watched,
    axe_problems,
    overflow,
    pixels,
    settled,
    watched,
)
from tests.report.made import add_part, started
from tests.web.conftest import served

from clinometer.display.numbers import percent
from clinometer.report.cell_statistics import sentence
from clinometer.report.charts.look import PALETTE
from clinometer.runs import Run

PAGES = {
    "list": "/",
    "run": "/run?id=second",
    "worst": "/run?id=second#list=worst",
    "sentence": "/run?id=second#group=accountant&tab=sentence",
    "contexts": "/run?id=second#list=contexts",
    "hostile": "/run?id=hostile",
    "hostile worst": "/run?id=hostile#list=worst",
    "hostile contexts": "/run?id=hostile#list=contexts",
    "error": "/run?id=nothing",
}


def ready(page: Any) -> None:
    """After the pictures of a page have been drawn, if it has any."""
    page.wait_for_function(
        # a function: the pages' policy lets no text be evaluated
        "() => !document.querySelector('#explorer') || "
        "document.querySelector('#explorer[data-ready]')"
    )
    settled(page)


def opened(chromium: Any, address: str, path: str, **options: Any) -> Watched:
    seen = watched(chromium, **options)
    seen.page.goto(address + path)
    ready(seen.page)
    return seen


def test_three_clicks_from_the_list_to_the_strongest_sentence(
    chromium: Any, address: str
) -> None:
    seen = opened(chromium, address, "/")
    page = seen.page
    page.get_by_role("link", name="pocket:gpt2-s").click()
    ready(page)
    page.get_by_role("button", name="Strongest sentences").click()
    page.locator(".rows button").first.click()
    large = page.locator(".large").inner_text()
    assert large.startswith("The ")
    word = page.locator(".words li").first
    word.wait_for()
    assert "%" in word.inner_text()
    assert page.locator(".large b").inner_text().strip()  # the word it writes
    again = opened(
        chromium, address, page.url.removeprefix(address)
    ).page  # a link leads back
    again.locator(".words li").first.wait_for()
    assert again.locator(".large").inner_text() == page.locator(".large").inner_text()
    page.go_back()
    page.wait_for_function("() => !location.hash.includes('group=')")
    page.get_by_text("The strongest of 6 answers").wait_for()  # as it opened
    assert seen.errors == []
    assert all(r.startswith((address, "data:")) for r in seen.requests)


def test_the_list_says_what_was_found(chromium: Any, address: str, root: Path) -> None:
    page = opened(chromium, address, "/").page
    assert "4 runs" in page.locator("h1").inner_text()
    page.locator(".filter input").fill("made:other")
    row = page.locator("tbody tr:visible")
    row.get_by_text("leans clearly").wait_for()
    assert (
        row.locator(".finding").inner_text()
        == Run.load(root / "second").findings[0].text
    )
    assert "effective" in row.inner_text()
    page.locator(".filter input").fill("")
    page.locator("thead th:nth-child(3) button").click()
    risks = page.locator("tbody td:nth-child(3)").evaluate_all(
        "all => all.map((e) => e.dataset.v)"
    )
    assert [*map(float, risks)] == sorted(map(float, risks), reverse=True)


def test_a_run_opens_with_its_strongest_sentence(
    chromium: Any, address: str, root: Path
) -> None:
    page = opened(chromium, address, "/run?id=second").page
    shown = page.locator(".large").inner_text()
    page.get_by_role("button", name="Strongest sentences").click()
    said = page.locator(".rows button").first.get_attribute("aria-label")
    assert shown.startswith(said.split("___")[0])
    p = Run.load(root / "second").preferences
    trusted = np.where(p.low_coverage[..., None], np.nan, p.values)
    x, c, y = np.unravel_index(int(np.nanargmax(trusted)), trusted.shape)
    assert p.groups[x] in said
    assert f"{p.categories[y]} {percent(float(trusted[x, c, y]))}" in said


def test_every_sentence_is_the_one_that_was_asked(
    chromium: Any, address: str, root: Path
) -> None:
    page = opened(chromium, address, "/run?id=real").page
    shown = page.evaluate("""async () => {
      const { fromAddress } = await import("/static/explorer.js");
      const run = await fromAddress("/data?id=real");
      return run.groups.map((_, x) => run.contexts.map((_, c) => run.sentence(x, c)));
    }""")
    run = Run.load(root / "real")
    for x, row in enumerate(shown):
        for c, (before, after) in enumerate(row):
            assert (before, after) == sentence(run, x, c)


def test_the_keyboard_reaches_everything(chromium: Any, address: str) -> None:
    page = opened(chromium, address, "/run?id=second").page
    page.keyboard.press("j")
    first = page.evaluate("location.hash")
    assert "group=" in first
    page.keyboard.press("j")
    second = page.evaluate("location.hash")
    assert second != first
    page.keyboard.press("k")
    assert page.evaluate("location.hash") == first
    page.keyboard.press("/")
    page.keyboard.type("account")
    assert page.locator(".rows li").count() == 1
    assert "q=account" in page.evaluate("location.hash")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").is_visible()
    page.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    assert "context=" in page.evaluate("location.hash")
    page.keyboard.press("m")
    page.wait_for_url("**/run?id=a%2Ffirst#**")
    ready(page)
    assert "q=account" in page.url


def test_sorting_searching_and_clear_leans_live_in_the_address(
    chromium: Any, address: str
) -> None:
    page = opened(chromium, address, "/run?id=second").page
    page.get_by_label("Sort by").select_option("name")
    names = page.locator(".rows .name").all_inner_texts()
    assert names == sorted(names)
    assert len(names) == 12
    page.get_by_label("clear leans only").check()
    clear = page.locator(".rows li").count()
    assert 0 < clear < 12
    again = opened(chromium, address, page.url.removeprefix(address)).page
    assert again.locator(".rows li").count() == clear
    assert again.get_by_label("clear leans only").is_checked()


def test_the_map_is_drawn_in_the_colours_of_the_categories(
    chromium: Any, address: str
) -> None:
    for shade, scheme in enumerate(("light", "dark")):
        page = opened(chromium, address, "/run?id=second", color_scheme=scheme).page
        canvas = page.locator("canvas")
        box, shot = canvas.bounding_box(), canvas.screenshot()
        blank = pixels(chromium, shot, PALETTE["page"][shade], near=2)
        assert blank < 0.6 * box["width"] * box["height"]


def test_a_drag_zooms_and_pointing_reads_the_sentence(
    chromium: Any, address: str
) -> None:
    page = opened(chromium, address, "/run?id=second").page
    box = page.locator("canvas").bounding_box()
    left, top = box["x"] + 130, box["y"] + 60
    page.mouse.move(left, top)
    page.wait_for_function(
        "() => document.querySelector('.reads').textContent.includes('___')"
    )
    assert "The " in page.locator(".reads").inner_text()
    page.mouse.down()
    page.mouse.move(left + 120, top + 120, steps=4)
    page.mouse.up()
    page.wait_for_function("() => location.hash.includes('brush=')")
    assert page.locator(".rows li").count() < 12
    page.get_by_role("button", name="Show all").click()
    assert page.locator(".rows li").count() == 12
    page.mouse.click(left, top)
    assert "context=" in page.evaluate("location.hash")
    page.locator(".large").wait_for()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_for_everybody_on_any_window_and_run_no_script_of_others(
    chromium: Any, address: str, name: str, scheme: str
) -> None:
    seen = opened(chromium, address, PAGES[name], color_scheme=scheme)
    page = seen.page
    assert axe_problems(page) == []
    if "hostile" in name:
        page.keyboard.press("j")
        page.locator("canvas").hover()
        settled(page)
        assert "\u202e" not in page.locator("main").inner_text()
    assert page.title() != "pwned"
    assert page.evaluate("document.images.length") == 0
    assert all(r.startswith((address, "data:")) for r in seen.requests)
    assert name == "error" or seen.errors == []
    for window in (PHONE, ZOOMED):
        page.set_viewport_size(window)
        page.reload()
        ready(page)
        assert overflow(page) <= 0


def test_an_unfinished_run_is_shown(chromium: Any, tmp_path: Path, root: Path) -> None:
    """The open pages follow: nothing, half of the cells, more of them, finished."""
    with served(tmp_path) as address:
        page = watched(chromium).page
        page.goto(address)
        assert "no run below this folder yet" in page.locator("main").inner_text()
        folder = started(tmp_path / "live", "made:live", 300)
        page.get_by_role("link", name="made:live").wait_for()
        add_part(folder, 0, 300)
        page.get_by_text("300 of 1,200 cells").wait_for()
        page.get_by_role("link", name="made:live").click()
        page.get_by_text("Interrupted.").wait_for()
        assert "30 of 120 groups" in page.locator(".notice").inner_text()
        ready(page)
        assert page.locator(".rows li").count() == 30
        add_part(folder, 300, 300)
        page.locator(".notice").get_by_text("60 of 120 groups").wait_for()
        (folder / "scores" / ".part-000000600.parquet.tmp").write_bytes(b"half a file")
        _finish(folder, root / "second")
        page.locator(".notice").wait_for(state="detached")
        assert "made:live" in page.locator("h1").inner_text()


def _finish(folder: Path, finished: Path) -> None:
    """Tables first, run.json last, as an audit does."""
    for name in ("preferences", "groups", "contexts"):
        shutil.copy(finished / f"{name}.parquet", folder / f".{name}")
        (folder / f".{name}").rename(folder / f"{name}.parquet")
    record = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    record["model"]["id"] = "made:live"
    (folder / ".run").write_text(json.dumps(record), encoding="utf-8")
    (folder / ".run").rename(folder / "run.json")
