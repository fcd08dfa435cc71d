"""The page: whole, offline, and everything in it escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tiltmeter.errors import RunError
from tiltmeter.report import render_report, write_report
from tiltmeter.runs import Run, audit
from tiltmeter.topics import Group, Topic

HOSTILE = ['<script>alert("x")</script>', '"><img src=x onerror=alert(1)>', "{{7*7}}", "\u202egnp"]


@pytest.fixture(scope="module")
def run() -> Run:
    topic = Topic(
        "hostile",
        groups=tuple(Group(text) for text in HOSTILE),
        attributes={"a": ("a",), "b": ("b",)},
    )
    return audit("reference:stereotyped", topic=topic, contexts="paper-gender")


def test_hostile_names_are_shown_as_text(run: Run) -> None:
    named = replace(run, record={**run.record, "model": {**run.record["model"], "id": HOSTILE[1]}})
    page = render_report([named])
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "{{7*7}}" in page
    assert "49" not in re.findall(r"<td>([^<]*)</td>", page)


def test_no_request_can_leave_the_page(run: Run) -> None:
    page = render_report([run])
    assert not re.search(r"<[^>]*(src|href)\s*=|url\(|@import|https?:", page)


def test_it_shows_references_and_the_model(run: Run) -> None:
    page = render_report([run])
    for text in ("Ideally unbiased", "Randomly stereotyped", "reference:stereotyped", "1.000"):
        assert text in page


def test_no_run_and_no_place(run: Run, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="at least one run"):
        render_report([])
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(RunError, match="cannot be written"):
        write_report([run], tmp_path / "file" / "page.html")
