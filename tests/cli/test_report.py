"""clinometer report and view as typed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import httpx
import pytest
from tests.command import Clinometer, refused
from tests.present import present
from tests.processes import PATIENCE_S, serving
from tests.report.made import made_run

from clinometer.runs import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made_run(tmp_path_factory.mktemp("r") / "run", groups=120, contexts=12)


@pytest.mark.usefixtures("undrawn")
def test_a_page_with_social_factors(
    clinometer: Clinometer, run: Run, tmp_path: Path
) -> None:
    done = clinometer("report", run.path, "--out", tmp_path / "page.html")
    assert (done.status, done.err) == (0, "")
    assert "page.html" in done.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "median pay, US$ a year" in page
    assert "our count in 13,000 articles of the English Wikipedia" in page
    assert "No chart" not in page


@pytest.mark.parametrize(
    ("out", "holds"),
    [("t.md", "| model |"), ("t.TEX", "longtable"), ("t.json", '"r_bias"')],
)
def test_the_ending_says_the_format(
    clinometer: Clinometer, run: Run, tmp_path: Path, out: str, holds: str
) -> None:
    assert clinometer("report", run.path, "--out", tmp_path / out).status == 0
    text = (tmp_path / out).read_text(encoding="utf-8")
    assert holds in text
    assert "<html" not in text


def test_charts_are_exported_as_files(clinometer: Clinometer, tmp_path: Path) -> None:
    made_run(tmp_path / "run", groups=6, contexts=12)
    done = clinometer("report", tmp_path / "run", "--out", tmp_path / "svg" / "x.svg")
    assert done.status == 0
    files = {f.stem for f in (tmp_path / "svg").glob("*.svg")}
    assert {"x-groups", "x-swing", "x-distribution"} <= files
    swing = (tmp_path / "svg" / "x-swing.svg").read_text(encoding="utf-8")
    assert "effective" in swing
    assert "The most swinging" in swing


@pytest.mark.usefixtures("undrawn")
def test_a_damaged_run_is_reported_in_one_line(
    clinometer: Clinometer, run: Run, tmp_path: Path
) -> None:
    old = Path(shutil.copytree(present(run.path), tmp_path / "old"))
    record = json.loads((old / "run.json").read_text(encoding="utf-8"))
    (old / "run.json").write_text(
        json.dumps({**record, "schema_version": 0}), encoding="utf-8"
    )
    done = clinometer("report", run.path, old, "--out", tmp_path / "page.html")
    assert done.status == 0
    assert "schema version" in done.err
    assert len(done.err.splitlines()) == 1
    (old / "run.json").write_text("{", encoding="utf-8")
    done = clinometer("report", old, "--out", tmp_path / "page.html")
    assert done.status == 2
    assert "damaged" in done.err


def test_wrong_options_are_one_line(
    clinometer: Clinometer, run: Run, tmp_path: Path
) -> None:
    for wrong, said in (
        ((run.path, "--out", "x.pdf"), ".html, .md"),
        ((run.path, "--out", "x"), "no ending"),
        ((run.path, "--out", "x.html.gz"), ".html, .md, .tex, .json, .csv, .svg, .png"),
        ((run.path, "--out", "x.md", "--interactive"), "interactive"),
        ((tmp_path / "nothing",), "no such run folder"),
    ):
        refused(clinometer("report", *wrong), said)
    assert clinometer("view", tmp_path / "nothing").status == 2


def test_view_listens_locally_until_it_is_stopped(run: Run) -> None:
    command = [
        sys.executable,
        "-m",
        "clinometer",
        "view",
        present(run.path).parent,
        "--port",
        "0",
    ]
    with (
        serving([*command, "--no-browser"]) as address,
        httpx.Client(follow_redirects=True, timeout=PATIENCE_S) as browser,
    ):
        assert address.startswith("http://127.0.0.1:")
        assert browser.get(address.partition("?")[0]).status_code == 403  # another user
        assert "1 run<" in browser.get(address).text
