"""Two people judge in real browsers by keyboard; the server dies under them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from benchmarks.annotate import Server
from tests.browser import PHONE, ZOOMED, axe_problems, overflow, settled, watched
from tests.web.annotation.conftest import serving

KEYS = {"y": "yes", "n": "no", "s": "skip"}


def enter(browser: Any, link: str, **options: Any) -> Any:
    seen = watched(browser, **options)
    seen.page.goto(link)
    button = seen.page.get_by_role("button", name="begin")
    if button.count():
        button.click()
    seen.page.locator("h1.sentence").wait_for()
    return seen


def far(page: Any, done: int, total: int = 20) -> None:
    page.locator("#far", has_text=f"{done} of {total}").wait_for()


def shown(page: Any) -> str:
    return str(page.locator("h1.sentence").get_attribute("data-item"))


def test_two_people_judge_and_nothing_is_lost(
    chromium: Any,
    dataset: Path,
    database: Path,
    tmp_path: Path,
    clinometer: Callable[..., Any],
) -> None:
    said: tuple[dict[str, str], dict[str, str]] = ({}, {})
    keys = (list(islice(cycle("yyn"), 20)), list(islice(cycle("ynys"), 20)))
    options = ("--annotators", 2, "--database", database)
    with serving(dataset, *options) as served:
        people = [enter(chromium, link) for link in served.links]
        first, second = (p.page for p in people)

        def press(step: int, *who: int) -> None:
            for i in who:  # both keys go down before either answer is waited for
                said[i][shown(people[i].page)] = KEYS[keys[i][step]]
                people[i].page.keyboard.press(keys[i][step])
            for i in who:
                far(people[i].page, step + 1)

        for step in range(5):
            press(step, 0, 1)
        before = shown(first)
        first.reload()
        assert shown(first) == before
        far(first, 5)
        first.keyboard.press("u")  # takes back the fifth, and says it otherwise
        far(first, 4)
        assert shown(first) == list(said[0])[-1]
        keys[0][4] = "s"
        press(4, 0)
        for step in range(5, 10):
            press(step, 0, 1)

        served.kill()
        waiting = shown(first)
        first.keyboard.press("n")
        first.locator("#trouble", has_text="does not answer").wait_for()
        assert shown(first) == waiting  # the item stays until its answer is stored
        served.start()
        far(first, 11)
        said[0][waiting] = "no"
        second.reload()
        far(second, 10)
        press(10, 1)

        for step in range(11, 15):
            press(step, 0, 1)
        second.get_by_role("link", name="Stop").click()
        second.get_by_role("button", name="keep my answers").click()
        second.get_by_text("Your answers are kept.").wait_for()
        for step in range(15, 20):
            press(step, 0)
        first.get_by_text("Every item is judged.").wait_for()
        assert people[1].errors == []
        served.kill()  # once more, right after the last answer
        text = served.run("--export", tmp_path / "wide.csv", "--json")
    assert (len(said[0]), len(said[1])) == (20, 15)
    assert json.loads(text)["summary"]["judgements"] == 35
    with (tmp_path / "wide.csv").open(encoding="utf-8", newline="") as stream:
        rows = {row["id"]: row for row in csv.DictReader(stream)}
    for i in (0, 1):
        clicked = {k: "" if v == "skip" else v for k, v in said[i].items()}
        exported = {k: rows[k][f"annotator_{i + 1}"] for k in clicked}
        assert exported == clicked
        assert all(
            rows[k][f"annotator_{i + 1}"] == "" for k in rows if k not in clicked
        )

    both = [k for k in rows if {said[0].get(k), said[1].get(k)} <= {"yes", "no"}]
    same = sum(said[0][k] == said[1][k] for k in both) / len(both)
    found = json.loads(
        clinometer("reliability", "validate", tmp_path / "wide.csv", "--json").out
    )
    assert found["summary"]["judged_twice"] == len(both)
    assert found["summary"]["observed"]["value"] == pytest.approx(same)
    kept = [k for k in both if said[0][k] == said[1][k] == "yes"]
    assert found["summary"]["accepted"] == len(kept)


@pytest.fixture(scope="module")
def rating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("rating")
    path = folder / "many.csv"
    rows = "".join(f"{i},Sentence {i} & its <b>tags</b>.\n" for i in range(40))
    path.write_text("id,sentence\n" + rows, encoding="utf-8")
    with serving(path, "--mode", "rating", "--annotators", 20) as served:
        yield served


def test_ratings_by_key_comments_and_switching_keys_off(
    chromium: Any, rating: Server
) -> None:
    seen = enter(chromium, rating.links[0])
    page = seen.page
    page.keyboard.press("4")
    far(page, 1, 40)
    page.keyboard.press("c")
    page.keyboard.type("12345 <script>document.title='pwned'</script>")
    assert shown(page) == "1"  # keys are letters while one writes
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    far(page, 2, 40)
    page.get_by_label("Answer by key").uncheck()
    sent = len(seen.requests)
    page.keyboard.press("5")
    settled(page)
    assert len(seen.requests) == sent
    far(page, 2, 40)
    page.get_by_role("button", name="5 enough").click()
    far(page, 3, 40)
    page.get_by_role("link", name="Your answers").click()
    table = page.locator("table").inner_text()
    assert "12345 <script>" in table
    assert page.title() != "pwned"
    page.get_by_role("link", name="Sentence 1 & its <b>tags</b>.").click()
    assert page.locator("button.given").get_attribute("value") == "2"
    assert seen.errors == []


def test_without_script_the_forms_work(chromium: Any, rating: Server) -> None:
    page = enter(chromium, rating.links[1], java_script_enabled=False).page
    page.get_by_role("button", name="1 far too little").click()
    far(page, 1, 40)
    page.get_by_role("button", name="Undo").click()
    far(page, 0, 40)


def test_the_keyboard_is_enough(chromium: Any, rating: Server) -> None:
    page = enter(chromium, rating.links[2]).page
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "3":
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert page.evaluate(outline) == "solid"
            page.keyboard.press("Enter")
            far(page, 1, 40)
            return
    raise AssertionError("Tab does not reach the answers")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/judge", "/answers", "/stop", "/nothing"])
def test_axe_finds_nothing_serious_and_nothing_overflows_narrow_windows(
    chromium: Any, rating: Server, path: str, scheme: str
) -> None:
    if path == "/":
        page = watched(chromium, color_scheme=scheme).page
        page.goto(rating.links[3])
    else:
        page = enter(chromium, rating.links[4], color_scheme=scheme).page
        page.goto(rating.base + path)
    assert axe_problems(page) == []
    for window in (PHONE, ZOOMED):
        page.set_viewport_size(window)
        page.reload()
        assert overflow(page) <= 0
