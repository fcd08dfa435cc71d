"""The page of commands, docs/cli.md, is made from the commands, and each has an example there."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.command import every_command
from tests.present import loaded

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_the_reference_page_is_generated_from_the_commands() -> None:
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == loaded(DOCS / "build_cli.py").page(), "run: python docs/build_cli.py"


def test_every_command_has_an_example() -> None:
    examples = tomllib.loads((DOCS / "command_examples.toml").read_text("utf-8"))
    commands = {" ".join(path) for path, _ in every_command()}
    missing = commands - set(examples)
    assert not missing, (
        f"add to docs/command_examples.toml, then python docs/build_cli.py: {missing}"
    )
    assert set(examples) <= commands
