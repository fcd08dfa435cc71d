"""The package keeps to numpy and scipy, to its public names, and to files of one sitting."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import clinometer.measure as measure

HERE = Path(measure.__file__).parent
FILES = sorted(HERE.glob("*.py"))
OTHERS = {"numpy", "scipy"}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            names.add(str(node.module))
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_imports_stay_below(path):
    for name in imported(path):
        top = name.split(".")[0]
        if top == "clinometer":
            below = name in {"clinometer.errors", "clinometer.display.notebook"}
            assert below or name.startswith("clinometer.measure")
        else:
            assert top in OTHERS or top in sys.stdlib_module_names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_read_in_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 300


def test_public_names_exist_and_are_documented():
    docs = Path(__file__).parents[1] / "docs"
    pages = ("measure.md", "inference.md", "compare.md")
    page = "".join((docs / name).read_text(encoding="utf-8") for name in pages)
    for name in measure.__all__:
        assert hasattr(measure, name)
        assert f"`{name}" in page, f"{name} is in none of {pages}"


def test_import_loads_no_slow_library():
    code = "import sys, clinometer.measure; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
