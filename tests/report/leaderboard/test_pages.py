"""The pages of a leaderboard: complete, linked, escaped; and in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.browser import PHONE, axe_problems, overflow, pixels, settled, watched
from tests.command import Clinometer
from tests.report.made import made_run

from clinometer.report.charts.style import PALETTE
from clinometer.report.leaderboard import collect, write_leaderboard


def test_every_link_leads_to_a_file(board: Path) -> None:
    pages = [board / "index.html", *sorted((board / "models").glob("*.html"))]
    assert len(pages) == 5
    for page in pages:
        text = page.read_text(encoding="utf-8")
        links = set(re.findall(r'href="([^"#:]+)"', text))
        assert links
        for link in links:
            assert (page.parent / link).is_file(), (page.name, link)


def test_the_numbers_as_json(board: Path) -> None:
    found = json.loads((board / "leaderboard.json").read_text(encoding="utf-8"))
    first = found["boards"][0]
    assert [run["ranks"]["R"]["rank"] for run in first["runs"]] == [1, 2, 3, 4, 5]
    for run in first["runs"]:
        assert sum(run["ranks"]["R"]["probability"]) == pytest.approx(1)


def test_a_reference_model_is_shown_and_not_ranked(clinometer: Clinometer, tmp_path: Path) -> None:
    out = tmp_path / "site"
    assert clinometer("audit", "reference:random", "--out", tmp_path / "run").status == 0
    named = ("--leaderboard", "--title", "One & only")
    done = clinometer("report", tmp_path / "run", "--out", out, *named)
    assert done.status == 0, done.err
    text = (out / "index.html").read_text(encoding="utf-8")
    assert "One &amp; only" in text
    assert ">reference</td>" in text
    refused = clinometer("report", tmp_path / "nowhere", "--leaderboard")
    assert refused.status == 2
    assert refused.err.count("\n") == 1


def test_hostile_names_are_text(chromium: Any, tmp_path: Path) -> None:
    for i in range(2):
        made_run(tmp_path / f"{i}", groups=12, contexts=12, hostile=True, seed=i)
    boards, _ = collect([tmp_path], replicates=100)
    write_leaderboard(boards, tmp_path / "site", title='<script>document.title="pwned"</script>')
    for page in (tmp_path / "site").rglob("*.html"):
        seen = watched(chromium, offline=True)
        seen.page.goto(page.as_uri())
        settled(seen.page)
        assert "pwned" not in seen.page.title() or "<script>" in seen.page.title()
        assert seen.errors == []
        assert seen.page.locator("img").count() == 0
        assert seen.page.locator("th button").count()  # the script ran


def test_filters_hide_rows_and_points_alike(chromium: Any, board: Path) -> None:
    seen = watched(chromium, offline=True, viewport={"width": 1280, "height": 900})
    page = seen.page
    page.goto((board / "index.html").as_uri())
    shown = "els => els.filter(e => e.getClientRects().length).length"
    rows, points = page.locator("tr[data-name]"), page.locator(".wide [data-point] [data-tip]")
    assert (rows.evaluate_all(shown), points.evaluate_all(shown)) == (6, 6)
    page.locator("#q").fill("m1")
    assert (rows.evaluate_all(shown), points.evaluate_all(shown)) == (2, 2)
    assert page.locator("#found").inner_text() == "2 of 6 runs"
    page.locator("#board").select_option(index=2)
    assert rows.evaluate_all(shown) == 1
    assert page.locator("section.board-section:visible").count() == 1
    page.locator("#q").fill("")
    page.locator("#board").select_option("")
    page.locator("#board-1 thead button", has_text="Rᵇ bias").click()
    values = page.locator("#board-1 tbody tr td:nth-child(4)").evaluate_all(
        "els => els.map(e => Number(e.dataset.v))"
    )
    assert values == sorted(values, reverse=True)
    page.locator("#board-1 .wide [data-point='models/made-m3.html'] [data-tip]").click()
    assert page.locator("h1").inner_text() == "made:m3"
    page.locator("header a").click()
    assert page.url.endswith("index.html")
    assert seen.errors == []
    assert [r for r in seen.requests if not r.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chart_has_its_colours_and_axe_finds_nothing(
    chromium: Any, board: Path, scheme: str
) -> None:
    page = watched(chromium, offline=True, color_scheme=scheme).page
    page.goto((board / "index.html").as_uri())
    shot = page.locator("#board-1-plane .wide svg").screenshot()
    shade = 0 if scheme == "light" else 1
    assert pixels(chromium, shot, PALETTE["bias"][shade]) > 400
    assert axe_problems(page) == []
    page.goto((board / "models" / "made-m0.html").as_uri())
    assert axe_problems(page) == []


def test_a_wide_screen_is_filled(chromium: Any, board: Path) -> None:
    page = watched(chromium, offline=True, viewport={"width": 1280, "height": 900}).page
    page.goto((board / "index.html").as_uri())
    plane, ranking = (page.locator(f"#board-1-{name} svg:visible") for name in ("plane", "ranking"))
    left, right = plane.bounding_box(), ranking.bounding_box()
    assert right["x"] > left["x"] + left["width"]
    assert right["x"] + right["width"] > 1180
    listed = page.locator("#board-1 tbody tr td:nth-child(2)").all_inner_texts()
    bars = ranking.locator("text").all_text_contents()
    assert [f"{i + 1} {name}" for i, name in enumerate(listed)] == [
        one for one in bars if one[0].isdigit() and "made:" in one
    ]


def test_a_phone_has_room_for_it(chromium: Any, board: Path) -> None:
    page = watched(chromium, offline=True, viewport=PHONE).page
    for name in ("index.html", "models/made-m1.html"):
        page.goto((board / name).as_uri())
        assert overflow(page) == 0
