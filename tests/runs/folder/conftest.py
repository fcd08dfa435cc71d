"""Folders in every state: those that the tests of reports make, and a copy to spoil."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.report.conftest import small

from clinometer.runs import Run

__all__ = ["changed", "small"]


@pytest.fixture
def changed(tmp_path: Path, small: Run) -> Callable[[str], Path]:
    """A copy of the small run: changed("name") is its folder."""

    def copy(name: str) -> Path:
        assert small.path is not None
        return Path(shutil.copytree(small.path, tmp_path / name))

    return copy
