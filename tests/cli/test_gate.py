"""clinometer gate, as a user types it: verdicts, exit statuses, JSON and Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import Clinometer, refused
from tests.preferences import write_shares
from tests.report.made import made_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    for name, lean, seed in (("base", 0.3, 0), ("alike", 0.3, 1), ("worse", 2.0, 2)):
        made_run(folder / name, groups=3, contexts=120, lean=lean, seed=seed)
    return folder


@pytest.mark.parametrize(
    ("run", "margin", "status", "verdict"),
    [
        ("base", 0.02, 0, "not worse"),
        ("worse", 0.02, 1, "worse"),
        ("worse", 0.33, 3, "cannot tell"),
        ("alike", 0.9, 0, "not worse"),
    ],
)
def test_the_exit_status_is_the_verdict(
    clinometer: Clinometer,
    runs: Path,
    run: str,
    margin: float,
    status: int,
    verdict: str,
) -> None:
    asked = ("gate", runs / run, "--baseline", runs / "base", "--margin", margin)
    done = clinometer(*asked)
    assert done.status == status, done.err
    assert f": {verdict}" in done.out
    assert (
        done.err == ""
        if status == 0
        else done.err.startswith(f"clinometer: {verdict}: ")
    )
    found = json.loads(clinometer(*asked, "--json").out)
    assert (found["verdict"], found["exit_status"]) == (verdict, status)
    assert [one["what"] for one in found["rows"]] == ["R", "R_bias"]


def test_markdown_of_a_run_within_its_limits_says_so(
    clinometer: Clinometer, runs: Path, tmp_path: Path
) -> None:
    file = tmp_path / "gate.md"
    within = clinometer(
        "gate", runs / "base", "--fail-above", "R=1", "--markdown", file
    )
    assert within.status == 0, within.err
    text = file.read_text(encoding="utf-8")
    assert text.startswith("- ")
    assert text.endswith("is within its limits.\n")


def test_markdown_and_several_measures(
    clinometer: Clinometer, runs: Path, tmp_path: Path
) -> None:
    file = tmp_path / "new" / "gate.md"
    measures = ("--measure", "R_bias", "--measure", "R_volatility")
    done = clinometer(
        "gate",
        runs / "worse",
        "-b",
        runs / "base",
        "--markdown",
        file,
        *measures,
        "--json",
    )
    found = json.loads(done.out)
    assert [one["what"] for one in found["rows"]] == ["R_bias", "R_volatility"]
    assert found["reason"].replace("−", "-")[:20] in file.read_text("utf-8").replace(
        "−", "-"
    )


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (("--fail-above", "R=0.01"), 1),
        (("--fail-above", "R=0.99"), 0),
        (("--fail-above", "R=0.99", "--min-coverage", "0.5"), 0),
        (("--fail-above", "R=0.01", "--baseline", "base"), 1),
        (("--fail-above", "R=0.99", "--baseline", "base"), 0),
        ((), 2),
        (("--fail-above", "Q=1"), 2),
    ],
)
def test_limits_need_no_baseline(
    clinometer: Clinometer,
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[str, ...],
    status: int,
) -> None:
    monkeypatch.chdir(runs)
    done = clinometer("gate", "base", *limits, "--json")
    assert done.status == status, done.err
    if status < 2:
        assert bool(json.loads(done.out)["beyond"]) == (status == 1)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--margin", 0), "margin: expected a number above 0"),
        (("--measure", "Q"), "expected some of R"),
        (("--align", "sideways"), "--align: expected same or common"),
        (("--clusters", "predicate"), "predicate"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(
    clinometer: Clinometer, runs: Path, more: tuple[object, ...], said: str
) -> None:
    refused(
        clinometer("gate", runs / "worse", "--baseline", runs / "base", *more), said
    )
    assert clinometer("gate", runs / "nowhere", "--baseline", runs / "base").status == 2


def test_the_default_is_the_lower_end(tmp_path: Path, clinometer: Clinometer) -> None:
    table = write_shares(
        tmp_path / "t.csv", *np.random.default_rng(0).uniform(0.5, 0.9, (2, 12))
    )
    R = json.loads(clinometer("import", "table", table, "--json").out)["summary"]["R"]
    between = f"R={(R['low'] + R['value']) / 2}"
    limited = ("import", "table", table, "--fail-above")
    assert clinometer(*limited, between).status == 0
    for end, status in (("point", 1), ("high", 1), ("low", 0), ("middle", 2)):
        assert clinometer(*limited, between, "--fail-on", end).status == status
    below = clinometer(*limited, f"R={R['low'] / 2}")
    assert below.status == 1
    assert "the lower end of its 95 % interval" in below.err
    assert clinometer(*limited, "R_between=0.9").status == 0
    assert clinometer(*limited, "R_between=0.0001").status == 1
    refused(clinometer(*limited, "other=0.5"), "other of t.csv is not measured")
