"""Names of modules and files in the documentation are those of today."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
FOR_DEVELOPERS = [
    ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
]
"""Pages that name files and folders of the source without src/clinometer."""
PAGES = [
    *FOR_DEVELOPERS,
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "benchmarks/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
PAGES = [page for page in PAGES if "generated" not in page.parts]
NOT_MODULES = {"clinometer.languages"}
"""Dotted names that begin like ours: a group of entry points."""
ROOMS = {
    path.stem
    for path in (SOURCE / "clinometer").iterdir()
    if not path.name.startswith("_")
}
ENDINGS = ("py", "toml", "csv", "json", "parquet", "html", "md", "txt", "mining")
"""Names with a dot that end so are files."""
PARTS = ("src", "tests", "docs", "benchmarks", "tools", "pocket", "examples")
"""Folders of the repository that a path may begin with on any page."""

EACH_PAGE = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)


@cache
def top_names(file: Path) -> frozenset[str]:
    """Return the names that a module defines or imports."""
    names: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return frozenset(names)


def exists(dotted: str) -> bool:
    """Return whether a dotted name is a package, a module, or a name that one of them has."""
    *parents, name = dotted.split(".")
    path = SOURCE.joinpath(*parents, name)
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    if not parents:
        return False
    parent = SOURCE.joinpath(*parents)
    for file in (parent / "__init__.pyi", parent / "__init__.py"):
        if file.is_file() and name in top_names(file):
            return True
    module = parent.with_suffix(".py")
    if module.is_file():
        return name in top_names(module)
    return parent.name[:1].isupper() and exists(".".join(parents))


def paths(page: Path, text: str) -> set[str]:
    """Return the paths in backticks that are files or folders of the repository."""
    quoted = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", text))
    if page in FOR_DEVELOPERS:
        quoted |= set(re.findall(r"`(\w+\.(?:py|toml))`", text))
    else:
        quoted = {
            path
            for path in quoted
            if path.endswith(".py") or path.partition("/")[0] in PARTS
        }
    return {path for path in quoted if "NAME" not in path}


def dotted_names(page: Path, text: str) -> set[str]:
    """Return the names of modules and of what is in them, with our own name before each.

    In backticks a name may begin with its room: `runs.audit`. The changelog names there what is
    gone.
    """
    names = set(re.findall(r"(?<![\w./@-])clinometer(?:\.[A-Za-z_]\w*)+", text))
    if page.name != "CHANGELOG.md":
        for name in re.findall(r"`([a-z]+(?:\.[A-Za-z_]\w*)+)", text):
            room = name.partition(".")[0]
            if room in ROOMS and not name.endswith(ENDINGS):
                names.add(f"clinometer.{name}")
    return names - NOT_MODULES


def is_file_of_ours(path: str, page: Path) -> bool:
    """Return whether there is such a file or folder, seen from where a page may look."""
    roots = (ROOT, page.parent, SOURCE, SOURCE / "clinometer", ROOT / "docs")
    if any((root / path).exists() or (root / f"{path}.py").exists() for root in roots):
        return True
    ends_with_path = f"**/{path.rstrip('/')}"
    return any(True for _ in (SOURCE / "clinometer").glob(ends_with_path))


def test_a_name_that_is_gone_is_found() -> None:
    assert exists("clinometer.measure.decompose")
    assert exists("clinometer.runs.run.Run")
    assert not exists("clinometer.measure.rankings")
    assert not exists("clinometer.runs.run.Walk")
    page = FOR_DEVELOPERS[0]
    assert paths(page, "`runs/findings.py` of `NAME/x`") == {"runs/findings.py"}
    assert not is_file_of_ours("runs/findings.py", page)
    assert is_file_of_ours("runs/findings", page)


@EACH_PAGE
def test_modules_and_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    gone = {name for name in dotted_names(page, text) if not exists(name)}
    gone |= {path for path in paths(page, text) if not is_file_of_ours(path, page)}
    assert gone == set()
