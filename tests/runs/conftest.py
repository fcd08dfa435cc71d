"""A small audit of a real model, a cache of a test's own, and a small disk."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clinometer.runs import Run


@pytest.fixture(scope="package")
def small(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The small audit, made without interruption and without the cache."""
    from tests.runs import small_audit

    return small_audit.finish(tmp_path_factory.mktemp("small") / "run")


@pytest.fixture
def cache_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "1GB")
    return tmp_path / "cache"


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody opens a model."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the model was opened")

    monkeypatch.setattr("clinometer.runs.audited_model.open_model", never)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path | None]]:
    """disk("size=300k"): a file system of its own, mounted anew with other options when called
    again; None where this sandbox does not let us mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = False

    def mount(options: str) -> Path | None:
        nonlocal mounted
        how = f"remount,{options}" if mounted else options
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", how, "tmpfs", folder],
            capture_output=True,
            check=False,
        )
        mounted = mounted or done.returncode == 0
        return folder if mounted else None

    yield mount
    if mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)
