"""The documentation is true: pages exist, commands run, and the reference is whole and the
commands' own; the notebooks in examples/ are those of the tutorials."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from tests.command import every_command
from tests.present import loaded

from clinometer import measure
from clinometer.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: Packages whose names are for the code inside: what users need of them is a command or is
#: exported elsewhere.
INSIDE = {
    "bridges",
    "cli",
    "display",
    "exports",
    "gate",
    "machine",
    "samples",
    "statistics",
    "storage",
    "web",
}


def pages() -> list[Path]:
    """Every page that somebody wrote; those in docs/generated are made from other files."""
    found = [p for p in sorted(DOCS.rglob("*.md")) if "generated" not in p.parts]
    return [ROOT / "README.md", *found]


def test_the_reference_page_is_generated_from_the_commands() -> None:
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == loaded(DOCS / "build_cli.py").page(), "run: python docs/build_cli.py"


@pytest.mark.parametrize("path", pages(), ids=lambda p: p.name)
def test_links_resolve_and_commands_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (path.parent / target).exists(), f"{path.name}: {target}"
    for name in re.findall(r"^\s*\$? ?clinometer ([a-z]+)", text, flags=re.M):
        assert name in COMMANDS, f"{path.name}: clinometer {name}"


def test_every_package_has_a_page() -> None:
    pages = {p.stem for p in DOCS.glob("*.md")}
    named = {"measure", "topics", "contexts", "models", "runs", "report", "reliability", "cli"}
    assert named <= pages


def test_the_names_of_measure_are_in_its_pages() -> None:
    pages = ("measure.md", "inference.md", "compare.md")
    text = "".join((DOCS / name).read_text(encoding="utf-8") for name in pages)
    for name in measure.__all__:
        assert hasattr(measure, name)
        assert f"`{name}" in text, f"{name} is in none of {pages}"


def test_every_public_name_has_a_page() -> None:
    reference = loaded(DOCS / "extensions" / "public_names.py")
    source = ROOT / "src" / "clinometer"
    packages = {p.parent.name for p in source.glob("*/__init__.py")} - INSIDE
    assert {f"clinometer.{name}" for name in packages} <= set(reference.PACKAGES)
    listed = {package: set(reference.names_of(package)) for package in reference.PACKAGES}
    for package in reference.PACKAGES:
        public = set(import_module(package).__all__) - {"__version__"}
        assert public <= listed[package] | listed["clinometer"], package
    index = (DOCS / "reference" / "index.md").read_text("utf-8")
    for package in reference.PACKAGES:
        assert f"generated/api/{package}\n" in index


def test_every_command_has_an_example() -> None:
    examples = tomllib.loads((DOCS / "command_examples.toml").read_text("utf-8"))
    commands = {" ".join(path) for path, _ in every_command()}
    missing = commands - set(examples)
    assert not missing, (
        f"add to docs/command_examples.toml, then python docs/build_cli.py: {missing}"
    )
    assert set(examples) <= commands


@pytest.mark.parametrize("notebook", sorted(ROOT.glob("examples/*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_are_made_from_the_tutorials(notebook: Path) -> None:
    builder = loaded(DOCS / "build_notebooks.py")
    sources = {s.stem: s for s in builder.SOURCES if builder.is_notebook(s)}
    assert set(sources) == {p.stem for p in notebook.parent.glob("*.ipynb")}
    made = builder.notebook(sources[notebook.stem])
    assert notebook.read_text("utf-8") == made, "run: python docs/build_notebooks.py"
