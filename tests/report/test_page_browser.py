"""The static report in a real browser: from disk, with the network cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
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
from tests.report.made import hiring_run, made_half, made_run, with_floor

from clinometer.report import write_report
from clinometer.report.charts.look import PALETTE
from clinometer.runs import Run


@pytest.fixture(scope="module")
def report(small: Run, another: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_report([small, another], out)
    return out


@pytest.fixture(scope="module")
def one_run(small: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "one.html"
    write_report([small], out)
    return out


def opened(
    chromium: Any, file: Path, *, all_parts: bool = False, **options: Any
) -> Watched:
    """A page from disk, with the network cut; with `all_parts` nothing of it is folded."""
    seen = watched(chromium, offline=True, **options)
    seen.page.goto(file.as_uri())
    if all_parts:
        seen.page.evaluate(
            "document.querySelectorAll('details').forEach(d => { d.open = true; })"
        )
    return seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_works_offline_in_its_colours_for_everybody(
    chromium: Any, report: Path, scheme: str
) -> None:
    seen = opened(chromium, report, color_scheme=scheme)
    settled(seen.page)
    shade = 0 if scheme == "light" else 1
    shot = seen.page.locator("#first-2-spread .wide svg").screenshot()
    for name in ("m0", "m1"):
        assert pixels(chromium, shot, PALETTE[name][shade]) > 40, name
    assert pixels(chromium, shot, PALETTE["page"][shade], near=3) > 10_000
    assert seen.page.locator("h1").inner_text()
    seen.page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true; })"
    )
    assert axe_problems(seen.page) == []
    assert [r for r in seen.requests if not r.startswith(("file:", "data:"))] == []
    assert seen.errors == []


def test_every_figure_has_pixels_a_name_and_words(chromium: Any, report: Path) -> None:
    page = opened(chromium, report, all_parts=True).page
    figures = page.locator("figure")
    assert figures.count() >= 5
    for i in range(figures.count()):
        figure = figures.nth(i)
        drawing = figure.locator("svg:visible")
        assert len(drawing.get_attribute("aria-label")) > 30
        assert len(figure.locator("figcaption p").inner_text()) > 40
        assert drawing.bounding_box()["width"] > 280
        assert pixels(chromium, drawing.screenshot(), PALETTE["ink"][0], near=60) > 20
    mark = page.locator(".wide [data-tip]:visible").first
    mark.hover(force=True)
    assert page.locator("#tip").inner_text() == mark.get_attribute("data-tip")


SHOWN: dict[str, Callable[[Path], list[Run | Path]]] = {
    "half": lambda folder: [made_half(folder / "half")],
    "hiring": lambda _: [hiring_run(covered=0.1, Black_man=-0.15, Ashley_Chen=0.1)],
    "demo": lambda _: [with_floor(made_run(None, groups=120, contexts=10))],
    "race": lambda _: [made_run(None, groups=30, contexts=40, categories=5)],
    "four": lambda _: [
        made_run(None, groups=30, contexts=20, model=f"made/{i}", seed=i)
        for i in range(4)
    ],
}


@pytest.mark.parametrize("which", SHOWN)
def test_one_screen_and_two_sheets_of_paper(
    chromium: Any, tmp_path: Path, which: str
) -> None:
    file, runs = tmp_path / "page.html", SHOWN[which](tmp_path)
    write_report(runs, file)
    page = opened(chromium, file, viewport={"width": 1280, "height": 800}).page
    bottom = "document.getElementById('summary').getBoundingClientRect().bottom"
    # People in three panels, what each kind gets and what decides: a screen of 1,080 pixels.
    assert page.evaluate(bottom) <= (1080 if which == "hiring" else 800)
    assert file.stat().st_size < 1_500_000 * len(runs)
    assert page.pdf(format="A4").count(b"/Type /Page\n") == 2


def test_on_a_phone_the_groups_come_first_and_then_the_sentences(
    chromium: Any, one_run: Path
) -> None:
    page = opened(chromium, one_run, viewport=PHONE).page
    order = ["h1", ".lede", ".risk", "#first-1-groups", ".behind", "nav.contents"]
    tops = [page.locator(one).first.bounding_box()["y"] for one in order]
    assert tops == sorted(tops)


def test_a_chart_can_be_copied_and_its_data_taken(chromium: Any, one_run: Path) -> None:
    page = opened(chromium, one_run, accept_downloads=True).page
    with page.expect_download() as waiting:
        page.locator("#first-1-groups .tools a[download]").click()
    assert len(pd.read_csv(waiting.value.path())) == 30
    # A clipboard that refuses, as under some policies: the picture comes as a file.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    with page.expect_download() as waiting:
        page.locator("#first-1-groups button.copy").click()
    png = Path(waiting.value.path()).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert pixels(chromium, png, PALETTE["c0"][0]) > 200


def test_sorting_and_filtering(chromium: Any, report: Path) -> None:
    page = opened(chromium, report).page
    page.locator("details.run > summary").first.click()
    table = page.get_by_role("region", name="Groups", exact=True).first.locator(
        "table.sortable"
    )
    values = "els => els.map(e => Number(e.dataset.v))"
    cells = table.locator("tbody tr td:nth-child(2)")
    table.locator("th:nth-child(2) button").click()
    first = cells.evaluate_all(values)
    table.locator("th:nth-child(2) button").click()
    second = cells.evaluate_all(values)
    assert len(set(first)) > 20
    assert first == sorted(first, reverse=True)
    assert second == sorted(second)
    assert table.locator("th:nth-child(2)").get_attribute("aria-sort") == "ascending"
    contexts = page.locator("details.run section details:has(input[type=search])").first
    contexts.locator("summary").first.click()
    shown = contexts.locator("tbody tr:visible")
    assert shown.count() == 40
    sought = shown.last.locator("td").first.inner_text()
    box = contexts.locator("input[type=search]").first
    box.fill(sought)
    texts = shown.all_inner_texts()
    assert 0 < len(texts) < 40
    assert all(sought in text for text in texts)
    assert (
        f"{len(texts)} of 40 rows"
        in contexts.locator("[role=status]").first.inner_text()
    )
    box.fill("")
    assert shown.count() == 40


@pytest.mark.parametrize("window", [PHONE, ZOOMED], ids=["phone", "400 % zoom"])
def test_narrow_windows_get_their_own_charts(
    chromium: Any, report: Path, window: dict[str, int]
) -> None:
    page = opened(chromium, report, viewport=window).page
    assert overflow(page) <= 0
    assert page.locator("#first-1-risks .narrow svg").is_visible()
    assert not page.locator("#first-1-risks .wide svg").is_visible()
    scale = "e => e.getBoundingClientRect().width / e.viewBox.baseVal.width"
    assert (
        page.locator("#first-1-risks .narrow svg").evaluate(scale) > 0.85
    )  # text stays readable


def test_it_prints_light_and_everything_on_request(
    chromium: Any, one_run: Path
) -> None:
    page = opened(chromium, one_run, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 254)"
    page.evaluate("""window.print = () => {
      window.open = [...document.querySelectorAll('details')].every(d => d.open);
      window.all = document.documentElement.className;
    }""")
    page.emulate_media(media="screen")
    page.locator("#print-all").click()
    assert page.evaluate("window.open")
    assert page.evaluate("window.all") == "print-all"


def test_hostile_strings_are_text(chromium: Any, tmp_path: Path) -> None:
    write_report(
        [made_run(None, groups=12, contexts=12, hostile=True)], tmp_path / "report.html"
    )
    seen = opened(chromium, tmp_path / "report.html", all_parts=True)
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


def test_names_of_measures_explain_themselves(chromium: Any, one_run: Path) -> None:
    seen = opened(chromium, one_run)
    name = seen.page.locator(".lede abbr").first
    name.hover()
    tip = seen.page.locator("#tip")
    assert "how far an average answer is from the reference" in tip.inner_text()
    seen.page.mouse.move(2, 2)
    assert tip.is_hidden()
    name.focus()
    seen.page.keyboard.press("Shift+Tab")
    seen.page.keyboard.press("Tab")
    assert tip.is_visible()
    seen.page.keyboard.press("Escape")
    assert tip.is_hidden()
    headings = seen.page.locator("th abbr").all_inner_texts()
    assert {"R", "effective"} <= set(headings)
    assert seen.errors == []


def test_a_group_stands_out_in_all_charts(
    chromium: Any, one_run: Path, small: Run
) -> None:
    seen = opened(chromium, one_run)
    group = seen.page.locator("#first-1-groups .wide svg [data-tip]").first
    said = group.get_attribute("data-tip").split(":")[0]
    assert said in small.risks.groups
    group.dispatch_event("click")
    chosen = seen.page.locator("tr.chosen td:first-child").all_text_contents()
    assert set(chosen) == {said}
    dim = seen.page.locator("figure svg .other")
    assert dim.count() > 20
    tips = dim.evaluate_all("marks => marks.map(m => m.dataset.tip)")
    assert all(not tip.startswith(f"{said}:") for tip in tips)
    seen.page.keyboard.press("Escape")
    assert dim.count() == 0


def test_a_chart_has_a_link_and_is_saved_as_svg(chromium: Any, one_run: Path) -> None:
    seen = opened(chromium, one_run)
    place = seen.page.locator("details figure").first.get_attribute("id")
    seen.page.goto(f"{one_run.as_uri()}#{place}")
    seen.page.reload()
    figure = seen.page.locator(f"[id='{place}']")
    assert figure.is_visible()  # what it is folded into is open
    assert figure.locator("a.here").get_attribute("href") == f"#{place}"
    with seen.page.expect_download() as saving:
        figure.locator("button.svg").click()
    svg = Path(saving.value.path()).read_text(encoding="utf-8")
    assert saving.value.suggested_filename == f"{place}.svg"
    assert svg.startswith("<svg")
    assert "var(" not in svg
