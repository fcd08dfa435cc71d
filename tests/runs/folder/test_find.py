"""Run folders below a folder: found by their run.json, never through links."""

from __future__ import annotations

from pathlib import Path

from clinometer.runs.folder.find import run_folders


def test_runs_are_found_and_not_looked_into(tmp_path: Path) -> None:
    for name in ("a", "b/c", "b/c/inside", ".hidden/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        if name != "e":
            (tmp_path / name / "run.json").write_text("{}", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert run_folders(tmp_path) == [tmp_path / "a", tmp_path / "b" / "c"]
    assert run_folders(tmp_path / "a") == [tmp_path / "a"]
    assert run_folders(tmp_path / "nowhere") == []
