"""The reference is whole: every public name has a page, every command an example, and the
notebooks in examples/ are those of the tutorials."""

from __future__ import annotations

import importlib.util
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from tests.command import every_command

DOCS = Path(__file__).resolve().parent.parent / "docs"

#: Packages whose names are for the code inside: what users need of them is a command or is
#: exported elsewhere.
INSIDE = {
    "bridges",
    "cli",
    "display",
    "execution",
    "exports",
    "gate",
    "machine",
    "samples",
    "statistics",
}
INSIDE |= {"storage", "web"}


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_a_page() -> None:
    reference = loaded(DOCS / "extensions" / "public_names.py")
    source = DOCS.parent / "src" / "clinometer"
    packages = {p.parent.name for p in source.glob("*/__init__.py")} - INSIDE
    assert {f"clinometer.{name}" for name in packages} <= set(reference.PACKAGES)
    listed = {package: set(reference.names_of(package)) for package in reference.PACKAGES}
    for package in reference.PACKAGES:
        public = set(import_module(package).__all__) - {"__version__"}
        assert public <= listed[package] | listed["clinometer"], package
    assert sum(map(len, listed.values())) > 100
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


@pytest.mark.parametrize(
    "notebook", sorted(DOCS.parent.glob("examples/*.ipynb")), ids=lambda p: p.stem
)
def test_notebooks_are_made_from_the_tutorials(notebook: Path) -> None:
    builder = loaded(DOCS / "build_notebooks.py")
    sources = {s.stem: s for s in builder.SOURCES if builder.is_notebook(s)}
    assert set(sources) == {p.stem for p in notebook.parent.glob("*.ipynb")}
    made = builder.notebook(sources[notebook.stem])
    assert notebook.read_text("utf-8") == made, "run: python docs/build_notebooks.py"
