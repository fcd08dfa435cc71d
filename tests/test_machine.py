"""Programs and packages of this machine: one that is missing hides no other."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from tests.present import present

from clinometer import machine as programs
from clinometer.extras import DISTRIBUTION, EXTRAS
from clinometer.machine import find_axe, find_browser, find_postgres, survey


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with nothing: an empty folder is all of its PATH."""
    for variable in (programs.BROWSER, programs.POSTGRES):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(programs, "_POSTGRES_FOLDERS", ())
    monkeypatch.setattr(programs, "_POSTGRES_WHEELS", ())
    monkeypatch.setattr(programs, "_MACOS_BROWSERS", ())
    return tmp_path


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_variable_wins_over_the_path(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(bare, "chromium")
    mine = program(bare, "my-browser")
    monkeypatch.setenv(programs.BROWSER, str(mine))
    assert find_browser().found == str(mine)


def test_a_variable_that_points_nowhere_is_ignored(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(bare, "chromium")
    monkeypatch.setenv(programs.BROWSER, str(bare / "gone"))
    assert not find_browser()


@pytest.mark.parametrize("name", ["chromium", "google-chrome", "chrome", "msedge"])
def test_a_browser_on_the_path_by_any_of_its_names(bare: Path, name: str) -> None:
    path = program(bare, name)
    assert find_browser().found == str(path)


def test_a_missing_browser_names_its_cost_and_its_remedy(bare: Path) -> None:
    finding = find_browser()
    assert finding.found is None
    assert finding.line == (
        "browser: not found; needed for the browser tests of reports, viewer and annotation pages: "
        "playwright install chromium"
    )


def test_playwrights_browser_is_found(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = program(bare, "headless")
    monkeypatch.setattr(programs, "_playwrights_own", lambda: str(own))
    assert find_browser().found == str(own)


def test_postgres_is_found_on_the_path_then_in_package_folders(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("9", "15"):
        (bare / "lib" / version / "bin").mkdir(parents=True)
    monkeypatch.setattr(programs, "_POSTGRES_FOLDERS", (f"{bare}/lib/*/bin",))
    assert find_postgres().found == str(bare / "lib" / "15" / "bin")
    program(bare, "initdb")
    assert find_postgres().found == str(bare)


def test_postgres_is_found_in_a_wheel(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not find_postgres()
    package = bare / "carrier"
    (package / "pginstall" / "bin").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(bare))
    monkeypatch.setattr(programs, "_POSTGRES_WHEELS", (("carrier", "pginstall/bin"),))
    assert find_postgres().found == str(package / "pginstall" / "bin")
    assert "carrier" not in sys.modules


def test_axe_comes_from_its_package() -> None:
    found = present(find_axe().found)
    assert "axe v4" in Path(found).read_text(encoding="utf-8")[:100]


def test_every_extra_that_users_install_is_listed() -> None:
    declared = set(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or [])
    assert declared - set(EXTRAS) == {"all", "bench", "dev", "docs"}


def test_installed_packages_are_found() -> None:
    found = survey()
    extras = {finding.name: finding for finding in found["extras"]}
    assert extras["models"]
    assert extras["web"]
    assert not extras["inspect"]
    assert extras["inspect"].command == f"pip install '{DISTRIBUTION}[inspect]'"
    assert all(finding for finding in found["models"] if finding.name != "hub cache")


def test_a_package_that_is_too_old_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "0.1" if name == "altair" else installed(name)
    )
    extras = {finding.name: finding for finding in survey()["extras"]}
    for name in ("report", "web"):  # web builds on report
        assert not extras[name]
        assert "altair>=5.5" in extras[name].enables
    assert extras["models"]


def test_the_command_prints_the_survey(clinometer: Callable[..., Any]) -> None:
    shown = clinometer("doctor")
    assert shown.status == 0
    for words in ("Python", "extras", "models", "programs", "pip install 'clinometer[inspect]'"):
        assert words in shown.out
    told = json.loads(clinometer("doctor", "--json").out)
    assert {f["name"] for f in told["programs"]} == {"browser", "axe-core", "PostgreSQL"}
    assert all(set(f) == {"name", "found", "enables", "command"} for f in told["extras"])
