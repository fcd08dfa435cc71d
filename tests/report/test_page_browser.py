"""The static report in a real browser: from disk, with the network cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.browser import PHONE, ZOOMED, axe_problems, overflow, pixels, settled, watched
from tests.report.made import made_run

from clinometer.report import write_report
from clinometer.report.charts.style.theme import PALETTE
from clinometer.runs import Run


@pytest.fixture(scope="module")
def report(small: Run, another: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_report([small, another], out)
    return out


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    run = made_run(folder / "run", groups=12, contexts=12, hostile=True)
    write_report([run], folder / "report.html")
    return folder / "report.html"


def test_the_page_works_offline_without_requests(chromium: Any, report: Path) -> None:
    seen = watched(chromium, offline=True)
    seen.page.goto(report.as_uri())
    settled(seen.page)
    assert [r for r in seen.requests if not r.startswith(("file:", "data:"))] == []
    assert seen.errors == []
    assert seen.page.locator("h1").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_use_the_colours_of_the_page(chromium: Any, report: Path, scheme: str) -> None:
    seen = watched(chromium, offline=True, color_scheme=scheme)
    seen.page.goto(report.as_uri())
    shade = 0 if scheme == "light" else 1
    shot = seen.page.locator("#all-risks .wide svg").screenshot()
    for name, least in (("bias", 2000), ("volatility", 300)):
        assert pixels(chromium, shot, PALETTE[name][shade]) > least, name
    assert pixels(chromium, shot, PALETTE["page"][shade], near=3) > 20_000
    heat = seen.page.locator("figure[id$='-heat'] .wide svg image").first
    box = heat.bounding_box()
    blank = pixels(chromium, heat.screenshot(), PALETTE["page"][shade], near=3)
    assert blank < 0.3 * box["width"] * box["height"]  # most of the map is coloured


def test_every_figure_has_pixels_a_name_and_words(chromium: Any, report: Path) -> None:
    seen = watched(chromium, offline=True)
    seen.page.goto(report.as_uri())
    figures = seen.page.locator("figure")
    assert figures.count() >= 14
    for i in range(figures.count()):
        figure = figures.nth(i)
        drawing = figure.locator(".wide svg")
        assert len(drawing.get_attribute("aria-label")) > 30
        caption = figure.locator("figcaption p").inner_text()
        assert "n = " in caption
        assert "n_eff" in caption
        box = drawing.bounding_box()
        assert box["width"] > 500
        assert pixels(chromium, drawing.screenshot(), PALETTE["ink"][0], near=60) > 60


def test_sorting_and_filtering(chromium: Any, report: Path) -> None:
    page = watched(chromium, offline=True).page
    page.goto(report.as_uri())
    groups = page.locator("section details:has(input[type=search])").first
    groups.locator("summary").first.click()
    table = groups.locator("table.sortable")
    values = "els => els.map(e => Number(e.dataset.v))"
    cells = table.locator("tbody tr td:nth-child(2)")
    table.locator("th:nth-child(2) button").click()
    first = cells.evaluate_all(values)
    table.locator("th:nth-child(2) button").click()
    second = cells.evaluate_all(values)
    assert first == sorted(first, reverse=True)
    assert second == sorted(second)
    assert table.locator("th:nth-child(2)").get_attribute("aria-sort") == "ascending"
    box = page.locator("section details[open] input[type=search]").first
    box.fill("baker")
    shown = table.locator("tbody tr:visible")
    assert shown.count() == 1
    assert "baker" in shown.first.inner_text()
    assert "1 of 30 rows" in page.locator("section details[open] [role=status]").first.inner_text()
    box.fill("")
    assert table.locator("tbody tr:visible").count() == 30


def test_hovering_over_a_mark_shows_its_tooltip(chromium: Any, report: Path) -> None:
    page = watched(chromium, offline=True).page
    page.goto(report.as_uri())
    mark = page.locator("#all-risks .wide [data-tip]").first
    mark.hover()
    assert "bias" in page.locator("#tip").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Any, report: Path, scheme: str) -> None:
    page = watched(chromium, offline=True, color_scheme=scheme).page
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert axe_problems(page) == []


@pytest.mark.parametrize("window", [PHONE, ZOOMED], ids=["phone", "400 % zoom"])
def test_narrow_windows_get_their_own_charts(
    chromium: Any, report: Path, window: dict[str, int]
) -> None:
    page = watched(chromium, offline=True, viewport=window).page
    page.goto(report.as_uri())
    assert overflow(page) <= 0
    assert page.locator("#all-risks .narrow svg").is_visible()
    assert not page.locator("#all-risks .wide svg").is_visible()
    scale = "e => e.getBoundingClientRect().width / e.viewBox.baseVal.width"
    assert page.locator("#all-risks .narrow svg").evaluate(scale) > 0.85  # text stays readable


def test_the_page_prints_expanded_and_light(chromium: Any, report: Path) -> None:
    page = watched(chromium, offline=True, color_scheme="dark").page
    page.goto(report.as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 254)"
    assert len(page.pdf()) > 50_000
    assert page.evaluate("[...document.querySelectorAll('details')].every(d => d.open)")


def test_hostile_strings_are_text(chromium: Any, hostile: Path) -> None:
    seen = watched(chromium, offline=True)
    seen.page.goto(hostile.as_uri())
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    settled(seen.page)
    assert "pwned" not in seen.page.title().split("·")[0] or "<" in seen.page.title()
    assert seen.page.evaluate("document.images.length") == 0
    assert seen.page.evaluate("document.scripts.length") == 1
    assert seen.errors == []
    assert [r for r in seen.requests if not r.startswith(("file:", "data:"))] == []
    text = seen.page.locator("main").inner_text()
    assert "{{7*7}}" in text
    assert "<script>" in text
    assert "[U+202E]" in text
    assert "\u202e" not in text
    assert overflow(seen.page) <= 0
    assert axe_problems(seen.page) == []
