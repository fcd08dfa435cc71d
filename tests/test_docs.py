"""The documentation is true: pages exist, commands run, the reference is the commands' own."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from clinometer.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def pages() -> list[Path]:
    """Every page that somebody wrote; those in docs/generated are made from other files."""
    found = [p for p in sorted(DOCS.rglob("*.md")) if "generated" not in p.parts]
    return [ROOT / "README.md", *found]


def test_the_reference_page_is_generated_from_the_commands() -> None:
    spec = importlib.util.spec_from_file_location("build_cli", DOCS / "build_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == module.page(), "run: python docs/build_cli.py"


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
