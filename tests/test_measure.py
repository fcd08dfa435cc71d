"""The package keeps to its public names, to light imports, and to files of one sitting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import clinometer.measure as measure

HERE = Path(measure.__file__).parent
FILES = sorted(HERE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HERE)))
def test_files_are_shorter_than_300_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 300


def test_public_names_exist_and_are_documented() -> None:
    docs = Path(__file__).parents[1] / "docs"
    pages = ("measure.md", "inference.md", "compare.md")
    page = "".join((docs / name).read_text(encoding="utf-8") for name in pages)
    for name in measure.__all__:
        assert hasattr(measure, name)
        assert f"`{name}" in page, f"{name} is in none of {pages}"


def test_import_loads_no_slow_library() -> None:
    code = "import sys, clinometer.measure; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
