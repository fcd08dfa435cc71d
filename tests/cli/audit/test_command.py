"""clinometer audit: where a run is kept, what is said of it, and one shape of JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import Clinometer

FEW = ("--groups", "nurse,cook,engineer")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_bare_audit_saves_its_run_and_says_where_and_what_next(
    clinometer: Clinometer, here: Path
) -> None:
    result = clinometer("audit", "reference:random", *FEW)
    assert result.status == 0
    folder = "runs/reference-random-gender-paper-gender"
    assert result.out.splitlines()[-1] == (
        f"Kept in {folder}. Next: clinometer report {folder} --out report.html, or clinometer view "
        "runs"
    )
    assert (here / folder / "run.json").is_file()
    assert clinometer("report", folder, "--out", "report.html").status == 0


def test_the_same_command_resumes_and_another_gets_its_own_folder(
    clinometer: Clinometer, here: Path
) -> None:
    for _ in range(2):
        assert clinometer("audit", "pocket:bert", *FEW).status == 0
    first = "pocket-bert-gender-paper-gender"
    assert [p.name for p in (here / "runs").iterdir()] == [first]
    other = clinometer("audit", "pocket:bert", "--groups", "nurse")
    assert f"Kept in runs/{first}-2." in other.out
    replayed = clinometer("audit", "pocket:bert", *FEW, "--replay")
    assert f"Kept in runs/{first}." in replayed.out


def test_several_models_are_saved_side_by_side(clinometer: Clinometer, here: Path) -> None:
    names = ("reference:unbiased", "reference:random")
    last = clinometer("audit", *names, *FEW).out.splitlines()[-1]
    folders = [f"runs/{n.replace(':', '-')}-gender-paper-gender" for n in names]
    assert last == (
        f"Kept in runs. Next: clinometer report {' '.join(folders)} --out report.html, or "
        "clinometer view runs"
    )
    assert all((here / folder / "run.json").is_file() for folder in folders)


@pytest.mark.parametrize("models", [("random",), ("random", "unbiased")], ids=len)
def test_json_has_the_same_shape_for_one_model_or_many(
    clinometer: Clinometer, here: Path, models: tuple[str, ...]
) -> None:
    names = [f"reference:{m}" for m in models]
    result = clinometer("audit", *names, *FEW, "--json")
    found = json.loads(result.out)
    assert set(found) == {"runs", "failed", "unmeasurable"}
    assert [run["model"] for run in found["runs"]] == names
    assert found["failed"] == []
    assert all((here / run["path"] / "run.json").is_file() for run in found["runs"])
    assert result.err.startswith("Kept in runs")
    assert result.err.count("\n") == 1


def test_an_unwritable_folder_is_one_line(clinometer: Clinometer, here: Path) -> None:
    (here / "runs").write_text("a file stands where the folder would be", encoding="utf-8")
    result = clinometer("audit", "reference:random", *FEW)
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("clinometer: runs/reference-random-gender-paper-gender: cannot be")
    assert result.err.endswith("choose another place with --out\n")


def test_wrong_input_leaves_no_folder_behind(clinometer: Clinometer, here: Path) -> None:
    assert clinometer("audit", "reference:fair").status == 2
    assert clinometer("audit", "reference:random", "--topic", "religion").status == 2
    assert list(here.iterdir()) == []


def test_a_model_that_cannot_be_opened_leaves_no_folder_behind(
    clinometer: Clinometer, here: Path
) -> None:
    (here / "broken").mkdir()
    (here / "broken" / "config.json").write_text("{}", encoding="utf-8")
    result = clinometer("audit", "./broken", *FEW)
    assert result.status in (2, 3)
    assert result.err.count("\n") == 1
    assert list((here / "runs").iterdir()) == []


def test_an_audit_from_python_saves_nothing_by_default(here: Path) -> None:
    import clinometer as cm

    run = cm.audit("reference:random")
    assert run.path is None
    assert list(here.iterdir()) == []
