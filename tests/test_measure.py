"""The package keeps to its public names and to light imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import clinometer.measure as measure


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
