"""clinometer report and view as typed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.processes import PATIENCE_S
from tests.report.made import made_run

from clinometer.runs import Run, RunFolder
from clinometer.studies.factors import builtin_factors


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made_run(tmp_path_factory.mktemp("r") / "run", groups=120, contexts=12)


@pytest.mark.usefixtures("undrawn")
def test_a_page_with_social_factors(
    clinometer: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    done = clinometer("report", run.path, "--out", tmp_path / "page.html")
    assert (done.status, done.err) == (0, "")
    assert "page.html" in done.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "median pay, US$ a year" in page
    assert "our count in 13,000 articles of the English Wikipedia" in page
    assert "No chart" not in page


@pytest.mark.usefixtures("undrawn")
def test_a_factor_without_a_chart_is_named(
    clinometer: Callable[..., Any], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = builtin_factors().assign(mean_years_education=float("nan"))
    monkeypatch.setattr("clinometer.studies.factors.builtin_factors", lambda: unknown)
    clinometer("report", run.path, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "No chart against mean years of education: " in page
    assert "No chart against median pay" not in page


@pytest.mark.parametrize(
    ("out", "file", "holds"),
    [
        ("t.md", "t.md", "| model |"),
        ("t.TEX", "t.TEX", "longtable"),
        ("t.json", "t.json", '"r_bias"'),
        ("t.csv", "t-groups.csv", "r_bias"),
    ],
)
def test_the_ending_says_the_format(
    clinometer: Callable[..., Any], run: Run, tmp_path: Path, out: str, file: str, holds: str
) -> None:
    assert clinometer("report", run.path, "--out", tmp_path / out).status == 0
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert holds in text
    assert "<html" not in text


def test_charts_are_exported_as_files(clinometer: Callable[..., Any], tmp_path: Path) -> None:
    made_run(tmp_path / "run", groups=6, contexts=12)
    done = clinometer("report", tmp_path / "run", "--out", tmp_path / "svg" / "x.svg")
    assert done.status == 0
    files = {f.stem for f in (tmp_path / "svg").glob("*.svg")}
    assert {"x-groups", "x-swing", "x-distribution"} <= files
    assert "effective" in (tmp_path / "svg" / "x-swing.svg").read_text(encoding="utf-8")


@pytest.mark.usefixtures("undrawn")
def test_a_damaged_run_is_reported_in_one_line(
    clinometer: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    assert run.path is not None
    old = Path(shutil.copytree(run.path, tmp_path / "old"))
    record = json.loads((old / "run.json").read_text(encoding="utf-8"))
    (old / "run.json").write_text(json.dumps({**record, "schema_version": 0}), encoding="utf-8")
    done = clinometer("report", old, "--out", tmp_path / "page.html")
    assert done.status == 0
    assert "another schema" in done.err
    assert len(done.err.splitlines()) == 1
    (old / "run.json").write_text("{", encoding="utf-8")
    (old / "groups.parquet").unlink()
    done = clinometer("report", old, "--out", tmp_path / "page.html")
    assert done.status == 2
    assert "damaged" in done.err


def test_wrong_options_are_one_line(
    clinometer: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    for wrong, said in (
        ((run.path, "--out", "x.pdf"), ".html, .md"),
        ((run.path, "--out", "x"), "no ending"),
        ((run.path, "--out", "x.md", "--interactive"), "interactive"),
        ((tmp_path / "nothing",), "no such run folder"),
    ):
        done = clinometer("report", *wrong)
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert said in done.err
    assert clinometer("view", tmp_path / "nothing").status == 2


def test_view_listens_locally_until_it_is_stopped(run: Run) -> None:
    import httpx

    assert run.path is not None
    code = "from clinometer.cli import main; main()"
    command = [sys.executable, "-c", code, "view", str(run.path.parent), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"(http://127\.0\.0\.1:\d+/)\?token=\S+", line)
        assert address is not None, line
        with httpx.Client(follow_redirects=True, timeout=PATIENCE_S) as browser:
            assert browser.get(address[1]).status_code == 403  # another user of this machine
            assert "1 run<" in browser.get(address[0]).text
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in errors


@pytest.fixture
def mixed(tmp_path: Path) -> list[Path]:
    """Two runs of the same questions, one of them with intervals by clusters."""
    folders = [tmp_path / "plain", tmp_path / "clustered"]
    for seed, folder in enumerate(folders):
        run = made_run(folder, groups=6, contexts=12, model=folder.name, seed=seed, orders=2)
    settings = replace(run.record.settings, clusters="wording")
    record = run.record.model_copy(update={"settings": settings})
    Run.measured(record, run.preferences, settings, folder=RunFolder(folders[1]))
    return folders


@pytest.mark.usefixtures("undrawn")
def test_a_report_says_that_intervals_rest_on_different_units(
    clinometer: Callable[..., Any], mixed: list[Path], tmp_path: Path
) -> None:
    done = clinometer("report", *mixed, "--out", tmp_path / "page.html")
    said = "contexts for plain, clusters of contexts by wording for clustered"
    assert said in done.err
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")
    clinometer("report", *mixed, "--out", tmp_path / "page.md")
    assert said in (tmp_path / "page.md").read_text(encoding="utf-8")
    alone = clinometer("report", mixed[0], "--out", tmp_path / "one.md")
    assert alone.err == ""


def test_a_comparison_says_so_too(clinometer: Callable[..., Any], mixed: list[Path]) -> None:
    shown = clinometer("compare", *mixed).out
    assert "by wording for clustered" in shown
    assert "This comparison resamples contexts for all of them." in shown
    found = json.loads(clinometer("compare", *mixed, "--json").out)
    assert "by wording for clustered" in found["notes"][0]
    file = mixed[1] / "run.json"
    alike = file.read_text(encoding="utf-8").replace('"clusters": "wording"', '"clusters": null')
    file.write_text(alike, encoding="utf-8")
    assert json.loads(clinometer("compare", *mixed, "--json").out)["notes"] == []
